/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A port: its device, its addresses and neighbors, and a queue for each worker. Control threads open and close it
 * and change its addresses; only a queue's worker touches the queue.
 */

#ifndef UROCE_PORT_PORT_H
#define UROCE_PORT_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "port/net/address.h"
#include "port/counters.h"
#include "port/worker/tx_kick.h"
#include "port/net/gid.h"
#include "port/net/group.h"
#include "port/net/neighbor.h"
#include "port/net/ping.h"
#include "verbs/device/device.h"
#include "wire/packet.h"
#include "wire/verdict.h"

struct uroce_agent;
struct uroce_port_conf;
struct uroce_worker;

#define UROCE_TX_ROOM \
	(2 * UROCE_BURST) /* one burst of the engine, and what was left or is our own */

/* Queue i of a port, driven by its worker i. */
struct uroce_port_queue {
	struct uroce_port *port;
	struct uroce_worker *worker;
	struct rte_mempool *pool; /* of received frames */
	uint16_t port_id;
	uint16_t id;
	uint16_t nb_rx_desc;
	uint16_t nb_tx;
	bool tx_stalled;      /* it has taken nothing for long: what it does not take is dropped */
	uint64_t tx_since_ns; /* the port has taken nothing since; 0: it does */
	uint64_t flow_generation; /* of the addresses for which flow is valid */
	struct uroce_flow flow;   /* of the last frame whose addresses were checked */
	struct rte_mbuf *tx[UROCE_TX_ROOM];
	/* worker: adds, others: relaxed read */
	uint64_t verdicts[UROCE_VERDICT_COUNT];
	uint64_t counters[UROCE_PORT_COUNTER_COUNT];
	uint64_t filler_ns; /* no frames that go nowhere before this */
} __rte_cache_aligned;

struct uroce_port {
	/* constant while open */
	struct rte_ether_addr mac;
	uint16_t port_id;
	uint16_t vlan; /* 0: untagged */
	uint16_t mtu;  /* Ethernet's */
	uint16_t nb_queues;
	bool multi_seg;   /* the port sends chains of mbufs */
	bool at_process;  /* the other end of the link is a process of this host: a peer, or a switch */
	bool no_loopback; /* reaches other devices of the process through the port only */
	int numa_node;
	uint64_t owner; /* ethdev's owner id; RTE_ETH_DEV_NO_OWNER: not ours, for ethdev */
	struct uroce_port_queue *queues;

	/* control: release; workers: acquire, within RCU */
	struct uroce_addresses *addresses;
	/* worker 0 takes its lock in upkeep: not beside what all workers read */
	struct uroce_neighbors neighbors __rte_cache_aligned;
	struct uroce_groups groups;
	uint64_t upkeep_ns; /* atomic minimum: worker 0 has something to do then */
	uint64_t announce;  /* atomic: GID indices to be announced */
	struct uroce_ping pings[UROCE_MAX_PINGS];
	struct uroce_tx_kick filler;
	rte_spinlock_t link_lock; /* link_up, removed, and the order of their events */
	bool link_up;             /* as the application was told */
	bool removed;             /* the device is gone */
	uint64_t link_downed;     /* how often it has gone; others: relaxed read */
	uint64_t link_due_ns;     /* worker 0: rw */
	uint64_t departures;      /* atomic: how often everybody has gone; others are neighbors' */
	uint64_t polled_ns;       /* atomic: poll() of ops.c has moved frames */

	/* control threads */
	size_t pool_bytes;    /* DPDK's memory per queue's pool */
	pthread_mutex_t lock; /* gids, gateways, what is published from them, next_queue */
	struct uroce_gid gids[UROCE_MAX_GID];
	struct uroce_addresses *published; /* the one at `addresses` */
	bool has_ipv4_gateway;
	bool has_ipv6_gateway;
	uint8_t ipv4_gateway[16];
	uint8_t ipv6_gateway[16];
	unsigned int next_queue;   /* for the next QP */
	struct uroce_agent *agent; /* of the CM; under its lock and the registry's */

	struct uroce_device dev; /* last: room for what providers read past it */
};

static_assert(UROCE_MAX_GID <= 64, "uroce_port.announce has a bit for each");

static inline struct uroce_port *
uroce_port_of(struct uroce_device *dev)
{
	return container_of(dev, struct uroce_port, dev);
}

static inline struct uroce_port *
uroce_port_of_context(struct ibv_context *context)
{
	return uroce_port_of(uroce_device_of(context));
}

/** The addresses as they are now. Worker, within a poll. */
static inline const struct uroce_addresses *
uroce_port_addresses(const struct uroce_port *port)
{
	/* pairs with the release in publish() of gid.c */
	return __atomic_load_n(&port->addresses, __ATOMIC_ACQUIRE);
}

/** Have worker 0 look after the port at `when` or before. Any thread. */
static inline void
uroce_port_upkeep_by(struct uroce_port *port, uint64_t when_ns)
{
	uint64_t old;

	/* what there is to do has been written before, and is read after the exchange */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	old = __atomic_load_n(&port->upkeep_ns, __ATOMIC_RELAXED);
	/* pairs with the exchange in uroce_port_upkeep() */
	while (when_ns < old && !__atomic_compare_exchange_n(&port->upkeep_ns, &old, when_ns, true,
							     __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* ops.c */
extern const struct uroce_device_ops uroce_port_ops;
/** ... of those that are opened with poll_progress */
extern const struct uroce_device_ops uroce_driven_port_ops;

#endif /* UROCE_PORT_PORT_H */
