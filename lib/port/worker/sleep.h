/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The sleep of the thread that drives a worker for an application that seldom polls (poll_progress). An application
 * thread that posts during the sleep polls the worker once itself.
 */

#ifndef UROCE_PORT_WORKER_SLEEP_H
#define UROCE_PORT_WORKER_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_lcore.h>

#include "port/worker/worker.h"

/* uroce_worker.sleep */
enum uroce_sleep {
	UROCE_AWAKE,
	UROCE_SLEEP_SPARE,	/* another thread polls the worker; a poster does nothing */
	UROCE_SLEEP_NAP,	/* a poster polls once to send its request; the sleep continues */
	UROCE_SLEEP_LONG,	/* a poster polls once and ends the sleep */
};

/** Make the calling thread, which has an lcore id, the one that drives the worker. From now on it may access mempools
 * only while it holds the worker's turn. */
void uroce_worker_drive(struct uroce_worker *w);

static inline bool
uroce_worker_is_driven(const struct uroce_worker *w)
{
	return __atomic_load_n(&w->lent_lcore, __ATOMIC_RELAXED) != LCORE_ID_ANY;
}

/**
 * Poll once, and sleep unless the poll moved frames or a request was posted. The thread that drives the worker.
 * @return false: the sleep has timed out; true: there was work, or another thread has ended the sleep
 */
bool uroce_worker_sleep(struct uroce_worker *w, enum uroce_sleep how, uint64_t ns);

/** End the sleep of the worker's thread, of any kind. Any thread. */
void uroce_worker_wake(struct uroce_worker *w);

/** Poll the worker after a request was posted during the sleep. Any thread, not between uroce_worker_enter() and
 * exit. */
void uroce_worker_posted(struct uroce_worker *w);

#endif /* UROCE_PORT_WORKER_SLEEP_H */
