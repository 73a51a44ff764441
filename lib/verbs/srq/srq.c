/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates, resizes, arms, queries and destroys shared receive queues. Control threads. Workers take WQEs in srq_take.c,
 * any thread posts them in qp/post_recv.c.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_malloc.h>

#include "uroce.h"
#include "uroce_config.h"
#include "mem/pd.h"
#include "verbs/device/device.h"
#include "verbs/internal.h"
#include "verbs/memory/ring.h"
#include "verbs/srq/srq.h"

#define KNOWN_ATTR (IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)

static bool
max_wr_ok(uint32_t max_wr)
{
	return max_wr > 0 && max_wr <= UROCE_MAX_SRQ_WR;
}

static uint8_t *
ring_alloc(const struct uroce_device *dev, struct ibv_pd *pd, uint32_t entries, uint32_t stride)
{
	return uroce_ring_alloc(dev, pd, UROCE_RES_TYPE_SRQ, (size_t)rte_align32pow2(entries) * stride);
}

static struct uroce_srq *
srq_alloc(struct uroce_device *dev, struct ibv_pd *pd, const struct ibv_srq_attr *attr)
{
	struct uroce_srq *srq = uroce_device_alloc(dev, "uroce_srq", sizeof(*srq));
	struct uroce_wq *wq;

	if (srq == NULL)
		return NULL;
	wq = &srq->wq;
	wq->capacity = attr->max_wr;
	wq->mask = rte_align32pow2(attr->max_wr) - 1;
	wq->max_sge = (uint16_t)RTE_MAX(attr->max_sge, 1u);
	wq->stride = sizeof(struct uroce_rqe) + wq->max_sge * sizeof(struct ibv_sge);
	wq->ring = ring_alloc(dev, pd, attr->max_wr, wq->stride);
	if (wq->ring == NULL) {
		rte_free(srq);
		return NULL;
	}
	rte_spinlock_init(&wq->lock);
	rte_spinlock_init(&srq->take_lock);
	srq->dev = dev;
	return srq;
}

/* Create the part that all types of SRQ share. @return NULL and errno */
static struct uroce_srq *
srq_create(struct ibv_pd *pd, void *srq_context, struct ibv_srq_attr *attr)
{
	struct uroce_device *dev = uroce_device_of(pd->context);
	struct uroce_srq *srq;

	if (!max_wr_ok(attr->max_wr) || attr->max_sge > UROCE_MAX_SGE) {
		errno = EINVAL;
		return NULL;
	}
	if (!uroce_device_count(dev, &dev->srq_count, 1u << UROCE_LOG2_MAX_SRQ)) {
		errno = ENOMEM;
		return NULL;
	}
	srq = srq_alloc(dev, pd, attr);
	if (srq == NULL) {
		uroce_device_uncount(dev, &dev->srq_count);
		errno = ENOMEM;
		return NULL;
	}
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = srq_context;
	srq->ibv.pd = pd;
	srq->wq.pd = uroce_pd_protection(pd);
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	uroce_pd_get(pd);
	attr->max_wr = srq->wq.capacity;
	attr->max_sge = srq->wq.max_sge;
	return srq;
}

static void
srq_destroy(struct uroce_srq *srq)
{
	struct uroce_device *dev = srq->dev;

	pthread_cond_destroy(&srq->ibv.cond);
	pthread_mutex_destroy(&srq->ibv.mutex);
	uroce_ring_free(srq->wq.ring);		/* uses the parent domain's allocator: before its put */
	uroce_pd_put(srq->ibv.pd);
	rte_free(srq);
	uroce_device_uncount(dev, &dev->srq_count);
}

struct ibv_srq *
uroce_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init_attr)
{
	struct uroce_srq *srq = srq_create(pd, init_attr->srq_context, &init_attr->attr);

	if (srq == NULL)
		return NULL;
	uroce_device_add_srq(srq->dev, srq);
	return &srq->ibv;
}

/* Check the attributes that rdma-core requires for each type. */
static int
check_ex(const struct ibv_context *context, const struct ibv_srq_init_attr_ex *attr, enum ibv_srq_type type)
{
	const uint32_t xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;

	if (attr->comp_mask >= IBV_SRQ_INIT_ATTR_RESERVED || !(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) ||
	    attr->pd == NULL || attr->pd->context != context)
		return EINVAL;
	if (type == IBV_SRQT_BASIC)
		return 0;
	if (type != IBV_SRQT_XRC)
		return EOPNOTSUPP;
	return (attr->comp_mask & xrc) == xrc && attr->xrcd->context == context &&
	       attr->cq->context == context ? 0 : EINVAL;
}

