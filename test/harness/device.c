/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The operations that lib/port implements for a device.
 */

#include <errno.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_ether.h>

#include "device.h"
#include "transport/engine.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/gid.h"
#include "wire/template.h"

static bool
is_empty(const union ibv_gid *gid)
{
	return gid->global.subnet_prefix == 0 && gid->global.interface_id == 0;
}

static int
qp_attach(struct uroce_qp *qp)
{
	struct harness_device *d = harness_device_of(qp->dev);

	if (d->attach_error != 0)
		return d->attach_error;
	qp->engine = d->engine;
	d->attached++;
	return 0;
}

static void
engine_turn(struct uroce_engine *engine)
{
	(void)engine;
}

static void
doorbell(struct uroce_qp *qp)
{
	__atomic_fetch_add(&harness_device_of(qp->dev)->doorbells, 1, __ATOMIC_RELAXED);
}

static void
progress(struct uroce_device *dev)
{
	if (harness_device_of(dev)->progress != NULL)
		harness_device_of(dev)->progress(dev);
}

static void
wake(struct uroce_device *dev)
{
	harness_device_of(dev)->wakes++;
}

static void
clocks(struct uroce_device *dev, uint64_t *device_ns, uint64_t *wall_ns)
{
	*device_ns = *harness_device_of(dev)->clock_ns;
	*wall_ns = *device_ns + harness_device_of(dev)->wall_offset_ns;
}

static int
path_init(struct uroce_device *dev, const struct ibv_ah_attr *attr, uint32_t remote_qpn, struct uroce_path *path)
{
	struct harness_device *d = harness_device_of(dev);

	d->path_inits++;
	if (d->path_error != 0)
		return d->path_error;
	d->path_remote_qpn = remote_qpn;
	d->paths++;
	memset(path, 0, sizeof(*path));
	path->sgid = d->gids[attr->grh.sgid_index % HARNESS_GIDS];
	path->dgid = attr->grh.dgid;
	path->multi_seg = d->multi_seg;
	path->set_up = true;
	return 0;
}

/* The last byte of an IP address is also the last byte of its Ethernet address. */
static int
path_init_with_headers(struct uroce_device *dev, const struct ibv_ah_attr *attr, uint32_t remote_qpn,
		       struct uroce_path *path)
{
	int ret = path_init(dev, attr, remote_qpn, path);
	struct uroce_template_conf conf = {
		.src_mac.addr_bytes = { 2, 0, 0, 0, 0, path->sgid.raw[15] },
		.dst_mac.addr_bytes = { 2, 0, 0, 0, 0, path->dgid.raw[15] },
		.vlan_tci = harness_device_of(dev)->vlan_tci,
		.traffic_class = attr->grh.traffic_class,
		.hop_limit = attr->grh.hop_limit,
		.flow_label = attr->grh.flow_label,
		.udp_src_port = uroce_udp_src_port(attr->grh.flow_label, remote_qpn),
	};

	if (ret != 0)
		return ret;
	if (uroce_gid_is_multicast(path->dgid.raw))
		conf.dst_mac.addr_bytes[0] |= RTE_ETHER_GROUP_ADDR;
	memcpy(conf.src_gid, path->sgid.raw, sizeof(conf.src_gid));
	memcpy(conf.dst_gid, path->dgid.raw, sizeof(conf.dst_gid));
	return uroce_template_init(&path->headers, &conf);
}

static void
path_fini(struct uroce_device *dev, struct uroce_path *path)
{
	RTE_VERIFY(path->set_up && harness_device_of(dev)->paths > 0);
	path->set_up = false;
	harness_device_of(dev)->paths--;
}

static int
query_port(struct uroce_device *dev, struct ibv_port_attr *attr)
{
	attr->state = IBV_PORT_ACTIVE;
	attr->max_mtu = IBV_MTU_4096;
	attr->active_mtu = harness_device_of(dev)->active_mtu;
	return harness_device_of(dev)->port_error;
}

