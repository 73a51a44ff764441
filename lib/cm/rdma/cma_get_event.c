/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * rdma_get_cm_event(3), and the wait of a synchronous ID. As with librdmacm, the thread that gets an event first does
 * the event's work: it updates the public part of the ID, connects its QP or attaches it to a group. Application
 * threads.
 */

#include <errno.h>

#include "uroce.h"
#include "uroce_cma.h"
#include "cm/rdma/cma.h"

/* The new ID gets its listener's channel, which may have changed since the request arrived. A synchronous listener's ID
 * is synchronous, too, and gets a channel of its own. */
static bool
take_request(struct uroce_cma_event *event)
{
	struct uroce_cma_id *id = uroce_cma_id_of(event->event.id);
	struct uroce_cma_channel *own = NULL;

	if (event->owner->sync) {
		own = uroce_cma_channel_create();
		if (own == NULL) {
			uroce_cma_lock();
			uroce_cma_id_discard(id);
			uroce_cma_unlock();
			return false;
		}
	}
	uroce_cma_lock();
	id->sync = own != NULL;
	uroce_cma_id_set_channel(id, own != NULL ? own
						 : uroce_cma_channel_of(event->owner->id.channel));
	uroce_cma_id_publish(id);
	uroce_cma_unlock();
	if (own != NULL)
		uroce_cma_channel_put(own);
	return true;
}

static void
take_response(struct uroce_cma_event *event)
{
	struct uroce_cma_id *id = event->owner;
	int ret;

	if (id->id.qp == NULL)
		return; /* the application connects its QP and calls rdma_establish(3) */
	ret = uroce_cma_establish(id);
	event->event.event = RDMA_CM_EVENT_ESTABLISHED;
	if (ret != 0) {
		event->event.event = RDMA_CM_EVENT_CONNECT_ERROR;
		event->event.status = ret;
		uroce_cma_lock();
		id->connect_error = true;
		uroce_cma_unlock();
	}
}

/* Attach the ID's QP. Until the event is acknowledged, a call to leave the group waits. */
static int
attach(struct uroce_cma_event *event)
{
	struct uroce_cma_mcast *mcast = event->mcast;
	struct ibv_qp *qp = event->owner->id.qp;
	int ret;

	if (qp == NULL || mcast->send_only)
		return 0;
	ret = uroce_attach_mcast(qp, &mcast->mgid, 0);
	mcast->attached = ret == 0;
	return -ret;
}

static void
take_join(struct uroce_cma_event *event)
{
	int ret = attach(event);

	if (ret != 0) {
		event->event.event = RDMA_CM_EVENT_MULTICAST_ERROR;
		event->event.status = ret;
	}
}

/* Has the application got a CONNECT_ERROR? Then it gets no events that follow from the error. */
static bool
has_failed(const struct uroce_cma_id *id)
{
	bool failed;

	uroce_cma_lock();
	failed = id->connect_error;
	uroce_cma_unlock();
	return failed;
}

/* @return false: the event is not for the application */
static bool
act(struct uroce_cma_event *event)
{
	struct uroce_cma_id *id = event->owner;

	switch (event->action) {
	case UROCE_CMA_NONE: return true;
	case UROCE_CMA_PUBLISH:
		uroce_cma_lock();
		uroce_cma_id_publish(id);
		uroce_cma_unlock();
		return true;
	case UROCE_CMA_REQUEST: return take_request(event);
	case UROCE_CMA_RESPONSE: take_response(event); return true;
	case UROCE_CMA_REFUSED:
		if (has_failed(id))
			return false;
		(void)uroce_cma_qp_error(id);
		return true;
	case UROCE_CMA_ENDED: return !has_failed(id);
	case UROCE_CMA_JOINED: take_join(event); return true;
	}
	return true;
}

static int
get_event(struct uroce_cma_channel *channel, struct uroce_cma_event **taken)
{
	struct uroce_cma_event *event;
	struct uroce_cma_id *id;
	int ret;

	for (;;) {
		ret = uroce_event_queue_get(&channel->queue, &id);
		if (ret != 0)
			return ret;
		event = uroce_cma_event_take(id);
		if (act(event))
			break;
		(void)uroce_rdma_ack_cm_event(&event->event);
	}
	*taken = event;
	return 0;
}

int
uroce_rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct uroce_cma_event *taken;
	int ret;

	if (event == NULL)
		return uroce_cma_return(-EINVAL);
	ret = get_event(uroce_cma_channel_of(channel), &taken);
	if (ret == 0)
		*event = &taken->event;
	return uroce_cma_return(ret);
}

/* Convert the status of an event to the result of the call that has waited for it. */
static int
event_error(const struct rdma_cm_event *event)
{
	if (event->status == 0)
		return 0;
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return -ECONNREFUSED;
	return event->status < 0 ? event->status : -event->status;
}

int
uroce_cma_complete(struct uroce_cma_id *id)
{
	struct uroce_cma_event *event;
	int ret;

	if (!id->sync)
		return 0;
	uroce_cma_event_kept_ack(&id->id);
	ret = get_event(uroce_cma_channel_of(id->id.channel), &event);
	if (ret != 0)
		return ret;
	id->id.event = &event->event;
	return event_error(&event->event);
}
