/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * rdma_join_multicast(3): converts the address to the group's GID and joins the device to the group; the thread that
 * gets the event attaches the ID's QP. Application threads.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "uroce.h"
#include "uroce_cma.h"
#include "uroce_config.h"
#include "cm/rdma/cma.h"
#include "cm/rdma/cma_sockaddr.h"

/* Lock held. */
static void
leave(struct uroce_cma_mcast *mcast)
{
	struct uroce_cm_agent *agent = mcast->id->agent;

	if (mcast->joined && agent != NULL && agent->dev->ops.port->mcast_leave != NULL)
		agent->dev->ops.port->mcast_leave(agent->dev, &mcast->mgid);
	mcast->joined = false;
}

static int
join(struct uroce_cma_mcast *mcast)
{
	struct uroce_cm_agent *agent = mcast->id->agent;
	int ret;

	/* a sender needs no membership */
	if (mcast->send_only)
		return 0;
	if (agent->dev->ops.port->mcast_join == NULL)
		return -EOPNOTSUPP;
	ret = agent->dev->ops.port->mcast_join(agent->dev, &mcast->mgid);
	mcast->joined = ret == 0;
	return ret;
}

static int
post_joined(struct uroce_cma_mcast *mcast)
{
	struct uroce_cma_id *id = mcast->id;
	struct uroce_cma_event *event = uroce_cma_event_new(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	struct rdma_ud_param *param;

	if (event == NULL)
		return -ENOMEM;
	param = &event->event.param.ud;
	param->private_data = mcast->context;
	uroce_cma_ah_attr(id, &param->ah_attr);
	param->ah_attr.grh.dgid = mcast->mgid;
	param->qp_num = UROCE_CMA_MCAST_QPN;
	param->qkey = UROCE_CMA_QKEY;
	event->mcast = mcast;
	event->action = UROCE_CMA_JOINED;
	mcast->pending = true;
	return uroce_cma_event_post(event) ? 0 : -ENOMEM;
}

static struct uroce_cma_mcast *
find(struct uroce_cma_id *id, const struct sockaddr *addr)
{
	struct uroce_cma_mcast *mcast;

	LIST_FOREACH(mcast, &id->mcasts, link)
	if (uroce_cma_addr_same((const struct sockaddr *)&mcast->addr, addr))
		return mcast;
	return NULL;
}

static int
start_joining(struct uroce_cma_id *id, struct uroce_cma_mcast *mcast)
{
	int ret;

	if (id->agent == NULL || !uroce_cma_is_ud(id) ||
	    (id->state != UROCE_CMA_BOUND && id->state != UROCE_CMA_ADDR_RESOLVED &&
	     id->state != UROCE_CMA_ROUTE_RESOLVED))
		return -EINVAL;
	if (find(id, (const struct sockaddr *)&mcast->addr) != NULL)
		return -EADDRINUSE;
	LIST_INSERT_HEAD(&id->mcasts, mcast, link);
	ret = join(mcast);
	if (ret == 0)
		ret = post_joined(mcast);
	if (ret != 0) {
		leave(mcast);
		LIST_REMOVE(mcast, link);
	}
	return ret;
}

static int
join_group(struct uroce_cma_id *id, const struct sockaddr *addr, bool send_only, void *context)
{
	struct uroce_cma_mcast *mcast;
	int ret;

	if (uroce_cma_addr_len(addr) == 0 || !uroce_cma_addr_multicast(addr))
		return -EINVAL;
	mcast = calloc(1, sizeof(*mcast));
	if (mcast == NULL)
		return -ENOMEM;
	mcast->id = id;
	mcast->context = context;
	mcast->send_only = send_only;
	memcpy(&mcast->addr, addr, uroce_cma_addr_len(addr));
	uroce_cma_addr_to_gid(addr, &mcast->mgid);
	uroce_cma_lock();
	ret = start_joining(id, mcast);
	uroce_cma_unlock();
	if (ret != 0) {
		free(mcast);
		return ret;
	}
	return uroce_cma_complete(id);
}

int
uroce_rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	return uroce_cma_return(join_group(uroce_cma_id_of(id), addr, false, context));
}

int
uroce_rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
			     void *context)
{
	const uint32_t known = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (attr->comp_mask & ~known)
		return uroce_cma_return(-EOPNOTSUPP);
	if (attr->comp_mask != known || attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return uroce_cma_return(-EINVAL);
	return uroce_cma_return(
		join_group(uroce_cma_id_of(id), attr->addr,
			   attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, context));
}

static void
detach(struct uroce_cma_mcast *mcast)
{
	if (mcast->attached && mcast->id->id.qp != NULL)
		(void)uroce_detach_mcast(mcast->id->id.qp, &mcast->mgid, 0);
	mcast->attached = false;
}

/* Free a group that is in no list any more. Lock held, released while an event of it is not acknowledged. */
static void
forget(struct uroce_cma_mcast *mcast)
{
	struct uroce_cma_id *id = mcast->id;

	leave(mcast);
	if (mcast->pending && uroce_cma_events_remove(id, mcast))
		mcast->pending = false;
	while (mcast->pending)
		pthread_cond_wait(&id->cond, &uroce_cm_lock);
	uroce_cma_unlock();
	detach(mcast);
	uroce_cma_lock();
	free(mcast);
}

int
uroce_rdma_leave_multicast(struct rdma_cm_id *ibv, struct sockaddr *addr)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);
	struct uroce_cma_mcast *mcast;
	int ret = -EADDRNOTAVAIL;

	if (uroce_cma_addr_len(addr) == 0)
		return uroce_cma_return(-EINVAL);
	/* a synchronous ID keeps its last event only for the application to read */
	if (id->sync)
		uroce_cma_event_kept_ack(ibv);
	uroce_cma_lock();
	mcast = find(id, addr);
	if (mcast != NULL) {
		LIST_REMOVE(mcast, link);
		forget(mcast);
		ret = 0;
	}
	uroce_cma_unlock();
	return uroce_cma_return(ret);
}

void
uroce_cma_mcasts_leave(struct uroce_cma_id *id)
{
	struct uroce_cma_mcast *mcast;

	LIST_FOREACH(mcast, &id->mcasts, link)
	leave(mcast);
}

void
uroce_cma_mcasts_detach(struct uroce_cma_id *id)
{
	struct uroce_cma_mcast *mcast;

	LIST_FOREACH(mcast, &id->mcasts, link)
	detach(mcast);
}

void
uroce_cma_mcasts_free(struct uroce_cma_id *id)
{
	struct uroce_cma_mcast *mcast;

	while ((mcast = LIST_FIRST(&id->mcasts)) != NULL) {
		LIST_REMOVE(mcast, link);
		free(mcast);
	}
}
