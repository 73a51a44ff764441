/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Destroys IDs once no call uses them and their events are acknowledged, moves IDs between channels, and removes IDs
 * from a removed device. Any thread.
 */

#include <errno.h>

#include <rte_common.h>

#include "uroce_cma.h"
#include "cm/rdma/cma.h"

/* Stop everything that the ID does on its device. The device's communication manager may run on, and must not have a
 * pointer to the ID any more. Lock held. */
static void
leave_device(struct uroce_cma_id *id, enum uroce_cma_state state)
{
	uroce_cma_resolve_cancel(id);
	uroce_cma_mcasts_leave(id);
	if (id->conn != NULL)
		uroce_cm_conn_destroy(id->conn, uroce_cm_now(id->agent));
	id->conn = NULL;
	id->state = state;
}

int
uroce_rdma_destroy_id(struct rdma_cm_id *ibv)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);

	uroce_cma_event_kept_ack(ibv);
	uroce_cma_lock();
	while (id->calls != 0)
		pthread_cond_wait(&id->cond, &uroce_cm_lock);
	id->leaving = true;
	leave_device(id, UROCE_CMA_IDLE);
	if (id->port != NULL)
		uroce_cma_port_unbind(id);
	uroce_cma_events_forget(id);
	uroce_cm_kick(id->agent);
	uroce_cma_device_unbind(id);
	uroce_cma_unlock();
	uroce_cma_mcasts_free(id);
	uroce_cma_id_free(id);
	uroce_cm_users_put();
	return 0;
}

int
uroce_rdma_migrate_id(struct rdma_cm_id *ibv, struct rdma_event_channel *channel)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);
	const bool was_sync = id->sync;
	struct uroce_cma_channel *to;
	uint32_t got;

	if (was_sync && channel == NULL)
		return uroce_cma_return(-EINVAL);
	to = channel != NULL ? uroce_cma_channel_of(channel) : uroce_cma_channel_create();
	if (to == NULL)
		return -1;
	if (was_sync)
		uroce_cma_event_kept_ack(ibv);
	uroce_cma_lock();
	got = uroce_cma_events_move(id, to);
	id->sync = channel == NULL;
	/* threads that got events from the old channel acknowledge them before this returns */
	while ((int32_t)(got - id->acked) > 0)
		pthread_cond_wait(&id->cond, &uroce_cm_lock);
	uroce_cma_unlock();
	if (channel == NULL)
		uroce_cma_channel_put(to); /* the ID is its only user */
	return 0;
}

void
uroce_cma_device_gone(struct uroce_cm_agent *agent)
{
	struct uroce_cma_device *device;
	struct uroce_cma_id *id;

	TAILQ_REMOVE(&uroce_cm_agents, agent, link);
	uroce_cma_ports_forget(agent);
	device = uroce_cma_device_find(agent->dev);
	if (device == NULL)
		return;
	LIST_FOREACH(id, &device->ids, device_link)
	{
		if (id->agent != agent)
			continue;
		leave_device(id, UROCE_CMA_REMOVED);
		id->agent = NULL;
		uroce_cma_event_simple(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, UROCE_CMA_NONE);
	}
}

void
uroce_cma_device_come(struct uroce_cm_agent *agent)
{
	TAILQ_INSERT_TAIL(&uroce_cm_agents, agent, link);
	uroce_cma_ports_sync();
}