static int
query_gid(struct uroce_device *dev, unsigned int index, struct ibv_gid_entry *entry)
{
	const struct harness_device *d = harness_device_of(dev);

	if (d->port_error != 0)
		return d->port_error;
	if (d->all_gids && (index >= HARNESS_GIDS || is_empty(&d->gids[index])))
		index = 1;
	if (index >= HARNESS_GIDS || is_empty(&d->gids[index]))
		return -ENODATA;
	entry->gid = d->gids[index];
	entry->gid_type = IBV_GID_TYPE_ROCE_V2;
	return 0;
}

static int
find_gid(struct uroce_device *dev, const union ibv_gid *gid)
{
	const struct harness_device *d = harness_device_of(dev);

	for (int i = 0; i < HARNESS_GIDS; i++)
		if (!is_empty(&d->gids[i]) && memcmp(&d->gids[i], gid, sizeof(*gid)) == 0)
			return i;
	return -ENOENT;
}

/* The test delivers the packets of a group itself. */
static int
mcast_join(struct uroce_device *dev, const union ibv_gid *mgid)
{
	struct harness_device *d = harness_device_of(dev);

	RTE_VERIFY(uroce_gid_is_multicast(mgid->raw));
	d->joined += d->join_error == 0;
	return d->join_error;
}

static void
mcast_leave(struct uroce_device *dev, const union ibv_gid *mgid)
{
	RTE_VERIFY(uroce_gid_is_multicast(mgid->raw) && harness_device_of(dev)->joined > 0);
	harness_device_of(dev)->joined--;
}

static const struct uroce_worker_ops worker_ops = {
	.qp_attach = qp_attach,
	.engine_enter = engine_turn,
	.engine_exit = engine_turn,
	.doorbell = uroce_engine_doorbell,
	.progress = progress,
	.wake = wake,
};

static const struct uroce_worker_ops standin_worker_ops = {
	.qp_attach = qp_attach,
	.engine_enter = harness_engine_enter,
	.engine_exit = harness_engine_exit,
	.doorbell = doorbell,
	.progress = progress,
	.wake = wake,
};

#define PORT_OPS \
	.clocks = clocks, .path_fini = path_fini, .query_port = query_port, .query_gid = query_gid, \
	.find_gid = find_gid, .mcast_join = mcast_join, .mcast_leave = mcast_leave

static const struct uroce_port_ops port_ops = { PORT_OPS, .path_init = path_init_with_headers };
static const struct uroce_port_ops standin_port_ops = { PORT_OPS, .path_init = path_init };

static void
init(struct harness_device *d, struct uroce_engine *engine, const struct uroce_device_ops *ops,
     const struct uroce_device_conf *conf)
{
	memset(d, 0, sizeof(*d));
	d->active_mtu = IBV_MTU_4096;
	d->vlan_tci = UROCE_NO_VLAN;
	d->multi_seg = true;
	d->clock_ns = &d->now_ns;
	d->engine = engine;
	RTE_VERIFY(uroce_device_init(&d->dev, ops, conf) == 0);
	d->context = &d->dev.vctx.context;
}

void
harness_device_init(struct harness_device *device, struct uroce_engine *engine, const struct uroce_device_conf *conf)
{
	static const struct uroce_device_ops ops = {
		.transport = &uroce_transport_ops, .worker = &worker_ops, .port = &port_ops,
	};

	init(device, engine, &ops, conf);
}

void
harness_device_init_standin(struct harness_device *device, const struct uroce_device_conf *conf)
{
	static const struct uroce_device_ops ops = {
		.transport = &harness_engine_transport_ops, .worker = &standin_worker_ops, .port = &standin_port_ops,
	};

	init(device, harness_engine_handle(&device->engines[0]), &ops, conf);
	for (unsigned int i = 0; i < HARNESS_ENGINES; i++)
		harness_engine_init(&device->engines[i], device);
}

int
harness_device_fini(struct harness_device *device)
{
	int ret = uroce_device_fini(&device->dev);

	for (unsigned int i = 0; i < HARNESS_ENGINES; i++)
		if (device->engines[i].device != NULL)
			harness_engine_fini(&device->engines[i]);
	return ret;
}
