/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The device operations of the simulation, in place of lib/port.
 */

#include <errno.h>
#include <string.h>

#include "end.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/gid.h"
#include "world.h"


static struct end *
end_of(struct uroce_device *dev)
{
	return container_of(dev, struct end, device);
}

static int
op_qp_attach(struct uroce_qp *qp)
{
	qp->engine = &end_of(qp->dev)->engine;
	return 0;
}

static void
op_engine_enter(struct uroce_engine *engine)
{
	(void)engine;
}

/* The network takes frames for a group to every end: who is in it finds out when they come. */
static int
op_mcast_join(struct uroce_device *dev, const union ibv_gid *mgid)
{
	(void)dev;
	(void)mgid;
	return 0;
}

static void
op_mcast_leave(struct uroce_device *dev, const union ibv_gid *mgid)
{
	(void)dev;
	(void)mgid;
}

static int
op_path_init(struct uroce_device *dev, const struct ibv_ah_attr *attr, uint32_t local_qpn,
	     uint32_t remote_qpn, struct uroce_path *path)
{
	const struct end *e = end_of(dev);
	struct uroce_template_conf conf = {
		.src_mac.addr_bytes = { 2, 0, 0, 0, 0, (uint8_t)e->index },
		.dst_mac.addr_bytes = { 2, 0, 0, 0, 0, attr->grh.dgid.raw[15] },
		.vlan_tci = e->world->conf.vlan ? END_VLAN_TCI : UROCE_NO_VLAN,
		.traffic_class = attr->grh.traffic_class,
		.hop_limit = attr->grh.hop_limit,
		.flow_label = attr->grh.flow_label,
		.udp_src_port = uroce_udp_src_port(attr->grh.flow_label, local_qpn, remote_qpn),
	};

	if (uroce_gid_is_multicast(attr->grh.dgid.raw))
		conf.dst_mac.addr_bytes[0] |= RTE_ETHER_GROUP_ADDR;
	memset(path, 0, sizeof(*path));
	path->sgid = e->gid;
	path->dgid = attr->grh.dgid;
	path->multi_seg = e->world->conf.multi_seg;
	path->set_up = true;
	memcpy(conf.src_gid, path->sgid.raw, sizeof(conf.src_gid));
	memcpy(conf.dst_gid, path->dgid.raw, sizeof(conf.dst_gid));
	return uroce_template_init(&path->headers, &conf);
}

static void
op_path_fini(struct uroce_device *dev, struct uroce_path *path)
{
	(void)dev;
	path->set_up = false;
}

static void
op_progress(struct uroce_device *dev)
{
	end_release(end_of(dev), UINT64_MAX);
}

static int
op_query_port(struct uroce_device *dev, struct ibv_port_attr *attr)
{
	(void)dev;
	attr->state = IBV_PORT_ACTIVE;
	attr->max_mtu = IBV_MTU_4096;
	attr->active_mtu = IBV_MTU_4096;
	attr->gid_tbl_len = 1;
	attr->max_msg_sz = UROCE_MAX_MSG_BYTES;
	attr->pkey_tbl_len = 1;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	return 0;
}

static int
op_query_gid(struct uroce_device *dev, unsigned int index, struct ibv_gid_entry *entry)
{
	if (index != 0)
		return -EINVAL;
	memset(entry, 0, sizeof(*entry));
	entry->gid = end_of(dev)->gid;
	entry->port_num = 1;
	entry->gid_type = IBV_GID_TYPE_ROCE_V2;
	return 0;
}

static void
op_clocks(struct uroce_device *dev, uint64_t *device_ns, uint64_t *wall_ns)
{
	*device_ns = end_of(dev)->engine.now_ns;
	*wall_ns = *device_ns;
}

static const struct uroce_worker_ops worker_ops = {
	.qp_attach = op_qp_attach,
	.engine_enter = op_engine_enter,
	.engine_exit = op_engine_enter,
	.doorbell = uroce_engine_doorbell,
	.progress = op_progress,
};

static const struct uroce_port_ops port_ops = {
	.clocks = op_clocks,
	.path_init = op_path_init,
	.path_fini = op_path_fini,
	.query_port = op_query_port,
	.query_gid = op_query_gid,
	.mcast_join = op_mcast_join,
	.mcast_leave = op_mcast_leave,
};

const struct uroce_device_ops end_device_ops = {
	.transport = &uroce_transport_ops,
	.worker = &worker_ops,
	.port = &port_ops,
};
