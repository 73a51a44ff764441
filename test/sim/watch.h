/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Armed CQs: an event is raised if and only if there was a completion for which the CQ was armed.
 */

#ifndef UROCE_TEST_SIM_WATCH_H
#define UROCE_TEST_SIM_WATCH_H

#include <stdbool.h>

#include <infiniband/verbs.h>

struct side;

/* The completions of a CQ since it was armed. */
struct watch {
	struct ibv_cq *cq; /* NULL: none */
	bool armed;
	bool solicited_only;
	bool saw_any;
	bool saw_solicited; /* or an error */
	bool got_event;
	bool moderated; /* an event may come later than its completions */
};

/** Record a polled completion. */
void watch_saw(struct side *s, const struct ibv_cq *cq, bool solicited);

/** Compare events with completions when both CQs are empty, and arm them again at random. */
void watch_check(struct side *s);

/** The CQ is moderated from now on: its events may be late. */
void watch_moderate(struct side *s, const struct ibv_cq *cq);

/** Check that late events have been raised, when all is at rest. */
void watch_rest(struct side *s);

#endif /* UROCE_TEST_SIM_WATCH_H */
