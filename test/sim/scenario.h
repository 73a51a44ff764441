/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Scenarios: ways in which a connection fails. The allowed results are known when a scenario starts, and completions are
 * compared with them.
 */

#ifndef UROCE_TEST_SIM_SCENARIO_H
#define UROCE_TEST_SIM_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "workload.h"

struct scenario {
	const char *name;
	/* side a's request is what fails.
	 * @return false: there is no memory for it, or no room, just now */
	bool (*start)(struct sim *sim, struct side *a);
	uint32_t send_errors; /* allowed for a; b may only run out of retries */
	uint32_t recv_errors; /* allowed for b */
	bool must_fail;	      /* a gets one of send_errors, b's receive one of recv_errors */
	bool by_nak;	      /* b refuses the request by a NAK */
	bool at_once;	      /* starts in the middle of traffic; else when all requests have completed */
	bool no_receives;     /* b must have none posted */
};

/** @return a random scenario that is possible on this connection */
const struct scenario *scenario_draw(struct sim *sim, const struct conn *c);

void scenario_begin(struct sim *sim, struct side *a, const struct scenario *scenario);

/** Have the requests failed that must fail? */
bool scenario_is_over(const struct side *a);

/** Move both QPs to ERR. */
void scenario_end(struct sim *sim, struct side *a);

/** Check at the end of a scenario that each failed QP had one event. */
void scenario_check_events(const struct side *a);

/** Post requests behind one that fails, all of which must be flushed.
 * @param forbidden	the responder must not execute them */
void scenario_post_behind(struct sim *sim, struct side *s, bool forbidden);

/* refused.c */
bool refused_bad_rkey(struct sim *sim, struct side *a);
bool refused_bad_atomic_rkey(struct sim *sim, struct side *a);
bool refused_misaligned_atomic(struct sim *sim, struct side *a);
bool refused_deregistered(struct sim *sim, struct side *a);
bool refused_not_allowed(struct sim *sim, struct side *a);
bool refused_too_long(struct sim *sim, struct side *a);
bool refused_bad_lkey(struct sim *sim, struct side *a);
bool refused_bad_receive(struct sim *sim, struct side *a);
bool refused_rnr(struct sim *sim, struct side *a);
bool refused_late(struct sim *sim, struct side *a);

/* interrupted.c */
bool interrupted_error_state(struct sim *sim, struct side *a);
bool interrupted_reset(struct sim *sim, struct side *a);
bool interrupted_destroyed(struct sim *sim, struct side *a);
bool interrupted_dead_link(struct sim *sim, struct side *a);
bool interrupted_deregister(struct sim *sim, struct side *a);
bool interrupted_reregister(struct sim *sim, struct side *a);
bool interrupted_local_key(struct sim *sim, struct side *a);
bool interrupted_receive_key(struct sim *sim, struct side *a);

/** Run the scenario of a CQ that is too small (overrun.c), in a world at rest. */
void scenario_overrun(struct sim *sim);

#endif /* UROCE_TEST_SIM_SCENARIO_H */
