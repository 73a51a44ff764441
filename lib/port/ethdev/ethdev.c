/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Configures and starts the Ethernet device of a port: a queue for each worker, pools for the largest frame, RSS if
 * there are several queues, IPv4 checksum offload for RX if the device has it. TX uses no checksum offload: updating
 * the path's prepared IPv4 checksum costs less than setting an offload's flags. Control threads.
 */

#define ALLOW_EXPERIMENTAL_API	/* for DPDK 22.11 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>

#include "port/ethdev/ethdev.h"
#include "port/ethdev/ethdev_halt.h"
#include "base/log.h"
#include "port/ethdev/mtu.h"
#include "port/steer/rss.h"
#include "port/udp/udp.h"
#include "port/worker/pool.h"
#include "port/worker/worker.h"
#include "base/thread.h"
#include "uroce.h"

#define VLAN_BYTES 4
#define ROOM_STEP  1024 /* some devices use the data room of an mbuf in steps of this size */

/* Data rooms to try, beside the one that the MTU needs: some ports require mbufs larger than any frame that they
 * receive. */
static const uint32_t rooms[] = { 0, 9 * 1024 + 512, 16 * 1024, 32 * 1024 };

static int
complain(const struct uroce_port *port, const char *what, int ret)
{
	UROCE_LOG(ERR, "port %u: %s: %s\n", port->port_id, what, rte_strerror(-ret));
	return ret;
}

/* The error code of net_memif is only -1, so say what the driver needs. */
static int
complain_of_start(const struct uroce_port *port, int ret)
{
	if (!port->at_process)
		return complain(port, "cannot start the port", ret);
	UROCE_LOG(ERR, "port %u: net_memif cannot connect: the program at its other end, with role=server, has not "
		       "started or has just ended (or this user may not open the socket): start it, then this one again\n",
		  port->port_id);
	return ret;
}

static void
give_back(struct uroce_port *port)
{
	if (port->owner != RTE_ETH_DEV_NO_OWNER)
		rte_eth_dev_owner_unset(port->port_id, port->owner);
	port->owner = RTE_ETH_DEV_NO_OWNER;
}

/* Claim the port, so that a port of another owner is refused. With no_owner, release it at once. */
static int
take(struct uroce_port *port, const struct uroce_port_conf *conf)
{
	struct rte_eth_dev_owner owner = { .name = "uroce" };
	int ret;

	if (uroce_bonding_is_member(port->port_id)) {
		UROCE_LOG(ERR, "port %u is a member of a bonding device: open that device instead\n", port->port_id);
		return -EBUSY;
	}
	ret = rte_eth_dev_owner_new(&owner.id);
	if (ret == 0)
		ret = rte_eth_dev_owner_set(port->port_id, &owner);
	if (ret < 0) {
		complain(port, "cannot claim the port: another component of the program owns it, or it is gone", ret);
		return ret == -ENODEV ? ret : -EBUSY;
	}
	port->owner = owner.id;
	if (conf->no_owner)
		give_back(port);
	return 0;
}

/* Read the MAC address. A device without one, such as net_ring, gets a random address; if the driver does not accept
 * it, the address is used in frames only. A port that starts again keeps its address, which peers have. */
static int
mac_init(struct uroce_port *port)
{
	struct rte_ether_addr mac;
	int ret;

	ret = rte_eth_macaddr_get(port->port_id, &mac);
	if (ret < 0)
		return complain(port, "cannot read the MAC address", ret);
	if (rte_is_zero_ether_addr(&port->mac)) {
		if (!rte_is_valid_assigned_ether_addr(&mac))
			rte_eth_random_addr(port->mac.addr_bytes);
		else
			port->mac = mac;
	}
	if (!rte_is_same_ether_addr(&mac, &port->mac) &&
	    rte_eth_dev_default_mac_addr_set(port->port_id, &port->mac) < 0 &&
	    rte_eth_promiscuous_enable(port->port_id) < 0)
		UROCE_LOG(DEBUG, "port %u does not accept the MAC address that it uses, and has no promiscuous mode\n",
			  port->port_id);
	return 0;
}

