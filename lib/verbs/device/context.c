/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Opens and closes the contexts of a device, and queues asynchronous events for them. Each context is a copy of the
 * device's own with an event queue of its own; it is freed when it is closed and its last object is destroyed. Control
 * threads; workers also queue events.
 */

#include <errno.h>
#include <stdlib.h>

#include "uroce.h"
#include "verbs/cq/cq.h"
#include "verbs/device/context.h"
#include "verbs/qp/qp.h"
#include "verbs/srq/srq.h"

struct uroce_context {
	struct uroce_event_queue events;	/* its fd is vctx.context.async_fd */
	LIST_ENTRY(uroce_context) link;	/* in dev->contexts, under dev->contexts_lock */
	uint32_t refs;			/* atomic: 1 while it is open, and 1 for each object made from it */
	struct verbs_context vctx;	/* last: new versions add fields at its start */
};

struct uroce_event_refs *
uroce_async_event_refs(const void *record)
{
	const struct ibv_async_event *event = record;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return &uroce_cq_of(event->element.cq)->async_events;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return &uroce_srq_of(event->element.srq)->events;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return &uroce_qp_of(event->element.qp)->events;
	default:
		return NULL;
	}
}

/* @return NULL: it is the device's own context */
static struct uroce_context *
context_of(struct ibv_context *ibv)
{
	return ibv == &uroce_device_of(ibv)->vctx.context ? NULL :
	       container_of(ibv, struct uroce_context, vctx.context);
}

struct uroce_event_queue *
uroce_context_events(struct ibv_context *ibv)
{
	struct uroce_context *context = context_of(ibv);

	return context != NULL ? &context->events : &uroce_device_of(ibv)->events;
}

static void
put_all(struct uroce_device *dev, const struct ibv_async_event *event)
{
	struct uroce_context *context;

	/* the queue counts lost events */
	(void)uroce_event_queue_put(&dev->events, event);
	pthread_mutex_lock(&dev->contexts_lock);
	LIST_FOREACH(context, &dev->contexts, link)
		(void)uroce_event_queue_put(&context->events, event);
	pthread_mutex_unlock(&dev->contexts_lock);
}

/* @return the context whose application gets the event; NULL: all contexts of the device do */
static struct ibv_context *
listener(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return event->element.cq->context;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return event->element.srq->context;
	default:
		return uroce_async_event_refs(event) != NULL ? event->element.qp->context : NULL;
	}
}

void
uroce_device_event(struct uroce_device *dev, const struct ibv_async_event *event)
{
	struct ibv_context *context = listener(event);

	if (context == NULL)
		put_all(dev, event);
	else
		/* the queue counts lost events */
		(void)uroce_event_queue_put(uroce_context_events(context), event);
}

void
uroce_device_set_comp_vectors(struct uroce_device *dev, unsigned int n)
{
	struct uroce_context *context;

	pthread_mutex_lock(&dev->contexts_lock);
	dev->vctx.context.num_comp_vectors = (int)n;
	LIST_FOREACH(context, &dev->contexts, link)
		context->vctx.context.num_comp_vectors = (int)n;
	pthread_mutex_unlock(&dev->contexts_lock);
}

void
uroce_context_get(struct ibv_context *ibv)
{
	struct uroce_context *context = context_of(ibv);

	if (context != NULL)
		__atomic_fetch_add(&context->refs, 1, __ATOMIC_RELAXED);
}

void
uroce_context_put(struct ibv_context *ibv)
{
	struct uroce_context *context = context_of(ibv);
	struct uroce_device *dev = uroce_device_of(ibv);

	/* pairs with the same decrement of other threads: they have finished with the context before it is freed */
	if (context == NULL || __atomic_sub_fetch(&context->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	uroce_event_queue_fini(&context->events);
	pthread_mutex_destroy(&ibv->mutex);
	free(context);
	uroce_device_uncount(dev, &dev->context_count);
}

struct ibv_context *
uroce_open_device(struct ibv_device *device)
{
	struct uroce_device *dev = container_of(device, struct uroce_device, ibv);
	struct uroce_context *context = calloc(1, sizeof(*context));
	int ret = context == NULL ? -ENOMEM :
		  uroce_event_queue_init(&context->events, sizeof(struct ibv_async_event), uroce_async_event_refs);

	if (ret != 0) {
		free(context);
		errno = -ret;
		return NULL;
	}
	context->vctx = dev->vctx;
	context->vctx.context.async_fd = context->events.fd;
	pthread_mutex_init(&context->vctx.context.mutex, NULL);
	context->refs = 1;
	uroce_device_count(dev, &dev->context_count, UINT32_MAX);
	pthread_mutex_lock(&dev->contexts_lock);
	LIST_INSERT_HEAD(&dev->contexts, context, link);
	pthread_mutex_unlock(&dev->contexts_lock);
	return &context->vctx.context;
}

bool
uroce_context_close(struct ibv_context *ibv)
{
	struct uroce_context *context = context_of(ibv);
	struct uroce_device *dev = uroce_device_of(ibv);

	if (context == NULL)
		return false;
	pthread_mutex_lock(&dev->contexts_lock);
	LIST_REMOVE(context, link);
	pthread_mutex_unlock(&dev->contexts_lock);
	uroce_context_put(ibv);
	return true;
}
