/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Queues the events of IDs. Each event is in its ID's list; the ID's channel has a record for it, which makes the
 * channel's descriptor readable. The service's thread and calls post events, application threads get and acknowledge
 * them.
 */

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_debug.h>

#include "uroce_cma.h"
#include "cm/rdma/cma.h"

const char *
uroce_rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const names[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
		[RDMA_CM_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
		[RDMA_CM_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
		[RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
		[RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
		[RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
		[RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
		[RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
		[RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
		[RDMA_CM_EVENT_MULTICAST_JOIN] = "RDMA_CM_EVENT_MULTICAST_JOIN",
		[RDMA_CM_EVENT_MULTICAST_ERROR] = "RDMA_CM_EVENT_MULTICAST_ERROR",
		[RDMA_CM_EVENT_ADDR_CHANGE] = "RDMA_CM_EVENT_ADDR_CHANGE",
		[RDMA_CM_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT",
	};

	if ((unsigned int)event >= RTE_DIM(names))
		return "UNKNOWN EVENT";
	return names[event];
}

struct uroce_cma_event *
uroce_cma_event_new(struct uroce_cma_id *id, enum rdma_cm_event_type type, int status)
{
	struct uroce_cma_event *event = calloc(1, sizeof(*event));

	if (event == NULL)
		return NULL;
	event->event.id = &id->id;
	event->event.event = type;
	event->event.status = status;
	event->owner = id;
	return event;
}

void
uroce_cma_event_private(struct uroce_cma_event *event, const struct uroce_cm_private *priv)
{
	const uint8_t bytes = RTE_MIN(priv->bytes, sizeof(event->private_data));

	if (bytes == 0)
		return;
	memcpy(event->private_data, priv->data, bytes);
	if (uroce_cma_is_ud(event->owner)) {
		event->event.param.ud.private_data = event->private_data;
		event->event.param.ud.private_data_len = bytes;
	} else {
		event->event.param.conn.private_data = event->private_data;
		event->event.param.conn.private_data_len = bytes;
	}
}

bool
uroce_cma_event_post(struct uroce_cma_event *event)
{
	struct uroce_cma_id *id = event->owner;

	/* A request's ID gets no events before the application accepts it: rdma_accept(3) fails if the connection has
	 * ended. */
	if (id->leaving || (id->passive && !id->answered))
		goto drop;
	STAILQ_INSERT_TAIL(&id->events, event, link);
	if (uroce_event_queue_put(&uroce_cma_channel_of(id->id.channel)->queue, &id) == 0)
		return true;
	STAILQ_REMOVE(&id->events, event, uroce_cma_event, link);
drop:
	free(event);
	return false;
}

void
uroce_cma_event_simple(struct uroce_cma_id *id, enum rdma_cm_event_type type, int status,
		       enum uroce_cma_action action)
{
	struct uroce_cma_event *event = uroce_cma_event_new(id, type, status);

	if (event == NULL)
		return;
	event->action = action;
	(void)uroce_cma_event_post(event);
}

struct uroce_cma_event *
uroce_cma_event_take(struct uroce_cma_id *id)
{
	struct uroce_cma_event *event;

	uroce_cma_lock();
	event = STAILQ_FIRST(&id->events);
	RTE_VERIFY(event != NULL);
	STAILQ_REMOVE_HEAD(&id->events, link);
	id->taken++;
	if (event->action == UROCE_CMA_REQUEST)
		id->backlog++;
	uroce_cma_unlock();
	return event;
}

int
uroce_rdma_ack_cm_event(struct rdma_cm_event *ibv)
{
	struct uroce_cma_event *event = (struct uroce_cma_event *)ibv;

	if (event == NULL)
		return uroce_cma_return(-EINVAL);
	uroce_cma_lock();
	if (event->mcast != NULL)
		event->mcast->pending = false;
	event->owner->acked++;
	pthread_cond_broadcast(&event->owner->cond);
	uroce_cma_unlock();
	free(event);
	return 0;
}

void
uroce_cma_event_kept_ack(struct rdma_cm_id *ibv)
{
	if (ibv->event == NULL)
		return;
	(void)uroce_rdma_ack_cm_event(ibv->event);
	ibv->event = NULL;
}

/* @return the number of events that were got */
static uint32_t
purge(struct uroce_cma_id *id)
{
	return uroce_event_queue_purge(&uroce_cma_channel_of(id->id.channel)->queue, &id->refs);
}

/* Free an event that no thread will get. */
static void
event_drop(struct uroce_cma_event *event)
{
	if (event->action == UROCE_CMA_REQUEST)
		uroce_cma_id_discard(uroce_cma_id_of(event->event.id));
	free(event);
}

void
uroce_cma_events_forget(struct uroce_cma_id *id)
{
	struct uroce_cma_event *event;
	uint32_t reported;

	/* only the queue, under its lock, counts a thread that has read a record and not yet taken the event */
	reported = purge(id);
	while (id->acked != reported)
		pthread_cond_wait(&id->cond, &uroce_cm_lock);
	while ((event = STAILQ_FIRST(&id->events)) != NULL) {
		STAILQ_REMOVE_HEAD(&id->events, link);
		event_drop(event);
	}
}

/* Announce the ID's events anew in its channel, and drop that of a group.
 * @param reported	number of announcements that threads have read: their events are not announced again */
static bool
announce(struct uroce_cma_id *id, uint32_t reported, const struct uroce_cma_mcast *without)
{
	struct uroce_cma_channel *to = uroce_cma_channel_of(id->id.channel);
	uint32_t being_taken = reported - id->taken;
	struct uroce_cma_event *event, *next;
	bool removed = false;

	for (event = STAILQ_FIRST(&id->events); event != NULL; event = next) {
		next = STAILQ_NEXT(event, link);
		if (being_taken > 0) {
			being_taken--;
			continue;
		}
		if (without != NULL && event->mcast == without)
			removed = true;
		else if (uroce_event_queue_put(&to->queue, &id) == 0)
			continue;
		STAILQ_REMOVE(&id->events, event, uroce_cma_event, link);
		event_drop(event);
	}
	return removed;
}

bool
uroce_cma_events_remove(struct uroce_cma_id *id, const struct uroce_cma_mcast *mcast)
{
	return announce(id, purge(id), mcast);
}

uint32_t
uroce_cma_events_move(struct uroce_cma_id *id, struct uroce_cma_channel *to)
{
	const uint32_t reported = purge(id);

	uroce_cma_id_set_channel(id, to);
	(void)announce(id, reported, NULL);
	return reported;
}
