/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A port: its device, its addresses and neighbors, and a queue for each worker. Control threads open, stop, start and
 * close it and change its addresses. Only the queue's worker accesses a queue.
 */

#ifndef UROCE_PORT_PORT_H
#define UROCE_PORT_PORT_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_spinlock.h>

#include "base/lines.h"
#include "port/ethdev/bonding.h"
#include "port/net/address.h"
#include "port/counters.h"
#include "port/worker/handover.h"
#include "port/worker/tx_kick.h"
#include "port/sleep/wake.h"
#include "port/net/gid.h"
#include "port/net/group.h"
#include "port/net/neighbor.h"
#include "port/net/ping.h"
#include "port/steer/note.h"
#include "port/steer/steer.h"
#include "uroce.h"
#include "verbs/device/device.h"
#include "wire/packet.h"
#include "wire/verdict.h"

struct uroce_agent;
struct uroce_memif;
struct uroce_udp;
struct uroce_worker;

#define UROCE_TX_ROOM \
	(2 * UROCE_BURST) /* one burst of the engine, and one of earlier frames and of the port's own */

/* What wakes a sleeping worker when frames arrive at a queue. */
enum uroce_rx_wake {
	UROCE_RX_WAKE_NONE,	 /* nothing: the worker polls at intervals */
	UROCE_RX_WAKE_SOCKET,	 /* a descriptor that is readable while the queue has frames */
	UROCE_RX_WAKE_MEMIF,	 /* an eventfd, to which the peer writes if it is asked to */
	UROCE_RX_WAKE_INTERRUPT, /* ethdev's RX interrupt, which each sleep enables */
};

/* Queue i of a port, driven by its worker i. */
struct uroce_port_queue {
	alignas(UROCE_LINES_APART) struct uroce_port *port;
	struct uroce_worker *worker; /* changes while the port is stopped; other threads: uroce_port_worker() */
	struct rte_mempool *pool; /* mbufs of received frames */
	uint16_t port_id;
	uint16_t id;
	/* while the port uses fewer queues than it has workers; see uroce_port_use_queues() */
	bool no_rx;		 /* the worker receives from other workers only */
	uint16_t tx_id;		 /* TX queue that workers share */
	rte_spinlock_t *tx_lock; /* of that queue; NULL: the worker has TX queue `id` of its own */
	uint16_t nb_rx_desc;
	uint16_t nb_tx_desc;
	/* written by the worker; others read only the fields above, and counters */
	alignas(UROCE_LINES_APART) uint16_t nb_tx;
	struct uroce_handover handover; /* frames for other workers, which wait */
	bool tx_stalled;      /* drop frames that the port does not accept, without waiting */
	uint64_t tx_since_ns; /* the port has accepted no frame since then; 0: it accepts frames */
	uint64_t flow_generation; /* generation of the addresses for which flow is valid */
	struct uroce_flow flow;   /* headers of the last frame whose addresses were accepted */
	struct rte_mbuf *tx[UROCE_TX_ROOM];
	/* worker: rw, others: relaxed read */
	uint64_t verdicts[UROCE_VERDICT_COUNT];
	uint64_t counters[UROCE_PORT_COUNTER_COUNT];
	uint64_t filler_ns; /* time of the next dummy frames */
	struct uroce_held_frame held[UROCE_BURST]; /* of handover */
	/* for a worker with a descriptor; the worker's turn */
	enum uroce_rx_wake rx_wake;
	int rx_fd;     /* -1: none */
	bool rx_stale; /* atomic: the link has come up, so the driver may have another descriptor */
	struct uroce_notes notes; /* QPs of other workers whose frames it has received */
	rte_spinlock_t lock __rte_cache_aligned; /* tx_lock of the workers that share TX queue `id` */
};

struct uroce_port {
	/* constant while started */
	struct rte_ether_addr mac;
	uint16_t port_id;
	uint16_t vlan; /* 0: untagged */
	uint16_t mtu;  /* Ethernet MTU */
	uint16_t nb_queues; /* other threads: uroce_port_queues() */
	uint16_t most_queues; /* that the port has had: those beyond nb_queues only have counters */
	uint16_t open_queues; /* RX and TX queues that the port has; with poll_progress perhaps fewer than nb_queues */
	struct uroce_memif *memif; /* moves the port's frames in place of the driver; changes while all workers are held */
	bool multi_seg;   /* the port sends chains of mbufs */
	bool share_memory; /* as in struct uroce_port_conf */
	bool at_process;  /* the other end of the link is a process of this host: a peer, or a switch */
	bool enters_kernel; /* bursts make system calls, in which a thread can be canceled */
	struct uroce_udp *udp; /* sockets of the port; NULL: it has none */
	bool no_loopback; /* send to other devices of the process through the port */
	bool wants_rx_interrupts; /* one of its workers had a descriptor before the port was started */
	bool rx_interrupts;	  /* the driver accepted intr_conf.rxq */
	int numa_node;
	uint64_t owner; /* ethdev's owner id; RTE_ETH_DEV_NO_OWNER: the port is not claimed */
	struct uroce_port_queue *queues;

