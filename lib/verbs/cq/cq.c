/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates, polls and arms completion queues, and pushes completions to them. Engines push, any thread polls and arms.
 * While all QPs of a CQ belong to one engine, a push takes no lock. After an overrun (R43) the CQ accepts no
 * completion; those that it has can still be polled.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_atomic.h>
#include <rte_bitops.h>
#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_malloc.h>

#include "uroce.h"
#include "uroce_config.h"
#include "base/log.h"
#include "mem/pd.h"
#include "verbs/device/context.h"
#include "verbs/cq/cq.h"
#include "verbs/device/device.h"
#include "verbs/memory/pd.h"
#include "verbs/memory/ring.h"

static void
channel_ref(struct ibv_comp_channel *channel, int n)
{
	if (channel == NULL)
		return;
	pthread_mutex_lock(&channel->context->mutex);
	channel->refcnt += n;
	pthread_mutex_unlock(&channel->context->mutex);
}

int
uroce_cq_ring_init(const struct uroce_device *dev, struct ibv_pd *pd, struct uroce_cq_ring *ring,
		   uint32_t capacity, bool stamps)
{
	uint32_t entries = rte_align32pow2(capacity);
	size_t bytes = sizeof(ring->wcs[0]) + (stamps ? sizeof(ring->stamps[0]) : 0);

	ring->wcs = uroce_ring_alloc(dev, pd, UROCE_RES_TYPE_CQ, entries * bytes);
	if (ring->wcs == NULL)
		return ENOMEM;
	ring->stamps = stamps ? (uint64_t *)(ring->wcs + entries) : NULL;
	ring->mask = entries - 1;
	ring->capacity = capacity;
	return 0;
}

static struct uroce_cq *
cq_alloc(struct uroce_device *dev, struct ibv_pd *pd, uint32_t capacity, bool stamps)
{
	struct uroce_cq *cq = uroce_device_alloc(dev, "uroce_cq", sizeof(*cq));

	if (cq == NULL)
		return NULL;
	if (uroce_cq_ring_init(dev, pd, &cq->put, capacity, stamps) != 0) {
		rte_free(cq);
		return NULL;
	}
	cq->get = cq->put;
	cq->parent = pd;
	cq->single_threaded = uroce_pd_is_single_threaded(pd);
	cq->has_stamps = stamps;
	rte_spinlock_init(&cq->push_lock);
	rte_spinlock_init(&cq->poll_lock);
	rte_spinlock_init(&cq->moderation.lock);
	return cq;
}

/* ibv_create_cq_ex(3) accepts a parent domain, but no protection domain. */
static bool
parent_ok(const struct ibv_context *context, const struct ibv_pd *pd)
{
	return pd != NULL && pd->context == context && uroce_pd_is_parent(pd);
}

struct uroce_cq *
uroce_cq_create(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t stamps = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	struct uroce_device *dev = uroce_device_of(context);
	struct ibv_comp_channel *channel = attr->channel;
	struct ibv_pd *pd = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD ? attr->parent_domain : NULL;
	struct uroce_cq *cq;

	if (attr->cqe == 0 || attr->cqe > UROCE_MAX_CQE ||
	    attr->comp_vector >= (uint32_t)context->num_comp_vectors ||
	    (channel != NULL && channel->context != context) ||
	    ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0 && !parent_ok(context, pd))) {
		errno = EINVAL;
		return NULL;
	}
	if (!uroce_device_count(dev, &dev->cq_count, dev->max_cq)) {
		UROCE_LOG(ERR, "%s has %u CQs, its limit: open its port with a larger max_cq\n", dev->ibv.name,
			  dev->max_cq);
		errno = ENOMEM;
		return NULL;
	}
	cq = cq_alloc(dev, pd, attr->cqe, (attr->wc_flags & stamps) != 0);
	if (cq == NULL) {
		uroce_device_uncount(dev, &dev->cq_count);
		errno = ENOMEM;
		return NULL;
	}
	cq->ibv.context = context;
	uroce_context_get(context);
	cq->ibv.channel = channel;
	cq->ibv.cq_context = attr->cq_context;
	cq->ibv.cqe = (int)attr->cqe;
	cq->comp_vector = attr->comp_vector;
	cq->has_channel = channel != NULL;
	pthread_mutex_init(&cq->ibv.mutex, NULL);
	pthread_cond_init(&cq->ibv.cond, NULL);
	channel_ref(channel, 1);
	if (pd != NULL)
		uroce_pd_get(pd);
	uroce_device_add_cq(dev, cq);
	return cq;
}

