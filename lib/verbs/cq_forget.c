/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Taking completions out of a CQ that nobody has polled: those of a QP that goes back to RESET. Control threads,
 * while workers push and others poll.
 */

#include <stdint.h>

#include "verbs/cq.h"

/* Into the place of a later entry, of the consumers' side. */
static void
move(struct uroce_cq_ring *ring, uint32_t to, uint32_t from)
{
	ring->wcs[to & ring->mask] = ring->wcs[from & ring->mask];
	if (ring->stamps != NULL)
		ring->stamps[to & ring->mask] = ring->stamps[from & ring->mask];
}

void
uroce_cq_forget_qp(struct uroce_cq *cq, uint32_t qpn)
{
	uint32_t from, to;

	uroce_cq_poll_lock(cq);
	/* pairs with the release in push() */
	from = to = __atomic_load_n(&cq->tail, __ATOMIC_ACQUIRE);
	while (from != cq->head) {
		from--;
		if (cq->get.wcs[from & cq->get.mask].qp_num == qpn)
			continue;
		to--;
		if (to != from)
			move(&cq->get, to, from);
	}
	/* pairs with the acquire in push() */
	__atomic_store_n(&cq->head, to, __ATOMIC_RELEASE);
	uroce_cq_poll_unlock(cq);
}
