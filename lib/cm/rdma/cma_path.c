/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Computes the path of an ID's route, for the communication manager and for an address handle, and updates the public
 * part of an ID. Under uroce_cm_lock.
 */

#include <stdlib.h>
#include <string.h>

#include "uroce.h"
#include "uroce_cma.h"
#include "uroce_config.h"
#include "cm/rdma/cma.h"
#include "cm/rdma/cma_sockaddr.h"

void
uroce_cma_path(const struct uroce_cma_id *id, struct uroce_cm_path *path)
{
	struct ibv_port_attr port = { .active_mtu = IBV_MTU_1024 };

	memset(path, 0, sizeof(*path));
	uroce_cma_addr_to_gid((const struct sockaddr *)&id->src, &path->sgid);
	uroce_cma_addr_to_gid((const struct sockaddr *)&id->dst, &path->dgid);
	(void)uroce_query_port(&id->device->dev->vctx.context, 1, &port);
	path->sgid_index = id->sgid_index;
	path->traffic_class = id->tos;
	path->hop_limit = UROCE_CMA_HOP_LIMIT;
	path->pkey = UROCE_CMA_PKEY;
	path->mtu = (uint8_t)port.active_mtu;
	path->packet_life_time = UROCE_CMA_PACKET_LIFE_TIME;
	/* the QP's timeout is twice the lifetime */
	if (id->timeout_set && id->timeout > 0)
		path->packet_life_time = id->timeout - 1;
}

void
uroce_cma_ah_attr(const struct uroce_cma_id *id, struct ibv_ah_attr *attr)
{
	struct uroce_cm_path path;

	uroce_cma_path(id, &path);
	memset(attr, 0, sizeof(*attr));
	attr->is_global = 1;
	attr->port_num = 1;
	attr->sl = path.sl;
	attr->grh.dgid = path.dgid;
	attr->grh.sgid_index = path.sgid_index;
	attr->grh.flow_label = path.flow_label;
	attr->grh.hop_limit = path.hop_limit;
	attr->grh.traffic_class = path.traffic_class;
}

/* @return the only path of a RoCE route; NULL: no memory */
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