/* Configure the device without its RSS key, or without RX interrupts, if the driver refuses them. */
static int
try_configure(const struct uroce_port *port, struct rte_eth_conf *conf)
{
	const struct rte_eth_rss_conf rss = conf->rx_adv_conf.rss_conf;
	int ret;

	for (;;) {
		ret = rte_eth_dev_configure(port->port_id, port->open_queues, port->open_queues, conf);
		if (ret == 0 || ret == -EBUSY)
			return ret;
		if (conf->rx_adv_conf.rss_conf.rss_key != NULL) {
			conf->rx_adv_conf.rss_conf.rss_key = NULL;
			conf->rx_adv_conf.rss_conf.rss_key_len = 0;
		} else if (conf->intr_conf.rxq != 0) {
			conf->intr_conf.rxq = 0;
			conf->rx_adv_conf.rss_conf = rss;
		} else {
			return ret;
		}
	}
}

void
uroce_port_use_queues(struct uroce_port *port, unsigned int n)
{
	for (unsigned int i = 0; i < port->nb_queues; i++) {
		struct uroce_port_queue *q = &port->queues[i];

		q->no_rx = i >= n;
		__atomic_store_n(&q->worker->feeder, q->no_rx ? port->queues[i % n].worker : NULL, __ATOMIC_RELAXED);
		q->tx_id = (uint16_t)(i % n);
		q->tx_lock = n < port->nb_queues ? &port->queues[q->tx_id].lock : NULL;
	}
}

/* @param shares	workers without a queue of their own share others' */
static int
configure(struct uroce_port *port, const struct rte_eth_dev_info *info, uint16_t mtu, bool shares)
{
	struct rte_eth_conf conf = {
		.rxmode = {
			.mtu = mtu,
			.offloads = info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM,
		},
		.txmode.offloads = info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
		/* rte_eth_dev_configure() fails if an interrupt is requested that the device does not have */
		.intr_conf.lsc = (*info->dev_flags & RTE_ETH_DEV_INTR_LSC) != 0,
		.intr_conf.rmv = (*info->dev_flags & RTE_ETH_DEV_INTR_RMV) != 0,
		.intr_conf.rxq = port->rx_interrupts,
	};
	const uint16_t most = RTE_MIN(info->max_rx_queues, info->max_tx_queues);
	const bool is_udp = uroce_udp_is(port->port_id);
	int ret;

	port->open_queues = RTE_MIN(port->nb_queues, most);
	if (port->nb_queues > most && (!shares || most == 0)) {
		UROCE_LOG(ERR,
			  "port %u has %u RX and %u TX queues, and %u workers need one each: use fewer workers, or "
			  "more queues\n",
			  port->port_id, info->max_rx_queues, info->max_tx_queues, port->nb_queues);
		return -EINVAL;
	}
	/* without RSS one worker receives all frames, and hands them over to the others */
	if (port->open_queues > 1 && info->flow_type_rss_offloads != 0 && !is_udp) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		uroce_rss_configure(port->steer.key, info, &conf.rx_adv_conf.rss_conf);
	}
	ret = try_configure(port, &conf);
	port->rx_interrupts = conf.intr_conf.rxq != 0;
	if (ret < 0)
		return complain(port,
				ret == -EBUSY ? "cannot configure the port, because it is started: stop it first"
					      : "cannot configure the port",
				ret);
	if (port->multi_seg && conf.txmode.offloads == 0 && !is_udp) {
		UROCE_LOG(ERR,
			  "port %u no longer sends chains of mbufs (RTE_ETH_TX_OFFLOAD_MULTI_SEGS), which its QPs build: "
			  "close the device, and open it again\n",
			  port->port_id);
		return -ENOTSUP;
	}
	/* a connection of net_memif may have fewer rings; uroce_port_use_queues() sets their number */
	uroce_port_use_queues(port, shares && port->at_process ? 1 : port->open_queues);
	port->multi_seg = (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0 || is_udp;
	return 0;
}

