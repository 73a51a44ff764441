/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_get_async_event(3) and ibv_ack_async_event(3); context.c queues the events. The destruction of a CQ, QP or SRQ
 * waits until the application has acknowledged all events of the object that it got. Any thread.
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
