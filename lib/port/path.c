/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Resolves an address vector to a path: the local address, the next hop (the peer, a gateway, or a device of this
 * process), and the headers of each packet. It does not wait for the next hop's MAC address, which the worker looks up
 * when it sends. Control threads.
 */

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/dpdk_compat.h"
#include "base/log.h"
#include "port/path.h"
#include "port/registry.h"
#include "port/udp/udp.h"
#include "uroce_config.h"
#include "wire/gid.h"
#include "wire/headers.h"

static bool
has_address(struct uroce_port *port, const uint8_t gid[16])
{
	bool has;

	pthread_mutex_lock(&port->lock);
	has = uroce_addresses_have(port->published, gid);
	pthread_mutex_unlock(&port->lock);
	return has;
}

/* The device of this process that has the address: the port's own, or another one that allows loopback. A link-local
 * address is valid only on its link, so it never names another device. Registry locked. */
static struct uroce_port *
loopback_find(struct uroce_port *port, const uint8_t gid[16])
{
	bool link_local = gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;

	if (has_address(port, gid))
		return port;
	for (unsigned int i = 0; !port->no_loopback && !link_local && i < UROCE_MAX_DEVICES; i++) {
		struct uroce_port *other = uroce_registry_port(i);

		if (other != NULL && other != port && !other->no_loopback &&
		    has_address(other, gid))
			return other;
	}
	return NULL;
}

bool
uroce_path_is_local(struct uroce_port *port, const uint8_t gid[16])
{
	return loopback_find(port, gid) != NULL;
}

/* The SL becomes the priority of the VLAN tag, as with RNICs. A frame without a tag has no priority. */
static uint16_t
vlan_tci(const struct uroce_port *port, const struct ibv_ah_attr *attr)
{
	return port->vlan != 0 ? (uint16_t)((attr->sl << RTE_VLAN_PRI_SHIFT & RTE_VLAN_PRI_MASK) | port->vlan)
			       : UROCE_NO_VLAN;
}

/* Set up a path to a device of this process. Its frames have the destination MAC and VLAN of the peer's port.
 * @return false: the peer is not in this process */
static bool
loopback_init(struct uroce_port *port, struct uroce_path *path, const struct ibv_ah_attr *attr,
	      struct uroce_template_conf *conf)
{
	struct uroce_port *peer;

	uroce_registry_lock();
	peer = loopback_find(port, path->dgid.raw);
	if (peer != NULL) {
		path->out = (uint16_t)(peer->dev.index + 1);
		path->multi_seg = true;
		conf->dst_mac = peer->mac;
		conf->vlan_tci = vlan_tci(peer, attr);
	}
	uroce_registry_unlock();
	return peer != NULL;
}

/* Find the neighbor to send to, and request its MAC address if unknown. Under the port's lock. @return 0 or -errno */
static int
neighbor_init(struct uroce_port *port, struct uroce_path *path, struct uroce_template_conf *conf)
{
	struct uroce_neighbor *n;
	uint8_t hop[16];
	int ret;

	if (uroce_gid_is_multicast(path->dgid.raw)) {
		uroce_multicast_mac(&conf->dst_mac, path->dgid.raw);
		path->out = UROCE_OUT_GROUP;
		return 0;
	}
	if (port->udp != NULL) { /* the kernel finds the next hop */
		uroce_udp_neighbor(&conf->dst_mac, path->dgid.raw);
		return 0;
	}
	ret = uroce_addresses_next_hop(port->published, path->dgid.raw, hop);
	if (ret < 0)
		return ret;
	n = uroce_neighbor_get(&port->neighbors, hop);
	if (n == NULL) {
		UROCE_LOG(ERR,
			  "port %u has paths to %u neighbors, its limit: open it with a max_neighbors above %u\n",
			  port->port_id, port->neighbors.capacity, port->neighbors.capacity);
		return -ENOMEM;
	}
	path->lladdr = &n->lladdr;
	/* a known address is probed again when its entry has aged */
	if (__atomic_load_n(&n->lladdr, __ATOMIC_RELAXED) == 0)
		uroce_port_upkeep_by(port, 0);
	return 0;
}

