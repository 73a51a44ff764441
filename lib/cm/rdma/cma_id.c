/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates IDs for the application or for a request, migrates them between channels, and destroys them once no call
 * uses them and their events are acknowledged. Any thread.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "uroce.h"
#include "uroce_cma.h"
#include "uroce_config.h"
#include "cm/rdma/cma.h"
#include "cm/rdma/cma_sockaddr.h"
#include "base/random.h"
#include "wire/psn.h"

void
uroce_cma_call_suspend(struct uroce_cma_id *id)
{
	id->calls++;
	uroce_cma_unlock();
}

void
uroce_cma_call_resume(struct uroce_cma_id *id)
{
	uroce_cma_lock();
	id->calls--;
	pthread_cond_broadcast(&id->cond);
}

static struct uroce_cma_id *
id_alloc(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
	 enum ibv_qp_type qp_type)
{
	struct uroce_cma_id *id = calloc(1, sizeof(*id));

	if (id == NULL)
		return NULL;
	uroce_cma_channel_get(uroce_cma_channel_of(channel));
	id->id.channel = channel;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	STAILQ_INIT(&id->events);
	LIST_INIT(&id->mcasts);
	id->starting_psn = (uint32_t)uroce_random() & UROCE_PSN_MASK;
	pthread_cond_init(&id->cond, NULL);
	return id;
}

static void
id_free(struct uroce_cma_id *id)
{
	uroce_cma_mcasts_free(id);
	uroce_cma_channel_put(uroce_cma_channel_of(id->id.channel));
	pthread_cond_destroy(&id->cond);
	free(id->id.route.path_rec);
	free(id->init_attr);
	free(id->connect_data);
	free(id);
}

static bool
port_space_known(enum rdma_port_space ps)
{
	return ps == RDMA_PS_TCP || ps == RDMA_PS_UDP || ps == RDMA_PS_IB;
}

int
uroce_cma_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		    enum ibv_qp_type qp_type, struct uroce_cma_id **created)
{
	struct uroce_cma_channel *own = NULL;
	struct uroce_cma_id *id;
	int ret;

	/* RDMA_PS_IPOIB is InfiniBand's only */
	if (!port_space_known(ps))
		return ps == RDMA_PS_IPOIB ? -EPROTONOSUPPORT : -EINVAL;
	ret = uroce_cma_users_get();
	if (ret != 0)
		return ret;
	if (channel == NULL) {
		own = uroce_cma_channel_create();
		if (own == NULL) {
			ret = -errno;
			goto put_user;
		}
		channel = &own->ibv;
	}
	id = id_alloc(channel, context, ps, qp_type);
	if (own != NULL)
		uroce_cma_channel_put(own); /* the ID's alone */
	if (id == NULL) {
		ret = -ENOMEM;
		goto put_user;
	}
	id->sync = own != NULL;
	id->answered = true;
	*created = id;
	return 0;

put_user:
	uroce_cma_users_put();
	return ret;
}

struct uroce_cma_id *
uroce_cma_id_create_passive(struct uroce_cma_id *listener)
{
	struct uroce_cma_id *id = id_alloc(listener->id.channel, listener->id.context,
					   listener->id.ps, listener->id.qp_type);

	if (id == NULL)
		return NULL;
	id->passive = true;
	id->state = UROCE_CMA_CONNECT;
	id->tos = listener->tos;
	id->timeout_set = listener->timeout_set;
	id->timeout = listener->timeout;
	id->afonly = listener->afonly;
	uroce_cma_users_more();
	return id;
}

int
uroce_rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		     enum rdma_port_space ps)
{
	const bool ud = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;
	struct uroce_cma_id *created = NULL;
	int ret = uroce_cma_id_create(channel, context, ps, ud ? IBV_QPT_UD : IBV_QPT_RC, &created);

	if (ret == 0)
		*id = &created->id;
	return uroce_cma_return(ret);
}

/* Nothing leads to it any more. */
static void
id_detach(struct uroce_cma_id *id)
{
	id->leaving = true;
	uroce_cma_resolve_cancel(id);
	id->state = UROCE_CMA_IDLE;
	if (id->port != NULL)
		uroce_cma_port_unbind(id);
	uroce_cma_mcasts_leave(id);
	if (id->conn != NULL)
		uroce_cm_conn_destroy(id->conn, uroce_cm_service()->now_ns());
	id->conn = NULL;
}