struct ibv_srq *
uroce_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *init_attr)
{
	enum ibv_srq_type type = init_attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE ? init_attr->srq_type
									       : IBV_SRQT_BASIC;
	int ret = check_ex(context, init_attr, type);
	struct uroce_srq *srq;

	if (ret != 0) {
		errno = ret;
		return NULL;
	}
	srq = srq_create(init_attr->pd, init_attr->srq_context, &init_attr->attr);
	if (srq == NULL)
		return NULL;
	if (type == IBV_SRQT_XRC) {
		ret = uroce_srq_xrc_init(srq, init_attr->xrcd, init_attr->cq);
		if (ret != 0) {
			srq_destroy(srq);
			errno = ret;
			return NULL;
		}
	}
	uroce_device_add_srq(srq->dev, srq);
	return &srq->ibv;
}

int
uroce_destroy_srq(struct ibv_srq *ibv)
{
	struct uroce_srq *srq = uroce_srq_of(ibv);

	/* R47; pairs with the release in uroce_srq_detach() */
	if (__atomic_load_n(&srq->refs, __ATOMIC_ACQUIRE) != 0)
		return EBUSY;
	uroce_device_del_srq(srq->dev, srq);
	if (srq->xrcd != NULL)
		uroce_srq_xrc_fini(srq);
	uroce_device_forget_events(ibv->context, &srq->events, &ibv->mutex, &ibv->cond,
				   &ibv->events_completed);
	srq_destroy(srq);
	return 0;
}

/* Keep posters and takers out, until leave(). */
static void
enter(struct uroce_srq *srq)
{
	rte_spinlock_lock(&srq->wq.lock);
	rte_spinlock_lock(&srq->take_lock);
}

static void
leave(struct uroce_srq *srq)
{
	rte_spinlock_unlock(&srq->take_lock);
	rte_spinlock_unlock(&srq->wq.lock);
}

/* Move the queued WQEs to *ring, which has another size, and put the old ring there. Between enter and leave. */
static void
move(struct uroce_wq *wq, uint32_t max_wr, uint8_t **ring)
{
	/* not a copy of the whole struct: other threads are spinning on its lock */
	const struct uroce_wq from = { .ring = wq->ring, .mask = wq->mask, .stride = wq->stride };

	wq->ring = *ring;
	wq->mask = rte_align32pow2(max_wr) - 1;
	wq->capacity = max_wr;
	for (uint32_t i = wq->head; i != wq->tail; i++)
		memcpy(uroce_rqe_at(wq, i), uroce_rqe_at(&from, i), wq->stride);
	*ring = from.ring;
}

/* Between enter and leave. @return 0 or EINVAL: nothing has changed */
static int
apply(struct uroce_srq *srq, const struct ibv_srq_attr *attr, int mask, uint8_t **ring, bool *event)
{
	struct uroce_wq *wq = &srq->wq;
	uint32_t queued = wq->tail - wq->head;
	uint32_t max_wr = mask & IBV_SRQ_MAX_WR ? attr->max_wr : wq->capacity;
	uint32_t limit = mask & IBV_SRQ_LIMIT ? attr->srq_limit : srq->limit;

	if (limit > max_wr || queued > max_wr)
		return EINVAL;
	if (mask & IBV_SRQ_MAX_WR)
		move(wq, max_wr, ring);
	if (mask & IBV_SRQ_LIMIT) {
		/* too few WQEs already: raise the event now, because no message raises it in an empty SRQ */
		*event = limit != 0 && queued < limit;
		srq->limit = *event ? 0 : limit;
	}
	return 0;
}

int
uroce_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int attr_mask)
{
	struct uroce_srq *srq = uroce_srq_of(ibv);
	uint8_t *ring = NULL;
	bool event = false;
	int ret;

	if ((attr_mask & ~KNOWN_ATTR) != 0)
		return EINVAL;
	if (attr_mask & IBV_SRQ_MAX_WR) {
		if (!max_wr_ok(attr->max_wr))
			return EINVAL;
		ring = ring_alloc(srq->dev, ibv->pd, attr->max_wr, srq->wq.stride);
		if (ring == NULL)
			return ENOMEM;
	}
	enter(srq);
	ret = apply(srq, attr, attr_mask, &ring, &event);
	leave(srq);
	uroce_ring_free(ring);
	if (event)
		uroce_srq_limit_reached(srq);
	return ret;
}

int
uroce_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
	struct uroce_srq *srq = uroce_srq_of(ibv);

	enter(srq);
	*attr = (struct ibv_srq_attr){
		.max_wr = srq->wq.capacity,
		.max_sge = srq->wq.max_sge,
		.srq_limit = srq->limit,
	};
	leave(srq);
	return 0;
}

int
uroce_get_srq_num(struct ibv_srq *ibv, uint32_t *srq_num)
{
	const struct uroce_srq *srq = uroce_srq_of(ibv);

	if (srq->xrcd == NULL)
		return EOPNOTSUPP;	/* only XRC SRQs have a number */
	*srq_num = srq->number;
	return 0;
}

void
uroce_srq_attach(struct uroce_srq *srq)
{
	__atomic_fetch_add(&srq->refs, 1, __ATOMIC_RELAXED);
}

void
uroce_srq_detach(struct uroce_srq *srq)
{
	/* pairs with the acquire in uroce_destroy_srq() */
	__atomic_fetch_sub(&srq->refs, 1, __ATOMIC_RELEASE);
}