struct ibv_cq *
uroce_create_cq(struct ibv_context *context, int cqe, void *cq_context,
		struct ibv_comp_channel *channel, int comp_vector)
{
	const struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe < 0 ? 0 : (uint32_t)cqe,	/* as invalid as 0 */
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = (uint32_t)comp_vector,
	};
	struct uroce_cq *cq = uroce_cq_create(context, &attr);

	return cq == NULL ? NULL : &cq->ibv;
}

int
uroce_destroy_cq(struct ibv_cq *ibv)
{
	struct uroce_cq *cq = uroce_cq_of(ibv);
	struct ibv_context *context = ibv->context;
	struct uroce_device *dev = uroce_device_of(context);
	uint32_t refs;

	pthread_mutex_lock(&ibv->mutex);
	refs = cq->refs;
	pthread_mutex_unlock(&ibv->mutex);
	if (refs != 0)
		return EBUSY;	/* R47 */
	uroce_device_del_cq(dev, cq);
	uroce_cq_moderation_fini(cq);
	if (ibv->channel != NULL)
		uroce_cq_forget_comp_events(cq);
	uroce_device_forget_events(context, &cq->async_events, &ibv->mutex, &ibv->cond,
				   &ibv->async_events_completed);
	channel_ref(ibv->channel, -1);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	uroce_ring_free(cq->get.wcs);
	if (cq->parent != NULL)
		uroce_pd_put(cq->parent);
	rte_free(cq);
	uroce_device_uncount(dev, &dev->cq_count);
	uroce_context_put(context);
	return 0;
}

void
uroce_cq_attach(struct uroce_cq *cq, struct uroce_engine *engine)
{
	const struct uroce_worker_ops *worker = uroce_device_of(cq->ibv.context)->ops.worker;

	pthread_mutex_lock(&cq->ibv.mutex);
	if (cq->refs++ == 0) {
		cq->producer_refs = 0;
		__atomic_store_n(&cq->producer, engine, __ATOMIC_RELAXED);
		__atomic_store_n(&cq->shared, engine == NULL, __ATOMIC_RELAXED);
	} else if (cq->producer != engine && !cq->shared) {
		__atomic_store_n(&cq->shared, true, __ATOMIC_RELAXED);
		/* wait until the first producer has ended a push that may not have seen `shared` */
		worker->engine_enter(cq->producer);
		worker->engine_exit(cq->producer);
	}
	cq->producer_refs += engine != NULL && engine == cq->producer;
	pthread_mutex_unlock(&cq->ibv.mutex);
}

void
uroce_cq_detach(struct uroce_cq *cq, struct uroce_engine *engine)
{
	pthread_mutex_lock(&cq->ibv.mutex);
	RTE_VERIFY(cq->refs > 0);
	cq->producer_refs -= engine == cq->producer && cq->producer_refs > 0;
	if (--cq->refs == 0) /* the engine may be freed before there is another */
		__atomic_store_n(&cq->producer, NULL, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&cq->ibv.mutex);
}

