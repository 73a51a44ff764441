/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Allocates memory for a device's objects, counts them against their limits, and keeps the lists in which telemetry
 * finds CQs and SRQs by number. Control threads.
 */

#include <rte_debug.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "verbs/cq/cq.h"
#include "verbs/device/device.h"
#include "verbs/srq/srq.h"

void *
uroce_device_alloc(const struct uroce_device *dev, const char *type, size_t bytes)
{
	void *p = rte_zmalloc_socket(type, bytes, RTE_CACHE_LINE_SIZE, dev->numa_node);

	if (p == NULL && dev->numa_node != SOCKET_ID_ANY)
		p = rte_zmalloc_socket(type, bytes, RTE_CACHE_LINE_SIZE, SOCKET_ID_ANY);
	return p;
}

bool
uroce_device_count(struct uroce_device *dev, uint32_t *count, uint32_t limit)
{
	bool room;

	pthread_mutex_lock(&dev->lock);
	room = *count < limit;
	if (room)
		(*count)++;
	pthread_mutex_unlock(&dev->lock);
	return room;
}

void
uroce_device_uncount(struct uroce_device *dev, uint32_t *count)
{
	pthread_mutex_lock(&dev->lock);
	RTE_VERIFY(*count > 0);
	(*count)--;
	pthread_mutex_unlock(&dev->lock);
}

void
uroce_device_add_cq(struct uroce_device *dev, struct uroce_cq *cq)
{
	pthread_mutex_lock(&dev->lock);
	cq->ibv.handle = ++dev->handles;
	TAILQ_INSERT_TAIL(&dev->cqs, cq, link);
	pthread_mutex_unlock(&dev->lock);
}

void
uroce_device_del_cq(struct uroce_device *dev, struct uroce_cq *cq)
{
	pthread_mutex_lock(&dev->lock);
	TAILQ_REMOVE(&dev->cqs, cq, link);
	pthread_mutex_unlock(&dev->lock);
}

void
uroce_device_add_srq(struct uroce_device *dev, struct uroce_srq *srq)
{
	pthread_mutex_lock(&dev->lock);
	srq->ibv.handle = ++dev->handles;
	TAILQ_INSERT_TAIL(&dev->srq_list, srq, link);
	pthread_mutex_unlock(&dev->lock);
}

void
uroce_device_del_srq(struct uroce_device *dev, struct uroce_srq *srq)
{
	pthread_mutex_lock(&dev->lock);
	TAILQ_REMOVE(&dev->srq_list, srq, link);
	pthread_mutex_unlock(&dev->lock);
}
