/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A worker: an engine, and the port queues that it drives. The thread that has the worker's turn is the engine's
 * one thread: a thread that polls, or a control thread between enter and exit.
 */

#ifndef UROCE_PORT_WORKER_WORKER_H
#define UROCE_PORT_WORKER_WORKER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <rte_ticketlock.h>

#include "transport/engine.h"
#include "uroce_config.h"
#include "wire/packet.h"

struct uroce_port;
struct uroce_port_queue;

/* A frame for a QP of this worker that another one received, decoded already, or that one of our
 * own QPs has sent: then packet.info is NULL, and it is yet to be decoded. */
struct uroce_inbox_item {
	struct uroce_packet packet;
	uint32_t port_id; /* of the device that receives it */
	uint32_t reserved;
};

static_assert(sizeof(struct uroce_inbox_item) % 4 == 0, "an element of a ring");

/* Where a loopback frame goes. */
struct uroce_loop {
	struct rte_mbuf *mbuf;
	struct uroce_port_queue *from;
	uint32_t dest_qpn;
	uint16_t out; /* uroce_path.out */
};

/* What a worker's time went into. The turn writes, others read (relaxed). */
struct uroce_load {
	uint64_t busy_ns; /* of rounds that moved frames */
	uint64_t rounds;
	uint64_t busy_rounds;
	uint64_t since_ns; /* the last round began */
};

struct uroce_worker {
	struct uroce_engine engine;
	/* Constant, and read by those who hand frames over: not beside what each poll writes. */
	struct rte_ring *inbox __rte_cache_aligned; /* of struct uroce_inbox_item; any worker
						     * enqueues, this one dequeues */
	uint16_t index; /* also the reader's number in uroce_rcu */
	int numa_node;
	uint64_t since_ns; /* when it was made */
	uint32_t sleep;    /* atomic, enum uroce_sleep: of the thread that drives it for a program */
	uint32_t lent_lcore; /* atomic: lcore id of the thread that drives it; LCORE_ID_ANY: no thread does */
	/* Fair, so that a control thread gets its turn from an lcore which only polls. */
	rte_ticketlock_t turn __rte_cache_aligned;
	uint32_t guests; /* atomic: threads that wait for the turn in uroce_worker_enter_within() */
	bool cleanup;    /* atomic: have the ports give back what they have sent */
	uint32_t devices;   /* under workers_lock: devices that use it */
	uint32_t lcore;     /* under workers_lock: it runs there; LCORE_ID_ANY: nowhere */
	bool stop;          /* atomic */
	uint64_t helped_ns; /* under workers_lock: now_ns as uroce_workers_help() left it */
	/* turn */
	uint64_t now_ns __rte_cache_aligned; /* of this round; others: relaxed read */
	uint16_t nb_queues;
	uint16_t nb_loop;
	bool loop_stalled;
	bool was_busy; /* the last round */
	uint64_t poller;    /* atomic: owner, the thread that last called uroce_worker_poll(); 0: none */
	uint64_t polled_ns; /* atomic: now_ns of that call */
	struct uroce_load load; /* in the cache line of now_ns, which each round writes */
	struct uroce_port_queue *queues[UROCE_MAX_DEVICES];
	struct uroce_port_queue *by_port[RTE_MAX_ETHPORTS]; /* the same, by port id */
	uint64_t loop_since_ns;
	uint64_t cleanup_ns; /* next time that ports free sent mbufs for deregistrations */
	uint64_t lost; /* frames whose device is gone; relaxed read */
	struct uroce_loop loop[2 * UROCE_BURST]; /* waits for room in an inbox */
};

static_assert(offsetof(struct uroce_worker, load) + sizeof(struct uroce_load) <=
		      offsetof(struct uroce_worker, now_ns) + RTE_CACHE_LINE_SIZE,
	      "a round writes one line of its worker");

static inline struct uroce_worker *
uroce_worker_of(struct uroce_engine *engine)
{
	return container_of(engine, struct uroce_worker, engine);
}

/** Wait for the worker's turn, and take it, within an RCU reader section. Control threads, not
 * recursive. */
void uroce_worker_enter(struct uroce_worker *w);
void uroce_worker_exit(struct uroce_worker *w);
/** As uroce_worker_enter(), but give up after timeout_ns. @return false: another thread has kept the turn */
bool uroce_worker_enter_within(struct uroce_worker *w, uint64_t timeout_ns);

/** Let a queue be driven by its worker, or no more. Control threads. */
void uroce_worker_add_queue(struct uroce_worker *w, struct uroce_port_queue *q);
void uroce_worker_del_queue(struct uroce_worker *w, struct uroce_port_queue *q);

/** uroce_worker_poll() on behalf of the owner: neither changes the owner nor runs callbacks. */
unsigned int uroce_worker_round(struct uroce_worker *w);

/** Does no other thread own the worker? Then the calling thread may poll it while it waits. */
bool uroce_worker_is_ours(const struct uroce_worker *w);

/** Poll every worker of the process that no other thread owns, and request a cleanup of the others. Not in a poll. */
void uroce_workers_progress(void);
/**
 * Poll the workers that nobody has polled for UROCE_CM_POLL_NS, other than by this. One thread,
 * which calls it again and again.
 * @param frames	how many they received and sent
 * @return	whether there may be such workers: some run on no lcore, and have no thread that drives them
 */
bool uroce_workers_help(unsigned int *frames);
/** Free what is in inboxes for ports that are no longer driven. Not within a poll. */
void uroce_workers_drain(void);

/** Call fn for the worker of this index, under workers_lock: it stays meanwhile. @return false: there is none */
bool uroce_workers_with(unsigned int index, void (*fn)(struct uroce_worker *w, void *arg), void *arg);

/** Count a device's use of workers. @return 0, or -EINVAL: one is no worker of this process */
int uroce_workers_get(struct uroce_worker *const *workers, unsigned int n);
void uroce_workers_put(struct uroce_worker *const *workers, unsigned int n);

#endif /* UROCE_PORT_WORKER_WORKER_H */