/* @return the number of mbufs in a queue's ring, or in those of all members */
static unsigned int
ring_mbufs(const struct uroce_port *port, uint16_t nb_desc)
{
	return RTE_MAX(port->bond.count, 1u) * nb_desc;
}

/* By default: mbufs for the ring, for as many frames in the worker, and for the reorder buffer. The queues of a port
 * share the frames of a QP's peers, so that each has only a part of the reorder buffer.
 * @param mbufs	set to the number of mbufs of a queue. @return 0; -EINVAL: rx_mbufs is too small */
static int
rx_mbufs(const struct uroce_port_queue *q, const struct uroce_port_conf *conf, uint16_t nb_desc, unsigned int *mbufs)
{
	const unsigned int others = RTE_MAX(nb_desc - 1u, (unsigned int)(UROCE_RX_MBUFS - UROCE_RX_DESC));
	const unsigned int ring = ring_mbufs(q->port, nb_desc);

	*mbufs = conf->rx_mbufs;
	if (*mbufs == 0)
		*mbufs = ring + others + (conf->go_back_n ? 0 : q->worker->conf.reorder_frames / q->port->open_queues);
	if (*mbufs >= ring + 2 * UROCE_BURST)
		return 0;
	UROCE_LOG(ERR, "port %u: rx_mbufs %u is less than %u, for %u RX descriptors and two bursts: raise it, or lower "
		  "nb_rx_desc\n",
		  q->port_id, *mbufs, ring + 2 * UROCE_BURST, ring);
	return -EINVAL;
}

static void
pool_retire(struct uroce_port_queue *q)
{
	uroce_pool_retire(q->pool);
	q->pool = NULL;
}

/* Set up the queue with the pool that it had before the port was stopped, if that is large enough. */
static bool
rx_queue_setup_again(struct uroce_port_queue *q, uint16_t nb_desc, unsigned int mbufs, uint32_t room)
{
	if (q->pool != NULL && q->pool->size >= mbufs &&
	    rte_pktmbuf_data_room_size(q->pool) >= RTE_PKTMBUF_HEADROOM + room &&
	    rte_eth_rx_queue_setup(q->port_id, q->id, nb_desc, (unsigned int)q->port->numa_node, NULL, q->pool) == 0)
		return true;
	pool_retire(q);
	return false;
}

/* Create the queue's pool and set up the queue. Retry with a larger data room if the port refuses the one that the MTU
 * needs. */
static int
rx_queue_setup(struct uroce_port_queue *q, uint16_t nb_desc, unsigned int mbufs, uint32_t room)
{
	int node = q->port->numa_node;
	int ret = 0;

	if (rx_queue_setup_again(q, nb_desc, mbufs, room))
		return 0;
	for (unsigned int i = 0; i < RTE_DIM(rooms); i++) {
		if (i > 0 && rooms[i] <= room)
			continue;
		q->port->pool_bytes = uroce_pool_bytes(mbufs, RTE_MAX(rooms[i], room));
		/* the workers' lcores may hold all mbufs but those of the ring in their caches */
		q->pool = uroce_pool_create_cached("rx", mbufs, RTE_MAX(rooms[i], room), node,
						   mbufs - ring_mbufs(q->port, nb_desc), q->port->nb_queues);
		if (q->pool == NULL)
			return -errno;
		ret = rte_eth_rx_queue_setup(q->port_id, q->id, nb_desc, (unsigned int)node, NULL,
					     q->pool);
		if (ret == 0)
			return 0;
		pool_retire(q);
		if (ret != -ENOMEM && ret != -EINVAL)
			break;
	}
	return ret;
}

static int
queue_setup(struct uroce_port *port, uint16_t id, const struct uroce_port_conf *conf, uint16_t nb_rx, uint16_t nb_tx,
	    uint32_t room)
{
	unsigned int mbufs;
	int ret;

	ret = rx_mbufs(&port->queues[id], conf, nb_rx, &mbufs);
	if (ret < 0)
		return ret;
	ret = rx_queue_setup(&port->queues[id], nb_rx, mbufs, room);
	if (ret < 0)
		return complain(port, "cannot set up an RX queue", ret);
	ret = rte_eth_tx_queue_setup(port->port_id, id, nb_tx, (unsigned int)port->numa_node, NULL);
	if (ret < 0)
		return complain(port, "cannot set up a TX queue", ret);
	return 0;
}

