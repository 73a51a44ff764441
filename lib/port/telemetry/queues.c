/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Telemetry of completion queues and shared receive queues: their fill and whether they are armed. A QP's telemetry
 * refers to them by number. EAL's telemetry threads, with the registry's lock; the device's lock keeps a queue from
 * being freed.
 */

#include <errno.h>
#include <pthread.h>

#include "base/dpdk_compat.h"
#include "port/port.h"
#include "port/telemetry/page.h"
#include "port/telemetry/telemetry.h"
#include "verbs/cq/cq.h"
#include "verbs/srq/srq.h"

int
uroce_telemetry_cqs(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	struct uroce_device *dev = &port->dev;
	struct uroce_telemetry_page page;
	const struct uroce_cq *cq;
	uint32_t count;
	uint64_t from;

	if (uroce_telemetry_from(argument, UINT32_MAX, &from) != 0)
		return -EINVAL;
	if (uroce_telemetry_page_begin(&page) != 0)
		return -ENOMEM;
	pthread_mutex_lock(&dev->lock);
	count = dev->cq_count;
	TAILQ_FOREACH(cq, &dev->cqs, link) {
		if (cq->ibv.handle >= from && !uroce_telemetry_page_add(&page, cq->ibv.handle, cq->ibv.handle))
			break;
	}
	pthread_mutex_unlock(&dev->lock);
	uroce_telemetry_page_end(&page, "cqs", count, d);
	return 0;
}

/* Describe a CQ while its producers and consumers run: the values are not of the same instant. */
static void
cq_describe(struct uroce_cq *cq, struct rte_tel_data *d)
{
	static const char *const arms[] = { "no", "solicited", "any" };
	uint32_t head = __atomic_load_n(&cq->head, __ATOMIC_RELAXED);
	uint32_t tail = __atomic_load_n(&cq->tail, __ATOMIC_RELAXED);
	uint32_t arm = __atomic_load_n(&cq->arm, __ATOMIC_RELAXED);

	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_uint(d, "cq", cq->ibv.handle);
	pthread_mutex_lock(&cq->ibv.mutex);
	rte_tel_data_add_dict_int(d, "size", cq->ibv.cqe);
	rte_tel_data_add_dict_int(d, "queues", (int)cq->refs);
	pthread_mutex_unlock(&cq->ibv.mutex);
	/* tail was read after head, so the difference is never negative */
	rte_tel_data_add_dict_uint(d, "completions", tail - head);
	rte_tel_data_add_dict_uint(d, "completed", tail);
	rte_tel_data_add_dict_int(d, "overrun", __atomic_load_n(&cq->overrun, __ATOMIC_RELAXED));
	rte_tel_data_add_dict_int(d, "shared", __atomic_load_n(&cq->shared, __ATOMIC_RELAXED));
	rte_tel_data_add_dict_int(d, "channel", cq->has_channel);
	rte_tel_data_add_dict_string(d, "armed", arm < RTE_DIM(arms) ? arms[arm] : "?");
	rte_spinlock_lock(&cq->moderation.lock);
	rte_tel_data_add_dict_int(d, "moderation_count", cq->moderation.count);
	rte_tel_data_add_dict_int(d, "moderation_us", cq->moderation.period_us);
	rte_spinlock_unlock(&cq->moderation.lock);
}

int
uroce_telemetry_cq(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	struct uroce_device *dev = &port->dev;
	struct uroce_cq *cq;
	uint64_t number;

	if (uroce_telemetry_number(argument, UINT32_MAX, &number) != 0)
		return -EINVAL;
	pthread_mutex_lock(&dev->lock);
	TAILQ_FOREACH(cq, &dev->cqs, link)
		if (cq->ibv.handle == number)
			break;
	if (cq != NULL)
		cq_describe(cq, d);
	pthread_mutex_unlock(&dev->lock);
	return cq != NULL ? 0 : -ENOENT;
}

int
uroce_telemetry_srqs(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	struct uroce_device *dev = &port->dev;
	struct uroce_telemetry_page page;
	const struct uroce_srq *srq;
	uint32_t count;
	uint64_t from;

	if (uroce_telemetry_from(argument, UINT32_MAX, &from) != 0)
		return -EINVAL;
	if (uroce_telemetry_page_begin(&page) != 0)
		return -ENOMEM;
	pthread_mutex_lock(&dev->lock);
	count = dev->srq_count;
	TAILQ_FOREACH(srq, &dev->srq_list, link) {
		if (srq->ibv.handle >= from &&
		    !uroce_telemetry_page_add(&page, srq->ibv.handle, srq->ibv.handle))
			break;
	}
	pthread_mutex_unlock(&dev->lock);
	uroce_telemetry_page_end(&page, "srqs", count, d);
	return 0;
}

static void
srq_describe(struct uroce_srq *srq, struct rte_tel_data *d)
{
	uint32_t fill, capacity, limit;

	rte_spinlock_lock(&srq->wq.lock);
	rte_spinlock_lock(&srq->take_lock);
	fill = srq->wq.tail - srq->wq.head;
	capacity = srq->wq.capacity;
	limit = srq->limit;
	rte_spinlock_unlock(&srq->take_lock);
	rte_spinlock_unlock(&srq->wq.lock);
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_uint(d, "srq", srq->ibv.handle);
	rte_tel_data_add_dict_int(d, "size", (int)capacity);
	rte_tel_data_add_dict_int(d, "receives", (int)fill);
	rte_tel_data_add_dict_int(d, "limit", (int)limit);
	rte_tel_data_add_dict_int(d, "qps", (int)__atomic_load_n(&srq->refs, __ATOMIC_RELAXED));
	rte_tel_data_add_dict_uint(d, "pd", srq->ibv.pd->handle);
	rte_tel_data_add_dict_int(d, "xrc", srq->xrcd != NULL);
	if (srq->xrcd != NULL) {
		rte_tel_data_add_dict_uint(d, "srq_number", srq->number);
		rte_tel_data_add_dict_uint(d, "cq", srq->cq->ibv.handle);
	}
}

int
uroce_telemetry_srq(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	struct uroce_device *dev = &port->dev;
	struct uroce_srq *srq;
	uint64_t number;

	if (uroce_telemetry_number(argument, UINT32_MAX, &number) != 0)
		return -EINVAL;
	pthread_mutex_lock(&dev->lock);
	TAILQ_FOREACH(srq, &dev->srq_list, link)
		if (srq->ibv.handle == number)
			break;
	if (srq != NULL)
		srq_describe(srq, d);
	pthread_mutex_unlock(&dev->lock);
	return srq != NULL ? 0 : -ENOENT;
}
