/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Polls a worker on a thread of the application while another thread drives the worker. A thread that EAL does not know
 * has no mempool cache, and without a cache each mbuf costs a lock; with a cache of its own, each thread would keep mbufs
 * that the others lack. So it borrows the lcore id of the thread that drives the worker; all access mempools only while
 * they hold the worker's turn. drivers/quirks/README.rst has the alternatives.
 */

#ifndef UROCE_PORT_WORKER_BORROWED_LCORE_H
#define UROCE_PORT_WORKER_BORROWED_LCORE_H

#include <pthread.h>

#include <rte_lcore.h>

#include "port/worker/worker.h"
#include "uroce.h"

/** Borrow the lcore id of the worker's thread, if it has one. @return the caller's own, for uroce_lcore_return() */
static inline unsigned int
uroce_lcore_borrow(const struct uroce_worker *w)
{
	const unsigned int own = rte_lcore_id();
	const unsigned int lent = __atomic_load_n(&w->lent_lcore, __ATOMIC_RELAXED);

	if (lent != LCORE_ID_ANY)
		RTE_PER_LCORE(_lcore_id) = lent;
	return own;
}

static inline void
uroce_lcore_return(unsigned int own)
{
	RTE_PER_LCORE(_lcore_id) = own;
}

/** As uroce_worker_poll(). Any thread. */
static inline unsigned int
uroce_worker_poll_any_thread(struct uroce_worker *w)
{
	unsigned int frames, own;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	own = uroce_lcore_borrow(w);
	frames = uroce_worker_poll(w);
	uroce_lcore_return(own);
	pthread_setcancelstate(cancel, &cancel);
	return frames;
}

#endif /* UROCE_PORT_WORKER_BORROWED_LCORE_H */
