/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_resize_cq(3): replaces the ring by a new one with the same completions, and makes other threads that push or poll
 * wait meanwhile. Control threads.
 */

#include <errno.h>

#include <rte_common.h>

#include "uroce.h"
#include "uroce_config.h"
#include "verbs/cq/cq.h"
#include "verbs/device/device.h"
#include "verbs/memory/ring.h"

/* Copy the entries to a new ring, and put the old one in its place. Indices run freely, so an entry keeps its own. */
static int
take_over(struct uroce_cq *cq, struct uroce_cq_ring *ring)
{
	struct uroce_cq_ring old = cq->get;

	if (cq->tail - cq->head > ring->capacity)
		return EINVAL;
	for (uint32_t i = cq->head; i != cq->tail; i++) {
		ring->wcs[i & ring->mask] = old.wcs[i & old.mask];
		if (ring->stamps != NULL)
			ring->stamps[i & ring->mask] = old.stamps[i & old.mask];
	}
	cq->get = *ring;
	cq->put = *ring;
	cq->ibv.cqe = (int)ring->capacity;
	*ring = old;
	return 0;
}

/* Keep the producers out: several by their lock, a single one by its engine's turn. Under ibv.mutex. */
static void
producers_stop(struct uroce_cq *cq, const struct uroce_worker_ops *worker)
{
	if (cq->shared)
		rte_spinlock_lock(&cq->push_lock);
	else if (cq->refs != 0)
		worker->engine_enter(cq->producer);
}

static void
producers_go(struct uroce_cq *cq, const struct uroce_worker_ops *worker)
{
	if (cq->shared)
		rte_spinlock_unlock(&cq->push_lock);
	else if (cq->refs != 0)
		worker->engine_exit(cq->producer);
}

int
uroce_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct uroce_cq *cq = uroce_cq_of(ibv);
	struct uroce_device *dev = uroce_device_of(ibv->context);
	struct uroce_cq_ring ring;
	int ret;

	if (cqe <= 0 || cqe > UROCE_MAX_CQE)
		return EINVAL;
	if (uroce_cq_ring_init(dev, cq->parent, &ring, (uint32_t)cqe, cq->has_stamps) != 0)
		return ENOMEM;
	if (dev->poll_progress)		/* an RNIC would have completed this by now */
		dev->ops.worker->poll(dev, cq);
	/* In this order: between start_poll and end_poll a thread holds poll_lock, and may take the others. */
	uroce_cq_poll_lock(cq);
	pthread_mutex_lock(&ibv->mutex);
	producers_stop(cq, dev->ops.worker);
	ret = take_over(cq, &ring);
	producers_go(cq, dev->ops.worker);
	pthread_mutex_unlock(&ibv->mutex);
	uroce_cq_poll_unlock(cq);
	uroce_ring_free(ring.wcs);
	return ret;
}
