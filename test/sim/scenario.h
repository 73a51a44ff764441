/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Scenarios: ways in which a connection fails. What may become of it is known when it starts; what
 * completes is compared with that.
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
	uint32_t send_errors; /* a's; b's may only run out of retries */
	uint32_t recv_errors; /* b's */
	bool must_fail;	      /* a gets one of send_errors, b's receive one of recv_errors */
	bool by_nak;	      /* it is b that refuses */
	bool at_once;	      /* in the middle of traffic; else when all that was posted has completed */
	bool no_receives;     /* b must have none posted */
};

/** One that is possible on this connection. */
const struct scenario *scenario_draw(struct sim *sim, const struct conn *c);

void scenario_begin(struct sim *sim, struct side *a, const struct scenario *scenario);

/** Has failed what must fail? */
bool scenario_is_over(const struct side *a);

/** Both QPs go to ERR. */
void scenario_end(struct sim *sim, struct side *a);

/** It is over, and all events have come: who has failed was told so, once. */
void scenario_check_events(const struct side *a);

/** Requests behind one that fails: all are flushed.
 * @param forbidden	none of it may be executed either */
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

/** A CQ that is too small (overrun.c). In a world that is at rest. */
void scenario_overrun(struct sim *sim);

#endif /* UROCE_TEST_SIM_SCENARIO_H */
