/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Numbers XRC SRQs, for peers to put the number into each request, and removes a destroyed SRQ from the target QPs of
 * its domain. Control threads.
 */

#include <errno.h>
#include <stddef.h>

#include <rte_malloc.h>

#include "uroce_config.h"
#include "base/rcu.h"
#include "verbs/cq/cq.h"
#include "verbs/device/device.h"
#include "verbs/srq/srq.h"
#include "verbs/srq/xrc.h"

int
uroce_srqs_init(struct uroce_device *dev)
{
	struct uroce_srqs *t = &dev->srqs;
	int ret = uroce_slots_init(&t->slots, UROCE_LOG2_MAX_SRQ, 24);

	if (ret != 0)
		return ret;
	t->srqs = uroce_device_alloc(dev, "uroce_srqs", sizeof(t->srqs[0]) << UROCE_LOG2_MAX_SRQ);
	if (t->srqs == NULL) {
		uroce_slots_fini(&t->slots);
		return -ENOMEM;
	}
	return 0;
}

void
uroce_srqs_fini(struct uroce_device *dev)
{
	rte_free(dev->srqs.srqs);
	uroce_slots_fini(&dev->srqs.slots);
}

static void
publish(struct uroce_srqs *t, uint32_t number, struct uroce_srq *srq)
{
	/* pairs with the acquire in uroce_srq_lookup() */
	__atomic_store_n(&t->srqs[uroce_slots_index(UROCE_LOG2_MAX_SRQ, 24, number)], srq, __ATOMIC_RELEASE);
}

int
uroce_srq_xrc_init(struct uroce_srq *srq, struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct uroce_device *dev = srq->dev;
	int ret;

	pthread_mutex_lock(&dev->lock);
	ret = -uroce_slots_get(&dev->srqs.slots, &srq->number);
	pthread_mutex_unlock(&dev->lock);
	if (ret != 0)
		return ret;
	srq->xrcd = uroce_xrcd_of(xrcd);
	srq->domain = srq->xrcd->domain;
	srq->cq = uroce_cq_of(cq);
	uroce_cq_attach(srq->cq, NULL);
	__atomic_fetch_add(&srq->xrcd->refs, 1, __ATOMIC_RELAXED);
	publish(&dev->srqs, srq->number, srq);
	return 0;
}

/* In the engine's turn. A message that had taken a WQE of the SRQ loses it; the message's next packet is refused. */
static void
forget(struct uroce_qp *qp, const struct uroce_srq *srq)
{
	if (qp->recv_srq != srq)
		return;
	qp->recv_srq = NULL;
	qp->recv_taken = false;
	__atomic_store_n(&qp->rq.tail, qp->rq.head, __ATOMIC_RELAXED);
}

void
uroce_srq_xrc_fini(struct uroce_srq *srq)
{
	struct uroce_device *dev = srq->dev;
	struct uroce_xrc_target *target;

	publish(&dev->srqs, srq->number, NULL);
	uroce_rcu_wait();
	/* no look-up finds it any more, but a QP may have it from an earlier request */
	pthread_mutex_lock(&srq->domain->lock);
	LIST_FOREACH(target, &srq->domain->targets, link) {
		uroce_qp_enter(target->qp);
		forget(target->qp, srq);
		uroce_qp_exit(target->qp);
	}
	pthread_mutex_unlock(&srq->domain->lock);
	uroce_cq_detach(srq->cq, NULL);
	/* pairs with the acquire in uroce_close_xrcd() */
	__atomic_fetch_sub(&srq->xrcd->refs, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&dev->lock);
	uroce_slots_put(&dev->srqs.slots, srq->number);
	pthread_mutex_unlock(&dev->lock);
}
