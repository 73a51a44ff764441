/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The sleep of the thread that drives a worker for an application that seldom polls (poll_progress). An application
 * thread that posts during the sleep polls the worker once itself.
 */

#ifndef UROCE_PORT_SLEEP_SLEEP_H
#define UROCE_PORT_SLEEP_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_lcore.h>

#include "port/sleep/wake.h"
#include "port/worker/worker.h"

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

/**
 * Sleep until a frame arrives, another thread polls the worker, a deadline comes, or for ns, less than a second. The
 * worker is driven and gets no frames from other workers. The caller cannot be canceled now, and polls the worker
 * before and after the call.
 * @return false: it has not slept, since the worker has work or no descriptor, its frames wake no thread, or another
 * thread polls it or naps
 */
bool uroce_worker_nap(struct uroce_worker *w, uint64_t ns);

/** A request was posted during the sleep: poll the worker, or wake its thread. Any thread, not between
 * uroce_worker_enter() and exit. */
void uroce_worker_posted(struct uroce_worker *w);

#endif /* UROCE_PORT_SLEEP_SLEEP_H */