	/* control: release; workers: acquire, within RCU */
	struct uroce_addresses *addresses;
	/* a cache line of their own: worker 0 takes their lock in upkeep, and all workers read the fields above */
	alignas(UROCE_LINES_APART) struct uroce_neighbors neighbors;
	struct uroce_groups groups;
	uint64_t upkeep_ns; /* atomic minimum: next time at which worker 0 runs uroce_port_upkeep() */
	uint64_t announce;  /* atomic: GID indices to be announced */
	struct uroce_ping pings[UROCE_MAX_PINGS];
	struct uroce_tx_kick filler;
	rte_spinlock_t interrupt_lock; /* enabling and disabling RX interrupts */
	rte_spinlock_t link_lock; /* link_up, removed, stopped, wants_reset, and the order of their events */
	bool link_up;             /* as last reported to the application */
	bool removed;             /* the device has been removed */
	bool stopped;             /* by uroce_stop_port() */
	bool wants_reset;         /* the driver works again only after rte_eth_dev_reset() */
	uint64_t link_downed;     /* number of times that the link went down; others: relaxed read */
	uint64_t link_due_ns;     /* next check of the link; worker 0: rw */
	struct uroce_bond bond;
	uint64_t departures;      /* atomic: departures of all peers at once; neighbors counts single ones */

	/* control threads */
	pthread_mutex_t life; /* stopping, starting and closing; conf */
	uint16_t room;        /* of queues, a power of two */
	uint16_t nb_outgrown;
	struct uroce_port_queue *outgrown[6]; /* smaller arrays, which threads may still read */
	size_t pool_bytes;    /* DPDK's memory for the pool of one queue */
	pthread_mutex_t lock; /* gids, gateways, published, next_queue */
	struct uroce_gid gids[UROCE_MAX_GID];
	struct uroce_addresses *published; /* the same snapshot as `addresses` */
	bool has_ipv4_gateway;
	bool has_ipv6_gateway;
	uint8_t ipv4_gateway[16];
	uint8_t ipv6_gateway[16];
	struct uroce_steer steer;
	unsigned int next_queue;   /* queue of the next QP without a send CQ, modulo nb_queues */
	struct uroce_agent *agent; /* the CM's agent; under uroce_cm_lock and the registry's lock */

	struct uroce_device dev;
	/* last, because a later release adds members to it (test/install/sizes.c) */
	struct uroce_port_conf conf; /* of the last start, without pointers */
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

/** @return the latest snapshot of the addresses. Worker, within a poll */
static inline const struct uroce_addresses *
uroce_port_addresses(const struct uroce_port *port)
{
	/* pairs with the release in uroce_gids_publish() */
	return __atomic_load_n(&port->addresses, __ATOMIC_ACQUIRE);
}

/** @return the number of workers. Threads that do not stop and start the port */
static inline unsigned int
uroce_port_queues(const struct uroce_port *port)
{
	/* pairs with the release in uroce_port_set_workers(): the first so many queues have workers */
	return __atomic_load_n(&port->nb_queues, __ATOMIC_ACQUIRE);
}

/** @return worker i of uroce_port_queues(). Threads that do not stop and start the port */
static inline struct uroce_worker *
uroce_port_worker(const struct uroce_port *port, unsigned int i)
{
	const struct uroce_port_queue *queues = __atomic_load_n(&port->queues, __ATOMIC_RELAXED);

	return __atomic_load_n(&queues[i].worker, __ATOMIC_RELAXED);
}

/** Does the worker drive a queue of the port? Unless under engines_lock, a restart may change the answer.
 * @param w	may be any pointer */
static inline bool
uroce_port_has_worker(const struct uroce_port *port, const struct uroce_worker *w)
{
	for (unsigned int i = 0; i < uroce_port_queues(port); i++)
		if (uroce_port_worker(port, i) == w)
			return true;
	return false;
}

/** Have worker 0 run uroce_port_upkeep() at when_ns or earlier. Any thread. */
static inline void
uroce_port_upkeep_by(struct uroce_port *port, uint64_t when_ns)
{
	uint64_t old;

	/* pairs with the fence in uroce_port_upkeep(): worker 0 sees the request, or this thread sees its exchange */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	old = __atomic_load_n(&port->upkeep_ns, __ATOMIC_RELAXED);
	/* pairs with the exchange in uroce_port_upkeep() */
	while (when_ns < old && !__atomic_compare_exchange_n(&port->upkeep_ns, &old, when_ns, true,
							     __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	if (when_ns < old)
		uroce_worker_nudge(uroce_port_worker(port, 0));
}

/* port.c */
/** Read the program's struct. @return 0 or -errno; logs the error */
int uroce_port_conf_get(uint16_t port_id, const struct uroce_port_conf *program_conf, struct uroce_port_conf *conf);
/** Check the workers that the program passes. @return 0 or -EINVAL; logs the error */
int uroce_port_workers_check(uint16_t port_id, struct uroce_worker *const *workers, unsigned int n);
/** Fill in the window, the least of the workers', or check that it does not exceed that. @return 0 or -EINVAL; logs the
 * error */
int uroce_port_window_check(uint16_t port_id, struct uroce_port_conf *conf, struct uroce_worker *const *workers,
			    unsigned int n);
/** Check that the workers' payload mbufs have room for the port's packets. @return 0 or -EINVAL; logs the error */
int uroce_port_mtu_check(const struct uroce_port *port);

/* queues.c */
/** Assign queues to workers, while no worker polls the port. @return 0 or -ENOMEM; never fails for fewer queues than the
 * port has had */
int uroce_port_set_workers(struct uroce_port *port, struct uroce_worker *const *workers, unsigned int n);
void uroce_port_free_queues(struct uroce_port *port);
/** Have the workers poll the port's queues. */
void uroce_port_attach(struct uroce_port *port);
/** Take the queues from the workers: afterward no worker holds any frame of the port, or calls its driver. */
void uroce_port_detach(struct uroce_port *port);

/* ops.c */
extern const struct uroce_device_ops uroce_port_ops;
/** The operations of devices that are opened with poll_progress. */
extern const struct uroce_device_ops uroce_driven_port_ops;

#endif /* UROCE_PORT_PORT_H */