static void
conf_init(const struct uroce_port *port, const struct ibv_ah_attr *attr, uint16_t udp_src_port,
	  struct uroce_template_conf *conf)
{
	*conf = (struct uroce_template_conf){
		.src_mac = port->mac,
		.vlan_tci = vlan_tci(port, attr),
		.traffic_class = attr->grh.traffic_class,
		/* as Linux: programs leave 0 or 1 there, with which no packet would leave the link */
		.hop_limit = attr->grh.hop_limit > 1 ? attr->grh.hop_limit : UROCE_HOP_LIMIT,
		.flow_label = attr->grh.flow_label & UROCE_FLOW_LABEL_MASK,
		.udp_src_port = udp_src_port,
	};
}

/* Under the port's lock, with the source address held. @return 0 or -errno */
static int
path_route(struct uroce_port *port, struct uroce_path *path, struct uroce_template_conf *conf,
	   bool looped)
{
	int ret = 0;

	memcpy(conf->src_gid, path->sgid.raw, sizeof(conf->src_gid));
	memcpy(conf->dst_gid, path->dgid.raw, sizeof(conf->dst_gid));
	if (uroce_gid_is_ipv4(conf->src_gid) != uroce_gid_is_ipv4(conf->dst_gid))
		return -EINVAL;
	if (!looped)
		ret = neighbor_init(port, path, conf);
	if (ret == 0)
		ret = uroce_template_init(&path->headers, conf);
	return ret;
}

int
uroce_port_path_init(struct uroce_device *dev, const struct ibv_ah_attr *attr, uint32_t remote_qpn,
		     struct uroce_path *path)
{
	struct uroce_port *port = uroce_port_of(dev);
	struct uroce_template_conf conf;
	bool looped;
	int ret;

	/* RoCE has no LIDs: every address vector has a GRH (A17.3) */
	if (!attr->is_global || attr->port_num != 1)
		return -EINVAL;
	if (!uroce_gid_is_host(attr->grh.dgid.raw) && !uroce_gid_is_multicast(attr->grh.dgid.raw) &&
	    !(port->udp != NULL && uroce_gid_is_loopback(attr->grh.dgid.raw)))
		return -EINVAL;
	memset(path, 0, sizeof(*path));
	path->dgid = attr->grh.dgid;
	path->multi_seg = port->multi_seg;
	conf_init(port, attr, uroce_udp_src_port(attr->grh.flow_label, remote_qpn), &conf);
	looped = loopback_init(port, path, attr, &conf);
	if (port->udp != NULL && !looped)
		conf.udp_src_port = UROCE_UDP_PORT; /* of the socket, which the ICRC covers */

	pthread_mutex_lock(&port->lock);
	ret = uroce_gid_get(port, attr->grh.sgid_index, path->sgid.raw);
	if (ret == 0) {
		ret = path_route(port, path, &conf, looped);
		if (ret < 0)
			uroce_gid_put(port, path->sgid.raw);
	}
	pthread_mutex_unlock(&port->lock);
	if (ret == 0)
		path->set_up = true;
	return ret;
}

void
uroce_port_path_fini(struct uroce_device *dev, struct uroce_path *path)
{
	struct uroce_port *port = uroce_port_of(dev);

	if (!path->set_up)
		return;
	if (path->lladdr != NULL)
		uroce_neighbor_put_lladdr(&port->neighbors, path->lladdr, uroce_clock_ns());
	pthread_mutex_lock(&port->lock);
	uroce_gid_put(port, path->sgid.raw);
	pthread_mutex_unlock(&port->lock);
	memset(path, 0, sizeof(*path));
}