void
uroce_cq_forget_engine(struct uroce_cq *cq, const struct uroce_engine *engine)
{
	pthread_mutex_lock(&cq->ibv.mutex);
	if (engine == cq->producer && cq->producer_refs > 0 && --cq->producer_refs == 0) {
		__atomic_store_n(&cq->shared, true, __ATOMIC_RELAXED);
		__atomic_store_n(&cq->producer, NULL, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&cq->ibv.mutex);
}

/* The turns keep both producers out. If there are others, the lock stays; once the last QP has come, `to` is the only
 * one. */
void
uroce_cq_moved(struct uroce_cq *cq, uint32_t refs, struct uroce_engine *from, struct uroce_engine *to)
{
	if (cq->shared && to == cq->producer) {
		cq->producer_refs += refs;
	} else if (cq->shared && cq->producer_refs > refs) {
		cq->producer_refs -= from == cq->producer ? refs : 0;
	} else {
		__atomic_store_n(&cq->producer, to, __ATOMIC_RELAXED);
		cq->producer_refs = refs;
	}
	__atomic_store_n(&cq->shared, cq->producer_refs != cq->refs, __ATOMIC_RELAXED);
	uroce_cq_moderation_move(cq, from, to);
}

/* R43: raise the event once; the completions in the queue stay. */
static void
set_overrun(struct uroce_cq *cq)
{
	struct ibv_async_event event;

	if (cq->overrun)
		return;
	/* pairs with the acquire in uroce_poll_cq(): a thread that sees it sees the last entry too */
	__atomic_store_n(&cq->overrun, true, __ATOMIC_RELEASE);
	memset(&event, 0, sizeof(event));
	event.element.cq = &cq->ibv;
	event.event_type = IBV_EVENT_CQ_ERR;
	uroce_device_event(uroce_device_of(cq->ibv.context), &event);
}

static bool
push(struct uroce_cq *cq, struct uroce_engine *engine, const struct ibv_wc *wc)
{
	uint32_t tail = cq->tail;

	if (unlikely(tail - cq->head_seen >= cq->put.capacity)) {
		/* pairs with the releases of pollers: they have read the entries before head */
		cq->head_seen = __atomic_load_n(&cq->head, __ATOMIC_ACQUIRE);
		if (tail - cq->head_seen >= cq->put.capacity) {
			if (cq->ignore_overrun)
				return true;	/* IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN: drop it */
			set_overrun(cq);
		}
	}
	if (unlikely(cq->overrun))
		return false;
	cq->put.wcs[tail & cq->put.mask] = *wc;
	if (unlikely(cq->put.stamps != NULL))
		cq->put.stamps[tail & cq->put.mask] =
			uroce_device_of(cq->ibv.context)->ops.transport->engine_now(engine);
	/* pairs with the acquire in uroce_poll_cq() */
	__atomic_store_n(&cq->tail, tail + 1, __ATOMIC_RELEASE);
	return true;
}

static void
notify_armed(struct uroce_cq *cq, struct uroce_engine *engine, bool solicited)
{
	uint32_t arm;

	/* Pairs with the fence in uroce_req_notify_cq(): either this thread sees that the CQ is armed, or the
	 * application's poll after arming it sees the new entry. */
	rte_atomic_thread_fence(__ATOMIC_SEQ_CST);
	arm = __atomic_load_n(&cq->arm, __ATOMIC_RELAXED);
	while (arm == UROCE_CQ_ARMED || (arm == UROCE_CQ_ARMED_SOLICITED && solicited)) {
		if (unlikely(__atomic_load_n(&cq->moderated, __ATOMIC_RELAXED))) {
			uroce_cq_moderate(cq, engine);
			return;
		}
		/* one shot */
		if (__atomic_compare_exchange_n(&cq->arm, &arm, UROCE_CQ_UNARMED, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			uroce_cq_notify(cq);
			return;
		}
	}
}

bool
uroce_cq_push(struct uroce_cq *cq, struct uroce_engine *engine, const struct ibv_wc *wc, bool solicited)
{
	bool shared = __atomic_load_n(&cq->shared, __ATOMIC_RELAXED);
	bool pushed;

	if (shared)
		rte_spinlock_lock(&cq->push_lock);
	pushed = push(cq, engine, wc);
	if (shared)
		rte_spinlock_unlock(&cq->push_lock);
	if (cq->has_channel && pushed)
		notify_armed(cq, engine, solicited || wc->status != IBV_WC_SUCCESS);
	return pushed;
}

/* Copy the n entries from head on, which may wrap around. */
static void
copy_out(const struct uroce_cq_ring *ring, uint32_t head, uint32_t n, struct ibv_wc *wc)
{
	uint32_t at = head & ring->mask;
	uint32_t first = RTE_MIN(n, ring->mask + 1 - at);

	memcpy(wc, &ring->wcs[at], first * sizeof(*wc));
	memcpy(wc + first, ring->wcs, (n - first) * sizeof(*wc));
}

int
uroce_poll_cq(struct ibv_cq *ibv, int num_entries, struct ibv_wc *wc)
{
	struct uroce_cq *cq = uroce_cq_of(ibv);
	/* Pairs with the release in set_overrun(). Read before tail, which does not change after an overrun. */
	bool overrun = __atomic_load_n(&cq->overrun, __ATOMIC_ACQUIRE);
	uint32_t head;
	uint32_t n;

	if (num_entries <= 0)
		return 0;
	if (uroce_cq_has_nothing(cq))
		return overrun ? -1 : 0;
	uroce_cq_poll_lock(cq);
	head = cq->head;
	/* pairs with the release in push() */
	n = RTE_MIN(__atomic_load_n(&cq->tail, __ATOMIC_ACQUIRE) - head, (uint32_t)num_entries);
	copy_out(&cq->get, head, n, wc);
	/* pairs with the acquire in push() */
	__atomic_store_n(&cq->head, head + n, __ATOMIC_RELEASE);
	uroce_cq_poll_unlock(cq);
	return (int)n;
}

int
uroce_req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
	struct uroce_cq *cq = uroce_cq_of(ibv);
	uint32_t want = solicited_only ? UROCE_CQ_ARMED_SOLICITED : UROCE_CQ_ARMED;
	uint32_t arm = __atomic_load_n(&cq->arm, __ATOMIC_RELAXED);

	/* a CQ armed for any completion stays so if only solicited ones are requested */
	while (arm < want && !__atomic_compare_exchange_n(&cq->arm, &arm, want, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	/* pairs with the fence in notify_armed() */
	rte_atomic_thread_fence(__ATOMIC_SEQ_CST);
	return 0;
}
