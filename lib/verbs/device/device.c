/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates and frees a device with its tables and its context, which the inline calls of <infiniband/verbs.h> use.
 * Nothing else in lib/verbs calls this file. Control threads.
 */

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "uroce.h"
#include "uroce_config.h"
#include "base/rcu.h"
#include "verbs/address/ah.h"
#include "verbs/cq/cq.h"
#include "verbs/device/congestion.h"
#include "verbs/device/context.h"
#include "verbs/device/device.h"
#include "verbs/internal.h"
#include "verbs/srq/srq.h"

static int
check_conf(const struct uroce_device_conf *conf)
{
	if (conf->name == NULL || conf->name[0] == '\0' || strlen(conf->name) >= IBV_SYSFS_NAME_MAX)
		return -EINVAL;
	if (conf->log2_max_qp > UROCE_LOG2_LIMIT_QP || conf->log2_max_mr > UROCE_LOG2_LIMIT_MR)
		return -EINVAL;
	return 0;
}

static void
fill_ibv_device(struct ibv_device *ibv, const char *name, unsigned int index)
{
	ibv->node_type = IBV_NODE_CA;
	ibv->transport_type = IBV_TRANSPORT_IB;
	snprintf(ibv->name, sizeof(ibv->name), "%s", name);
	snprintf(ibv->dev_name, sizeof(ibv->dev_name), "uverbs%u", index);
	snprintf(ibv->dev_path, sizeof(ibv->dev_path), "/sys/class/infiniband_verbs/%s", ibv->dev_name);
	snprintf(ibv->ibdev_path, sizeof(ibv->ibdev_path), "/sys/class/infiniband/%s", name);
}

static void
fill_context(struct uroce_device *dev, unsigned int comp_vectors)
{
	struct verbs_context *vctx = &dev->vctx;
	struct ibv_context *context = &vctx->context;

	vctx->sz = sizeof(*vctx);
	vctx->priv = (struct verbs_ex_private *)dev;
	vctx->query_port = uroce_query_port_sized;
	vctx->query_device_ex = uroce_query_device_ex_sized;
	vctx->create_srq_ex = uroce_create_srq_ex;
	vctx->get_srq_num = uroce_get_srq_num;
	vctx->alloc_null_mr = uroce_alloc_null_mr;
	vctx->advise_mr = uroce_advise_mr;
	vctx->alloc_td = uroce_alloc_td;
	vctx->dealloc_td = uroce_dealloc_td;
	vctx->alloc_parent_domain = uroce_alloc_parent_domain;
	vctx->open_xrcd = uroce_open_xrcd;
	vctx->close_xrcd = uroce_close_xrcd;
	vctx->open_qp = uroce_open_qp;
	vctx->create_cq_ex = uroce_create_cq_ex;
	vctx->create_qp_ex = uroce_create_qp_ex;
	vctx->modify_cq = uroce_modify_cq;
	vctx->query_rt_values = uroce_query_rt_values_ex;
	context->device = &dev->ibv;
	context->ops._compat_query_device = uroce_query_device;
	context->ops._compat_query_port = uroce_context_query_port_compat;
	context->ops.poll_cq = uroce_poll_cq;
	context->ops.req_notify_cq = uroce_req_notify_cq;
	context->ops.alloc_mw = uroce_alloc_mw;
	context->ops.bind_mw = uroce_bind_mw;
	context->ops.dealloc_mw = uroce_dealloc_mw;
	context->ops.post_send = uroce_post_send;
	context->ops.post_recv = uroce_post_recv;
	context->ops.post_srq_recv = uroce_post_srq_recv;
	context->cmd_fd = -1;
	context->async_fd = dev->events.fd;
	context->num_comp_vectors = (int)RTE_MAX(comp_vectors, 1u);
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&context->mutex, NULL);
}

static int
init_qps(struct uroce_device *dev, unsigned int log2)
{
	struct uroce_qps *qps = &dev->qps;
	int ret = uroce_slots_init(&qps->slots, log2, 24);

	if (ret != 0)
		return ret;
	qps->log2 = log2;
	qps->qps = uroce_device_alloc(dev, "uroce_qps", sizeof(qps->qps[0]) << log2);
	if (qps->qps == NULL) {
		uroce_slots_fini(&qps->slots);
		return -ENOMEM;
	}
	return 0;
}

