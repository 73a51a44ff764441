/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Commands of the rdma_cm device that query the device, addresses, GIDs and paths of an ID. All of these are in the
 * public part of lib/cm's ID, which lib/cm's lock protects. Any thread of the program.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <infiniband/ib.h>
#include <infiniband/sa.h>
#include <rte_common.h>

#include "cm/rdma/cma.h"
#include "cm/rdma/cma_sockaddr.h"
#include "ucma/kern.h"
#include "ucma/ucma.h"
#include "ucma/ucma_abi.h"
#include "uroce.h"

#define PATH_SELECTOR 2u	/* the value is exact */

/* Get the GUID and the index by which librdmacm finds the ID's device among those of libibverbs. @return 0: none */
static uint64_t
device_of(const struct rdma_cm_id *cm, uint32_t *index)
{
	struct ibv_device_attr attr;

	*index = 0;
	if (cm->verbs == NULL || uroce_query_device(cm->verbs, &attr) != 0)
		return 0;
	*index = (uint32_t)uroce_get_device_index(cm->verbs->device);
	return attr.node_guid;
}

static void
put_route(const struct rdma_cm_id *cm, struct rdma_ucm_query_route_resp *resp)
{
	const struct rdma_ib_addr *ib = &cm->route.addr.addr.ibaddr;

	static_assert(sizeof(resp->src_addr) == sizeof(cm->route.addr.src_sin6), "either is struct sockaddr_in6");
	memcpy(&resp->src_addr, &cm->route.addr.src_sin6, sizeof(resp->src_addr));
	memcpy(&resp->dst_addr, &cm->route.addr.dst_sin6, sizeof(resp->dst_addr));
	resp->node_guid = device_of(cm, &resp->ibdev_index);
	if (resp->node_guid == 0)
		return;
	resp->port_num = cm->port_num;
	resp->num_paths = (uint32_t)cm->route.num_paths;
	if (resp->num_paths != 0) {
		ibv_copy_path_rec_to_kern(&resp->ib_route[0], cm->route.path_rec);
		return;
	}
	memcpy(resp->ib_route[0].sgid, ib->sgid.raw, sizeof(ib->sgid.raw));
	memcpy(resp->ib_route[0].dgid, ib->dgid.raw, sizeof(ib->dgid.raw));
	resp->ib_route[0].pkey = ib->pkey;
}

int
uroce_ucma_query_route(struct uroce_ucma_file *file, const void *arg, uint32_t room)
{
	const struct rdma_ucm_query *cmd = arg;
	struct rdma_ucm_query_route_resp resp = { .node_guid = 0 };
	struct uroce_ucma_id *id;
	int ret = uroce_ucma_id_get(file, cmd->id, &id);

	if (ret != 0)
		return ret;
	uroce_cma_lock();
	put_route(id->cm, &resp);
	uroce_cma_unlock();
	uroce_ucma_id_put(id);
	memcpy(uroce_ucma_user(cmd->response), &resp, RTE_MIN(room, sizeof(resp)));
	return 0;
}

static void
put_device(const struct rdma_cm_id *cm, struct rdma_ucm_query_addr_resp *resp)
{
	resp->node_guid = device_of(cm, &resp->ibdev_index);
	if (resp->node_guid == 0)
		return;
	resp->port_num = cm->port_num;
	resp->pkey = cm->route.addr.addr.ibaddr.pkey;
}

static void
put_addresses(const struct rdma_cm_id *cm, struct rdma_ucm_query_addr_resp *resp)
{
	resp->src_size = (uint16_t)uroce_cma_addr_len(&cm->route.addr.src_addr);
	resp->dst_size = (uint16_t)uroce_cma_addr_len(&cm->route.addr.dst_addr);
	memcpy(&resp->src_addr, &cm->route.addr.src_storage, sizeof(resp->src_addr));
	memcpy(&resp->dst_addr, &cm->route.addr.dst_storage, sizeof(resp->dst_addr));
}

static uint16_t
put_gid(const struct rdma_cm_id *cm, const union ibv_gid *gid, __be16 port, struct __kernel_sockaddr_storage *to)
{
	struct sockaddr_ib ib = { .sib_family = AF_IB };

	ib.sib_pkey = cm->route.addr.addr.ibaddr.pkey;
	memcpy(ib.sib_addr.sib_raw, gid->raw, sizeof(gid->raw));
	ib.sib_sid = htobe64(uroce_cma_service_id(cm->ps, port));
	ib.sib_sid_mask = htobe64(UINT64_MAX);
	static_assert(sizeof(ib) <= sizeof(*to), "an address of AF_IB is one of them");
	memcpy(to, &ib, sizeof(ib));
	return sizeof(ib);
}