/* Warn that the device does not support the number of descriptors that the program requests. */
static void
log_adjusted(const struct uroce_port *port, const char *member, uint16_t asked, uint16_t adjusted)
{
	if (asked != 0 && asked != adjusted)
		UROCE_LOG(WARNING, "port %u: %s %u is not a number that the device supports: it uses %u\n",
			  port->port_id, member, asked, adjusted);
}

static int
queues_setup(struct uroce_port *port, const struct rte_eth_dev_info *info,
	     const struct uroce_port_conf *conf)
{
	uint32_t frame = port->mtu + RTE_ETHER_HDR_LEN + VLAN_BYTES + RTE_ETHER_CRC_LEN;
	uint32_t room = RTE_ALIGN_CEIL(RTE_MAX(frame, info->min_rx_bufsize), ROOM_STEP);
	uint16_t nb_rx = conf->nb_rx_desc != 0 ? conf->nb_rx_desc : UROCE_RX_DESC;
	uint16_t nb_tx = conf->nb_tx_desc != 0 ? conf->nb_tx_desc : UROCE_TX_DESC;
	int ret;

	if (conf->nb_rx_desc == 0 && info->default_rxportconf.ring_size != 0)
		nb_rx = info->default_rxportconf.ring_size;
	if (conf->nb_tx_desc == 0 && info->default_txportconf.ring_size != 0)
		nb_tx = info->default_txportconf.ring_size;
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->port_id, &nb_rx, &nb_tx);
	log_adjusted(port, "nb_rx_desc", conf->nb_rx_desc, nb_rx);
	log_adjusted(port, "nb_tx_desc", conf->nb_tx_desc, nb_tx);
	for (uint16_t i = 0; i < port->nb_queues; i++) {
		port->queues[i].nb_rx_desc = nb_rx;
		port->queues[i].nb_tx_desc = nb_tx;
	}
	for (uint16_t i = 0; ret == 0 && i < port->open_queues; i++)
		ret = queue_setup(port, i, conf, nb_rx, nb_tx, room);
	return ret;
}

/* Retire the pools of the queues from `first` on. */
static void
pools_retire(struct uroce_port *port, uint16_t first)
{
	for (uint16_t i = first; i < port->most_queues; i++)
		pool_retire(&port->queues[i]);
}

/* May bursts make system calls? Drivers of NICs make none, nor do two drivers of virtual devices. */
static bool
enters_kernel(const struct rte_eth_dev_info *info)
{
	if (info->device == NULL || strcmp(rte_bus_name(rte_dev_bus(info->device)), "vdev") != 0)
		return false;
	return strcmp(info->driver_name, "net_ring") != 0 && strcmp(info->driver_name, "net_null") != 0;
}

static int
start(struct uroce_port *port, const struct uroce_port_conf *conf)
{
	struct rte_eth_dev_info info;
	struct uroce_mtu mtu;
	int ret;

	ret = uroce_bonding_info_get(port->port_id, &info, &port->bond);
	if (ret < 0)
		return complain(port, "cannot read the device's information", ret);
	ret = uroce_mtu_choose(&info, conf->mtu, &mtu);
	if (ret < 0) {
		UROCE_LOG(ERR, "port %u: Ethernet MTU %u is not in %u..%u, the range of this device: pass another\n",
			  port->port_id, conf->mtu != 0 ? conf->mtu : UROCE_PORT_MTU, mtu.least, mtu.most);
		return ret;
	}
	port->mtu = mtu.mtu;
	port->at_process = strcmp(info.driver_name, "net_memif") == 0;
	port->dev.by_cpu = uroce_udp_is(port->port_id);
	port->share_memory = conf->share_memory != 0;
	port->enters_kernel = enters_kernel(&info) || uroce_udp_is(port->port_id);
	ret = configure(port, &info, mtu.configured, conf->poll_progress != 0);
	if (ret == 0)
		ret = mac_init(port);
	if (ret == 0)
		ret = queues_setup(port, &info, conf);
	if (ret < 0)
		return ret;
	ret = rte_eth_dev_start(port->port_id);
	if (ret < 0)
		return complain_of_start(port, ret);
	ret = uroce_udp_start(port);
	if (ret < 0)
		uroce_ethdev_halt(port->port_id);
	return ret;
}