int
uroce_device_init(struct uroce_device *dev, const struct uroce_device_ops *ops,
		  const struct uroce_device_conf *conf)
{
	int ret = check_conf(conf);

	if (ret != 0)
		return ret;
	dev->ops = *ops;
	LIST_INIT(&dev->dead_ahs);
	TAILQ_INIT(&dev->cqs);
	TAILQ_INIT(&dev->srq_list);
	dev->node_guid = conf->node_guid;
	dev->index = conf->index;
	dev->port_id = conf->port_id;
	dev->vlan = conf->vlan;
	dev->log2_window = (uint8_t)(conf->log2_window != 0 ? conf->log2_window : UROCE_LOG2_WINDOW);
	dev->max_cq = conf->max_cq != 0 ? conf->max_cq : UROCE_MAX_CQ;
	dev->go_back_n = conf->go_back_n;
	dev->poll_progress = conf->poll_progress;
	dev->numa_node = conf->numa_node;
	ret = uroce_rcu_init();
	if (ret != 0)
		return ret;
	ret = uroce_congestion_init(dev, conf->congestion);
	if (ret != 0)
		return ret;
	ret = uroce_mrs_init(&dev->mrs, conf->log2_max_mr ? conf->log2_max_mr : UROCE_LOG2_MAX_MR,
			     dev->numa_node);
	if (ret != 0)
		goto fini_congestion;
	ret = init_qps(dev, conf->log2_max_qp ? conf->log2_max_qp : UROCE_LOG2_MAX_QP);
	if (ret != 0)
		goto fini_mrs;
	ret = uroce_srqs_init(dev);
	if (ret != 0)
		goto fini_qps;
	ret = uroce_event_queue_init(&dev->events, sizeof(struct ibv_async_event),
				     uroce_async_event_refs);
	if (ret != 0)
		goto fini_srqs;
	LIST_INIT(&dev->xrc_domains);
	LIST_INIT(&dev->contexts);
	pthread_mutex_init(&dev->contexts_lock, NULL);
	pthread_mutex_init(&dev->lock, NULL);
	pthread_rwlock_init(&dev->engines_lock, NULL);
	uroce_mcast_init(&dev->mcast);
	fill_ibv_device(&dev->ibv, conf->name, conf->index);
	fill_context(dev, conf->comp_vectors);
	return 0;

fini_srqs:
	uroce_srqs_fini(dev);
fini_qps:
	rte_free(dev->qps.qps);
	uroce_slots_fini(&dev->qps.slots);
fini_mrs:
	uroce_mrs_fini(&dev->mrs);
fini_congestion:
	uroce_congestion_fini(dev);
	return ret;
}

int
uroce_device_fini(struct uroce_device *dev)
{
	bool busy;

	uroce_ahs_reap(dev);
	pthread_mutex_lock(&dev->lock);
	busy = (dev->pd_count | dev->cq_count | dev->qp_count | dev->srq_count | dev->ah_count |
		dev->xrcd_count | dev->channel_count | dev->context_count) != 0;
	pthread_mutex_unlock(&dev->lock);
	if (busy)
		return -EBUSY;
	pthread_mutex_destroy(&dev->vctx.context.mutex);
	uroce_mcast_fini(&dev->mcast);
	pthread_mutex_destroy(&dev->lock);
	pthread_rwlock_destroy(&dev->engines_lock);
	pthread_mutex_destroy(&dev->contexts_lock);
	uroce_event_queue_fini(&dev->events);
	uroce_srqs_fini(dev);
	rte_free(dev->qps.qps);
	uroce_slots_fini(&dev->qps.slots);
	uroce_mrs_fini(&dev->mrs);
	uroce_congestion_fini(dev);
	return 0;
}

/* Nothing to do: the library uses memory by the process's own addresses, or DPDK's memory, which a fork shares. */
int
uroce_fork_init(void)
{
	return 0;
}

enum ibv_fork_status
uroce_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