static void
put_gids(const struct rdma_cm_id *cm, struct rdma_ucm_query_addr_resp *resp)
{
	const struct rdma_ib_addr *ib = &cm->route.addr.addr.ibaddr;

	resp->src_size = put_gid(cm, &ib->sgid, uroce_cma_addr_port(&cm->route.addr.src_addr), &resp->src_addr);
	resp->dst_size = put_gid(cm, &ib->dgid, uroce_cma_addr_port(&cm->route.addr.dst_addr), &resp->dst_addr);
}

/* Convert a path to the format of a subnet administrator's reply. */
static void
put_path(const struct ibv_sa_path_rec *rec, struct ibv_path_data *path)
{
	*path = (struct ibv_path_data){
		.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL,
		.path = {
			.dgid = rec->dgid,
			.sgid = rec->sgid,
			.dlid = rec->dlid,
			.slid = rec->slid,
			.flowlabel_hoplimit = htobe32(be32toh(rec->flow_label) << 8 | rec->hop_limit),
			.tclass = rec->traffic_class,
			.reversible_numpath = (uint8_t)(rec->reversible << 7 | rec->numb_path),
			.pkey = rec->pkey,
			.qosclass_sl = htobe16(rec->sl),
			.mtu = (uint8_t)(PATH_SELECTOR << 6 | rec->mtu),
			.rate = (uint8_t)(PATH_SELECTOR << 6 | rec->rate),
			.packetlifetime = (uint8_t)(PATH_SELECTOR << 6 | rec->packet_life_time),
			.preference = rec->preference,
		},
	};
}

/* @return bytes of the answer */
static size_t
query_path(const struct rdma_cm_id *cm, uint8_t *answer, uint32_t room)
{
	const struct rdma_ucm_query_path_resp resp = { .num_paths = (uint32_t)cm->route.num_paths };
	struct ibv_path_data path;

	static_assert(sizeof(path) == sizeof(resp.path_data[0]), "path_rec is a path record");
	memcpy(answer, &resp, sizeof(resp));
	if (resp.num_paths == 0 || room < sizeof(resp) + sizeof(path))
		return sizeof(resp);
	put_path(cm->route.path_rec, &path);
	memcpy(answer + sizeof(resp), &path, sizeof(path));
	return sizeof(resp) + sizeof(path);
}

/* No service was resolved: see uroce_ucma_resolve_ib_service(). @return bytes of the answer */
static size_t
query_ib_service(uint8_t *answer)
{
	const struct uroce_ucma_query_ib_service_resp resp = { .num_service_recs = 0 };

	memcpy(answer, &resp, sizeof(resp));
	return sizeof(resp);
}

/* @return bytes of the answer, or -errno */
static int
query(const struct rdma_cm_id *cm, uint32_t option, uint8_t *answer, uint32_t room)
{
	struct rdma_ucm_query_addr_resp resp = { .node_guid = 0 };

	if (option == RDMA_USER_CM_QUERY_PATH)
		return (int)query_path(cm, answer, room);
	if (option == UROCE_UCMA_QUERY_IB_SERVICE)
		return (int)query_ib_service(answer);
	if (option != RDMA_USER_CM_QUERY_ADDR && option != RDMA_USER_CM_QUERY_GID)
		return -ENOSYS;
	if (room < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	put_device(cm, &resp);
	if (option == RDMA_USER_CM_QUERY_ADDR)
		put_addresses(cm, &resp);
	else
		put_gids(cm, &resp);
	memcpy(answer, &resp, sizeof(resp));
	return sizeof(resp);
}

int
uroce_ucma_query(struct uroce_ucma_file *file, const void *arg, uint32_t room)
{
	const struct rdma_ucm_query *cmd = arg;
	uint8_t answer[sizeof(struct rdma_ucm_query_addr_resp)];
	struct uroce_ucma_id *id;
	int bytes, ret = uroce_ucma_id_get(file, cmd->id, &id);

	static_assert(sizeof(answer) >= sizeof(struct rdma_ucm_query_path_resp) + sizeof(struct ib_path_rec_data),
		      "the longest answer");
	if (ret != 0)
		return ret;
	uroce_cma_lock();
	bytes = query(id->cm, cmd->option, answer, room);
	uroce_cma_unlock();
	uroce_ucma_id_put(id);
	if (bytes < 0)
		return bytes;
	memcpy(uroce_ucma_user(cmd->response), answer, RTE_MIN(room, (uint32_t)bytes));
	return 0;
}
