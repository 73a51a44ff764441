/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Asynchronous events: workers and control threads queue them, the application gets and acknowledges them as
 * ibv_get_async_event(3) says. Destroying a CQ, QP or SRQ waits until those of its events that the application got
 * are acknowledged.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "uroce.h"
#include "verbs/device/context.h"
#include "verbs/cq/cq.h"
#include "verbs/device/device.h"
#include "verbs/internal.h"
#include "verbs/qp/qp.h"
#include "verbs/srq/srq.h"

/* For the event queue: who has to live until the event is accounted for. */
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

/* Whose context hears of it; NULL: all of the device's. */
static struct ibv_context *
context_of(const struct ibv_async_event *event)
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
	struct ibv_context *context = context_of(event);

	if (context == NULL)
		uroce_contexts_event(dev, event);
	else
		/* what is lost is counted in the queue */
		(void)uroce_event_queue_put(uroce_context_events(context), event);
}

int
uroce_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	int ret = uroce_event_queue_get(uroce_context_events(context), event);

	if (ret == 0)
		return 0;
	errno = -ret;
	return -1;
}

static void
acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *acked)
{
	pthread_mutex_lock(mutex);
	(*acked)++;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

void
uroce_ack_async_event(struct ibv_async_event *event)
{
	struct uroce_event_refs *refs = uroce_async_event_refs(event);

	if (refs == NULL)
		return;
	if (event->event_type == IBV_EVENT_CQ_ERR) {
		struct ibv_cq *cq = event->element.cq;

		acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed);
	} else if (event->event_type == IBV_EVENT_SRQ_ERR ||
		   event->event_type == IBV_EVENT_SRQ_LIMIT_REACHED) {
		struct ibv_srq *srq = event->element.srq;

		acknowledge(&srq->mutex, &srq->cond, &srq->events_completed);
	} else {
		struct ibv_qp *qp = event->element.qp;

		acknowledge(&qp->mutex, &qp->cond, &qp->events_completed);
	}
}

bool
uroce_device_try_forget_events(struct ibv_context *context, struct uroce_event_refs *refs, pthread_mutex_t *mutex,
			       const uint32_t *acked)
{
	uint32_t reported = uroce_event_queue_purge(uroce_context_events(context), refs);
	bool done;

	pthread_mutex_lock(mutex);
	done = *acked == reported;
	pthread_mutex_unlock(mutex);
	return done;
}

void
uroce_device_forget_events(struct ibv_context *context, struct uroce_event_refs *refs,
			   pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acked)
{
	uint32_t reported = uroce_event_queue_purge(uroce_context_events(context), refs);

	pthread_mutex_lock(mutex);
	while (*acked != reported)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}
