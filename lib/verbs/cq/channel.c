/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Completion channels: deliver the events of armed CQs at a file descriptor. Workers queue the events, application
 * threads wait for them (ibv_get_cq_event(3)). The destruction of a CQ waits until its events are acknowledged.
 */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "uroce.h"
#include "verbs/device/context.h"
#include "verbs/cq/cq.h"

static struct uroce_event_refs *
comp_event_refs(const void *record)
{
	struct ibv_cq *const *cq = record;

	return &uroce_cq_of(*cq)->comp_events;
}

struct ibv_comp_channel *
uroce_create_comp_channel(struct ibv_context *context)
{
	struct uroce_device *dev = uroce_device_of(context);
	struct uroce_comp_channel *channel = calloc(1, sizeof(*channel));
	int ret;

	if (channel == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	ret = uroce_event_queue_init(&channel->events, sizeof(struct ibv_cq *), comp_event_refs);
	if (ret != 0) {
		free(channel);
		errno = -ret;
		return NULL;
	}
	channel->ibv.context = context;
	uroce_context_get(context);
	channel->ibv.fd = channel->events.fd;
	uroce_device_count(dev, &dev->channel_count, UINT32_MAX);
	return &channel->ibv;
}

int
uroce_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct uroce_comp_channel *channel = uroce_comp_channel_of(ibv);
	struct ibv_context *context = ibv->context;
	struct uroce_device *dev = uroce_device_of(context);
	int refcnt;

	pthread_mutex_lock(&ibv->context->mutex);
	refcnt = ibv->refcnt;
	pthread_mutex_unlock(&ibv->context->mutex);
	if (refcnt != 0)
		return EBUSY;
	uroce_event_queue_fini(&channel->events);
	free(channel);
	uroce_device_uncount(dev, &dev->channel_count);
	uroce_context_put(context);
	return 0;
}

int
uroce_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	int ret = uroce_event_queue_get(&uroce_comp_channel_of(channel)->events, cq);

	if (ret != 0) {
		errno = -ret;
		return -1;
	}
	*cq_context = (*cq)->cq_context;
	return 0;
}

void
uroce_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	if (nevents == 0)
		return;
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

void
uroce_cq_notify(struct uroce_cq *cq)
{
	struct ibv_cq *ibv = &cq->ibv;

	/* events.lost counts lost events */
	(void)uroce_event_queue_put(&uroce_comp_channel_of(ibv->channel)->events, &ibv);
}

void
uroce_cq_forget_comp_events(struct uroce_cq *cq)
{
	struct uroce_comp_channel *channel = uroce_comp_channel_of(cq->ibv.channel);
	uint32_t reported = uroce_event_queue_purge(&channel->events, &cq->comp_events);

	pthread_mutex_lock(&cq->ibv.mutex);
	while (cq->ibv.comp_events_completed != reported)
		pthread_cond_wait(&cq->ibv.cond, &cq->ibv.mutex);
	pthread_mutex_unlock(&cq->ibv.mutex);
}
