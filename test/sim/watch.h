/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * CQs that are armed: an event comes if, and only if, there was a completion that it was asked for.
 */

#ifndef UROCE_TEST_SIM_WATCH_H
#define UROCE_TEST_SIM_WATCH_H

#include <stdbool.h>

#include <infiniband/verbs.h>

struct side;

/* What came into a CQ since it was armed. */
struct watch {
	struct ibv_cq *cq; /* NULL: nobody watches */
	bool armed;
	bool solicited_only;
	bool saw_any;
	bool saw_solicited; /* or an error */
	bool got_event;
	bool moderated; /* an event may come later than its completions */
};

/** A completion was taken from a CQ. */
void watch_saw(struct side *s, const struct ibv_cq *cq, bool solicited);

/** Both CQs are empty: compare events with completions, and arm again, or not. */
void watch_check(struct side *s);

/** From now on the CQ's events may come late. */
void watch_moderate(struct side *s, const struct ibv_cq *cq);

/** All is at rest: those have come, too. */
void watch_rest(struct side *s);

#endif /* UROCE_TEST_SIM_WATCH_H */
