/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The devices that IDs are bound to, each with a default PD while IDs are bound to it, and with the list of IDs that
 * get an event when the device is removed. Under uroce_cm_lock.
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#include "uroce.h"
#include "uroce_cma.h"
#include "uroce_config.h"
#include "cm/rdma/cma.h"

static LIST_HEAD(, uroce_cma_device) devices = LIST_HEAD_INITIALIZER(devices);

static struct uroce_cma_device *
device_create(struct uroce_device *dev)
{
	struct ibv_context *context = &dev->vctx.context;
	struct uroce_cma_device *device = calloc(1, sizeof(*device));
	struct ibv_device_attr attr;

	if (device == NULL)
		return NULL;
	device->pd = uroce_alloc_pd(context);
	if (device->pd == NULL || uroce_query_device(context, &attr) != 0) {
		if (device->pd != NULL)
			uroce_dealloc_pd(device->pd);
		free(device);
		return NULL;
	}
	device->dev = dev;
	LIST_INIT(&device->ids);
	/* below RDMA_MAX_RESP_RES and RDMA_MAX_INIT_DEPTH, which mean the device's maximum */
	device->max_responder_resources = (uint8_t)RTE_MIN(attr.max_qp_rd_atom,
							   RDMA_MAX_RESP_RES - 1);
	device->max_initiator_depth = (uint8_t)RTE_MIN(attr.max_qp_init_rd_atom,
						       RDMA_MAX_INIT_DEPTH - 1);
	LIST_INSERT_HEAD(&devices, device, link);
	return device;
}

struct uroce_cma_device *
uroce_cma_device_find(const struct uroce_device *dev)
{
	struct uroce_cma_device *device;

	LIST_FOREACH(device, &devices, link)
	if (device->dev == dev)
		break;
	return device;
}

int
uroce_cma_device_bind(struct uroce_cma_id *id, struct uroce_cm_agent *agent, uint8_t sgid_index)
{
	struct uroce_cma_device *device;

	if (id->device != NULL && id->device->dev != agent->dev)
		return -ENODEV;
	if (id->device == NULL) {
		device = uroce_cma_device_find(agent->dev);
		if (device == NULL)
			device = device_create(agent->dev);
		if (device == NULL)
			return -ENOMEM;
		id->device = device;
		LIST_INSERT_HEAD(&device->ids, id, device_link);
	}
	id->agent = agent;
	id->sgid_index = sgid_index;
	return 0;
}

void
uroce_cma_device_unbind(struct uroce_cma_id *id)
{
	struct uroce_cma_device *device = id->device;

	if (device == NULL)
		return;
	LIST_REMOVE(id, device_link);
	id->device = NULL;
	id->agent = NULL;
	if (!LIST_EMPTY(&device->ids))
		return;
	/* fails if the PD still has objects: then the device cannot be closed, either */
	(void)uroce_dealloc_pd(device->pd);
	LIST_REMOVE(device, link);
	free(device);
}

struct ibv_context **
uroce_rdma_get_devices(int *num_devices)
{
	const struct uroce_cm_agent *agent;
	struct ibv_context **list;
	int n = 0, ret = uroce_cm_users_get();

	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	list = calloc(UROCE_MAX_DEVICES + 1, sizeof(struct ibv_context *));
	if (list != NULL) {
		uroce_cma_lock();
		TAILQ_FOREACH(agent, &uroce_cm_agents, link)
			list[n++] = &agent->dev->vctx.context;
		uroce_cma_unlock();
		if (num_devices != NULL)
			*num_devices = n;
	}
	uroce_cm_users_put();
	return list;
}

void
uroce_rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