/* A thread that a driver starts, such as net_vhost's, gets no signals. */
static int
start_without_signals(struct uroce_port *port, const struct uroce_port_conf *conf)
{
	sigset_t before;
	int ret;

	uroce_thread_block_signals(&before);
	port->rx_interrupts = port->wants_rx_interrupts;
	ret = start(port, conf);
	if (ret < 0 && port->rx_interrupts) {
		UROCE_LOG(NOTICE, "port %u does not start with RX interrupts: trying without\n", port->port_id);
		port->rx_interrupts = false;
		pools_retire(port, 0);
		ret = start(port, conf);
	}
	uroce_thread_restore_signals(&before);
	return ret;
}

int
uroce_ethdev_start(struct uroce_port *port, const struct uroce_port_conf *conf)
{
	int ret;

	ret = take(port, conf);
	if (ret < 0)
		return ret;
	ret = start_without_signals(port, conf);
	if (ret < 0) {
		pools_retire(port, 0);
		give_back(port);
	}
	return ret;
}

void
uroce_ethdev_pause(struct uroce_port *port)
{
	uroce_udp_stop(port);
	uroce_ethdev_halt(port->port_id);
}

int
uroce_ethdev_resume(struct uroce_port *port, const struct uroce_port_conf *conf, bool reset)
{
	int ret;

	ret = reset ? rte_eth_dev_reset(port->port_id) : 0;
	if (ret < 0)
		return complain(port, "cannot reset the port", ret);
	ret = start_without_signals(port, conf);
	if (ret == 0)
		pools_retire(port, port->nb_queues);
	return ret;
}

void
uroce_ethdev_stop(struct uroce_port *port)
{
	if (!port->stopped)
		uroce_ethdev_pause(port);
	pools_retire(port, 0);
	give_back(port);
}

/* The port's multicast filter. Groups that share a MAC address have one entry. */
struct filter {
	uint32_t count;
	struct rte_ether_addr macs[UROCE_MAX_GID + UROCE_MAX_MCAST_GROUPS + 2];
};

static void
filter_add(struct filter *f, const uint8_t group[16])
{
	struct rte_ether_addr mac;

	uroce_multicast_mac(&mac, group);
	for (uint32_t i = 0; i < f->count; i++)
		if (rte_is_same_ether_addr(&f->macs[i], &mac))
			return;
	f->macs[f->count++] = mac;
}

void
uroce_ethdev_listen(const struct uroce_port *port, const struct uroce_addresses *own)
{
	static const uint8_t all_nodes[16] = { 0xff, 0x02, [15] = 0x01 };
	static const uint8_t all_hosts[16] = UROCE_GID_IPV4(224, 0, 0, 1);
	struct filter f = { .count = 0 };
	uint8_t group[16];

	if (port->stopped)
		return; /* uroce_start_port() sets the filter */
	filter_add(&f, all_nodes);
	if (own->ipv4_count != 0)
		filter_add(&f, all_hosts);
	for (unsigned int i = 0; i < own->ipv6_count; i++) {
		uroce_solicited_node(group, own->ipv6[i]);
		filter_add(&f, group);
	}
	for (unsigned int i = 0; i < own->group_count; i++)
		filter_add(&f, own->groups[i]);
	if (rte_eth_dev_set_mc_addr_list(port->port_id, f.macs, f.count) == 0)
		return;
	if (rte_eth_allmulticast_enable(port->port_id) == 0 ||
	    rte_eth_promiscuous_enable(port->port_id) == 0)
		return;
	UROCE_LOG(DEBUG, "port %u accepts neither a multicast filter nor allmulticast or promiscuous mode\n",
		  port->port_id);
}
