/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Takes receive WQEs from an SRQ for workers, several of which may call at a time. Takers and posters have different
 * locks; an uncontended lock costs one atomic exchange.
 */

#include <string.h>

#include <rte_branch_prediction.h>

#include "verbs/device/device.h"
#include "verbs/srq/srq.h"

void
uroce_srq_limit_reached(struct uroce_srq *srq)
{
	struct ibv_async_event event;

	memset(&event, 0, sizeof(event));
	event.element.srq = &srq->ibv;
	event.event_type = IBV_EVENT_SRQ_LIMIT_REACHED;
	uroce_device_event(srq->dev, &event);
}

/* Takers read the posters' cache line only when they have taken all WQEs that they know of. */
static bool
is_empty(struct uroce_srq *srq, uint32_t head)
{
	if (likely(head != srq->tail_seen))
		return false;
	/* pairs with the release in uroce_post_srq_recv() */
	srq->tail_seen = __atomic_load_n(&srq->wq.tail, __ATOMIC_ACQUIRE);
	return head == srq->tail_seen;
}

/* The limit is one-shot: uroce_modify_srq() arms it again. */
static bool
crosses_limit(struct uroce_srq *srq, uint32_t head)
{
	if (likely(srq->limit == 0))
		return false;
	/* pairs with the release in uroce_post_srq_recv() */
	srq->tail_seen = __atomic_load_n(&srq->wq.tail, __ATOMIC_ACQUIRE);
	if (srq->tail_seen - head >= srq->limit)
		return false;
	srq->limit = 0;
	return true;
}

/*
 * Copying the WQE frees its slot at once. A ring frees its slots in order, but the messages of different QPs end in any
 * order. A WQE of up to three entries is one cache line, which the message has to read in any case.
 */
bool
uroce_srq_take(struct uroce_srq *srq, struct uroce_rqe *to)
{
	const struct uroce_rqe *rqe;
	bool event = false;
	uint32_t head;
	bool taken;

	rte_spinlock_lock(&srq->take_lock);
	head = srq->wq.head;
	taken = !is_empty(srq, head);
	if (likely(taken)) {
		rqe = uroce_rqe_at(&srq->wq, head);
		memcpy(to, rqe, sizeof(*rqe) + rqe->num_sge * sizeof(rqe->sge[0]));
		/* pairs with the acquire in uroce_wq_has_room(): the slot is free */
		__atomic_store_n(&srq->wq.head, head + 1, __ATOMIC_RELEASE);
		event = crosses_limit(srq, head + 1);
	}
	rte_spinlock_unlock(&srq->take_lock);
	if (unlikely(event))
		uroce_srq_limit_reached(srq);
	return taken;
}