void
uroce_cma_id_discard(struct uroce_cma_id *id)
{
	id_detach(id);
	uroce_cma_device_unbind(id);
	uroce_cma_users_less();
	id_free(id);
}

void
uroce_cma_id_set_channel(struct uroce_cma_id *id, struct uroce_cma_channel *to)
{
	struct uroce_cma_channel *from = uroce_cma_channel_of(id->id.channel);

	uroce_cma_channel_get(to);
	id->id.channel = &to->ibv;
	uroce_cma_channel_put(from);
}

int
uroce_rdma_destroy_id(struct rdma_cm_id *ibv)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);

	if (ibv->event != NULL) {
		(void)uroce_rdma_ack_cm_event(ibv->event);
		ibv->event = NULL;
	}
	uroce_cma_lock();
	while (id->calls != 0)
		pthread_cond_wait(&id->cond, &uroce_cm_lock);
	id_detach(id);
	uroce_cma_events_forget(id);
	uroce_cma_device_unbind(id);
	uroce_cma_unlock();
	uroce_cm_service()->kick();
	id_free(id);
	uroce_cma_users_put();
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
	if (was_sync && ibv->event != NULL) {
		(void)uroce_rdma_ack_cm_event(ibv->event);
		ibv->event = NULL;
	}
	uroce_cma_lock();
	got = uroce_cma_events_move(id, to);
	id->sync = channel == NULL;
	/* whoever got events from the old channel is done with them before we return */
	while ((int32_t)(got - id->acked) > 0)
		pthread_cond_wait(&id->cond, &uroce_cm_lock);
	uroce_cma_unlock();
	if (channel == NULL)
		uroce_cma_channel_put(to); /* the ID's alone */
	return 0;
}

/* The one path of a RoCE route. */
static struct ibv_sa_path_rec *
path_record(const struct uroce_cma_id *id)
{
	struct ibv_sa_path_rec *rec = calloc(1, sizeof(*rec));
	struct uroce_cm_path path;

	if (rec == NULL)
		return NULL;
	uroce_cma_path(id, &path);
	rec->dgid = path.dgid;
	rec->sgid = path.sgid;
	rec->flow_label = htobe32(path.flow_label);
	rec->hop_limit = path.hop_limit;
	rec->traffic_class = path.traffic_class;
	rec->reversible = 1;
	rec->numb_path = 1;
	rec->pkey = htobe16(path.pkey);
	rec->sl = path.sl;
	rec->mtu_selector = 2; /* exactly */
	rec->mtu = path.mtu;
	rec->rate_selector = 2;
	rec->packet_life_time_selector = 2;
	rec->packet_life_time = path.packet_life_time;
	return rec;
}

static void
publish_device(struct uroce_cma_id *id)
{
	struct rdma_cm_id *ibv = &id->id;

	if (ibv->verbs == NULL) {
		ibv->verbs = &id->device->dev->vctx.context;
		ibv->pd = id->device->pd;
	}
	ibv->port_num = 1;
	ibv->route.addr.addr.ibaddr.pkey = htobe16(UROCE_CMA_PKEY);
	uroce_cma_addr_to_gid(uroce_cma_src(id), &ibv->route.addr.addr.ibaddr.sgid);
	if (id->dst.ss_family != 0)
		uroce_cma_addr_to_gid(uroce_cma_dst(id), &ibv->route.addr.addr.ibaddr.dgid);
}

void
uroce_cma_id_publish(struct uroce_cma_id *id)
{
	struct rdma_cm_id *ibv = &id->id;

	memcpy(&ibv->route.addr.src_storage, &id->src, sizeof(id->src));
	memcpy(&ibv->route.addr.dst_storage, &id->dst, sizeof(id->dst));
	if (id->device == NULL || id->agent == NULL)
		return;
	publish_device(id);
	if (ibv->route.num_paths == 0 && id->state >= UROCE_CMA_ROUTE_RESOLVED &&
	    id->state != UROCE_CMA_LISTEN) {
		ibv->route.path_rec = path_record(id);
		ibv->route.num_paths = ibv->route.path_rec != NULL;
	}
}

__be16
uroce_rdma_get_src_port(struct rdma_cm_id *id)
{
	return uroce_cma_addr_port(&id->route.addr.src_addr);
}

__be16
uroce_rdma_get_dst_port(struct rdma_cm_id *id)
{
	return uroce_cma_addr_port(&id->route.addr.dst_addr);
}
