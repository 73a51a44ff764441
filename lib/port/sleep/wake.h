/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Ends the sleep of a worker's thread, for a thread that has made work for the worker.
 */

#ifndef UROCE_PORT_SLEEP_WAKE_H
#define UROCE_PORT_SLEEP_WAKE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "port/worker/worker.h"

/* uroce_worker.sleep */
enum uroce_sleep {
	UROCE_AWAKE,
	UROCE_SLEEP_SPARE,	/* another thread polls the worker; a poster does nothing */
	UROCE_SLEEP_ATTENDED,	/* another thread polls the worker, or sleeps until a frame arrives; a poster polls once */
	UROCE_SLEEP_NAP,	/* a poster polls once to send its request; the sleep continues */
	UROCE_SLEEP_LONG,	/* a poster polls once and ends the sleep */
	UROCE_SLEEP_FD,		/* the program waits for uroce_worker_fd(); a poster ends the sleep */
};

/** Does the program wait for the worker's descriptor? */
static inline bool
uroce_worker_is_waiting(const struct uroce_worker *w)
{
	return __atomic_load_n(&w->sleep, __ATOMIC_RELAXED) == UROCE_SLEEP_FD;
}

/** End the sleep of the worker's thread, of any kind. Any thread. */
void uroce_worker_wake(struct uroce_worker *w);

/** Make the worker's descriptor readable, which it must have. Any thread. */
void uroce_worker_signal_fd(const struct uroce_worker *w);

/** Wake the worker's thread after making work for the worker that its next poll will see. Any thread. */
static inline void
uroce_worker_nudge(struct uroce_worker *w)
{
	/* Pairs with the fences in arm() and uroce_worker_sleep(): either that thread sees the work, or this one sees the
	 * sleep. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (unlikely(__atomic_load_n(&w->sleep, __ATOMIC_RELAXED) >= UROCE_SLEEP_LONG))
		uroce_worker_wake(w);
}

/** Wake the worker's thread after enqueueing frames in its inbox. Other workers, within a poll. */
static inline void
uroce_worker_handed(struct uroce_worker *to)
{
	if (unlikely(__atomic_load_n(&to->sleeps, __ATOMIC_RELAXED)))
		uroce_worker_nudge(to);
}

#endif /* UROCE_PORT_SLEEP_WAKE_H */
