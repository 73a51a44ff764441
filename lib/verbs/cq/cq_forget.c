/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Removes a QP's unpolled completions from its CQs, when the QP is destroyed or goes to RESET. Control threads,
 * while workers push and other threads poll.
 */

#include <pthread.h>
#include <stdint.h>

#include "verbs/cq/cq.h"
#include "verbs/internal.h"

/* Copy an entry of the consumers' ring over a later one. */
static void
move(struct uroce_cq_ring *ring, uint32_t to, uint32_t from)
{
	if (to == from)
		return;
	ring->wcs[to & ring->mask] = ring->wcs[from & ring->mask];
	if (ring->stamps != NULL)
		ring->stamps[to & ring->mask] = ring->stamps[from & ring->mask];
}

/* Moves the entries of other QPs, from `first` on, up to the tail. @return the new index of the first */
static uint32_t
compact(struct uroce_cq *cq, uint32_t first, uint32_t qpn)
{
	uint32_t from, to;

	/* pairs with the release in push() */
	from = to = __atomic_load_n(&cq->tail, __ATOMIC_ACQUIRE);
	while (from != first) {
		from--;
		if (cq->get.wcs[from & cq->get.mask].qp_num != qpn)
			move(&cq->get, --to, from);
	}
	return to;
}

/* An application may destroy a QP between start_poll and end_poll: then this thread holds poll_lock, if it is used. */
static bool
caller_reads(const struct uroce_cq *cq)
{
	const uintptr_t reader = __atomic_load_n(&cq->reader, __ATOMIC_RELAXED);

	return reader == (uintptr_t)pthread_self() || (cq->single_threaded && reader != 0);
}

void
uroce_cq_forget_qp(struct uroce_cq *cq, uint32_t qpn)
{
	const bool reads = caller_reads(cq);
	uint32_t head;

	if (!reads)
		uroce_cq_poll_lock(cq);
	head = compact(cq, reads ? cq->next : cq->head, qpn);
	if (reads) {	/* keep the entry being read in front, whichever QP's it is */
		move(&cq->get, head - 1, cq->next - 1);
		cq->next = head--;
	}
	/* pairs with the acquire in push() */
	__atomic_store_n(&cq->head, head, __ATOMIC_RELEASE);
	if (!reads)
		uroce_cq_poll_unlock(cq);
}

void
uroce_qp_forget_completions(const struct uroce_qp *qp)
{
	if (qp->ibv.send_cq != NULL)
		uroce_cq_forget_qp(uroce_cq_of(qp->ibv.send_cq), qp->ibv.qp_num);
	if (qp->ibv.recv_cq != NULL && qp->ibv.recv_cq != qp->ibv.send_cq)
		uroce_cq_forget_qp(uroce_cq_of(qp->ibv.recv_cq), qp->ibv.qp_num);
}
