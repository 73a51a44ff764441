/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Polls a worker on a thread that EAL does not know, such as the application's. Such a thread has no mempool cache, and
 * without a cache each mbuf costs a lock. So it borrows the lcore id of the thread that drives the worker; both access
 * mempools only while they hold the worker's turn. drivers/quirks/README.rst has the alternatives.
 */

#ifndef UROCE_PORT_WORKER_BORROWED_LCORE_H
#define UROCE_PORT_WORKER_BORROWED_LCORE_H

#include <pthread.h>

#include <rte_lcore.h>

#include "port/worker/worker.h"
#include "uroce.h"

/** As uroce_worker_poll(). Any thread. */
static inline unsigned int
uroce_worker_poll_any_thread(struct uroce_worker *w)
{
	unsigned int frames;
	int cancel;

	if (rte_lcore_id() != LCORE_ID_ANY)
		return uroce_worker_poll(w);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	RTE_PER_LCORE(_lcore_id) = __atomic_load_n(&w->lent_lcore, __ATOMIC_RELAXED);
	frames = uroce_worker_poll(w);
	RTE_PER_LCORE(_lcore_id) = LCORE_ID_ANY;
	pthread_setcancelstate(cancel, &cancel);
	return frames;
}

#endif /* UROCE_PORT_WORKER_BORROWED_LCORE_H */
