/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A worker: an engine, and the port queues that it drives. Only the thread that holds the worker's turn runs the
 * engine: a thread that polls, or a control thread between uroce_worker_enter() and uroce_worker_exit().
 */

#ifndef UROCE_PORT_WORKER_WORKER_H
#define UROCE_PORT_WORKER_WORKER_H

#include <assert.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <rte_ticketlock.h>

#include "base/lines.h"
#include "port/worker/handover.h"
#include "transport/engine.h"
#include "uroce.h"
#include "uroce_config.h"
#include "wire/packet.h"

struct uroce_port;
struct uroce_port_queue;
struct uroce_wait;

/* A frame for a QP of this worker: received and parsed by another worker, or sent by a QP of this process. */
struct uroce_inbox_item {
	struct uroce_packet packet; /* info is NULL: a loopback frame, which is not parsed yet */
	uint32_t port_id; /* port of the receiving device */
	uint32_t queue;   /* of this port, which has received the frame. Not for a loopback frame */
};

static_assert(sizeof(struct uroce_inbox_item) % 4 == 0, "an element of a ring");

/* A loopback frame that is not in an inbox yet. */
struct uroce_loop {
	struct rte_mbuf *mbuf;
	struct uroce_port_queue *from;
	uint32_t dest_qpn;
	uint16_t out; /* uroce_path.out */
	uint64_t to;  /* UROCE_OUT_GROUP: set of workers, each with a reference to the mbufs */
};

/* The load of a worker. Turn: rw, others: relaxed read. */
struct uroce_load {
	uint64_t busy_ns; /* time of rounds that moved frames */
	uint64_t rounds;
	uint64_t busy_rounds;
	uint64_t since_ns; /* start of the last round */
};

struct uroce_worker {
	alignas(UROCE_LINES_APART) struct uroce_engine engine;
	/* constant fields, which other workers read: two cache lines away from those that each poll writes */
	/* struct uroce_inbox_item; any worker enqueues, this one dequeues. uroce_inboxes_size() replaces it while no
	 * worker is polled */
	alignas(UROCE_LINES_APART) struct rte_ring *inbox;
	bool inbox_grows; /* constant: it has the default size */
	uint16_t index; /* also the reader's number in uroce_rcu */
	int numa_node;
	uint64_t since_ns; /* time of creation */
	uint32_t sleep;    /* atomic: enum uroce_sleep of the thread that drives or polls the worker */
	bool sleeps;       /* atomic: that thread sleeps at times */
	uint32_t lent_lcore; /* atomic: lcore id of the thread that drives the worker; LCORE_ID_ANY: none */
	struct uroce_wait *wait; /* atomic: the descriptor; NULL: none */
	struct uroce_worker_conf conf; /* constant, with the defaults filled in */
	/* a fair lock: a control thread gets the turn although an lcore polls all the time */
	alignas(UROCE_LINES_APART) rte_ticketlock_t turn;
	uint32_t guests; /* atomic: threads that wait for the turn in uroce_worker_enter_within() */
	bool cleanup;    /* atomic: a request that the ports free transmitted mbufs */
	uint32_t devices;   /* under workers_lock: number of devices that use the worker */
	uint32_t lcore;     /* under workers_lock: lcore that runs the worker; LCORE_ID_ANY: none */
	bool stop;          /* atomic */
	uint64_t helped_ns; /* under workers_lock: now_ns after the last poll by uroce_workers_help() */
	/* of uroce_driven_poll(), atomic */
	uint64_t moved_ns;  /* now_ns of the last call for this worker that moved frames */
	uint64_t user;      /* thread of the last call; 0: none */
	uint64_t shared_ns; /* now_ns of the last call by another thread than the one before */
	uint64_t idle_helps; /* polls by threads of other workers while this one was idle */
	uint64_t idle_help_ns; /* now_ns of the last of them */
	bool yields;        /* a thread of the application is in sched_yield() in a call, and will poll again */
	/* under the turn */
	uint64_t now_ns __rte_cache_aligned; /* time of this round; others: relaxed read */
	uint16_t nb_queues;
	uint16_t nb_loop;
	bool was_busy; /* the last round moved frames */
	bool enters_kernel; /* that of any queue's port */
	bool armed;    /* uroce_worker_arm() was successful, and its thread has not polled since then */
	bool visited;  /* another thread has had the turn since the last uroce_worker_poll() */
	uint64_t poller;    /* atomic: owner, the thread that last called uroce_worker_poll(); 0: none */
	uint64_t polled_ns; /* atomic: now_ns of that call */
	struct uroce_load load; /* in the cache line of now_ns, which each round writes */
	struct uroce_handover relay; /* frames of the inbox whose QP is on another worker by now */
	struct uroce_port_queue *queues[UROCE_MAX_DEVICES];
	struct uroce_port_queue *by_port[RTE_MAX_ETHPORTS]; /* the same queues, by port id */
	bool loop_stalled;
	bool revoked; /* uroce_tx_revoke() was called since the engine was last asked for frames */
	struct uroce_worker *feeder; /* atomic: the worker that has handed frames over to this one last; NULL: none */
	uint64_t loop_since_ns; /* no inbox has accepted a frame since then; 0: inboxes accept frames */
	uint64_t cleanup_ns; /* next time that ports free transmitted mbufs for deregistrations */
	uint64_t no_mbuf; /* UROCE_NO_MBUF of the engine after the last round */
	uint64_t lost; /* frames whose device is closed; others: relaxed read */
	struct uroce_worker *beside; /* a QP moves between the two: frames for its QPs need no inbox; NULL: none */
	struct uroce_loop loop[2 * UROCE_BURST]; /* loopback frames that wait for room in an inbox */
	struct uroce_held_frame relayed[UROCE_BURST]; /* of relay */
	uint64_t late_rounds;	/* as in struct uroce_worker_load; others: relaxed read */
	uint64_t latest_ns;	/* as in struct uroce_worker_load; others: relaxed read */
	uint64_t rested_rounds; /* atomic: load.rounds when the worker's thread last slept or left; 0: new worker */
};

static_assert(offsetof(struct uroce_worker, load) + sizeof(struct uroce_load) <=
		      offsetof(struct uroce_worker, now_ns) + RTE_CACHE_LINE_SIZE,
	      "a round writes one line of its worker");
/* Other workers read the constant fields, and threads that post write the doorbells. */
static_assert(offsetof(struct uroce_worker, now_ns) % RTE_CACHE_LINE_SIZE == 0 &&
		      offsetof(struct uroce_engine, doorbells) % RTE_CACHE_LINE_SIZE == 0 &&
		      sizeof(struct uroce_worker) % RTE_CACHE_LINE_SIZE == 0,
	      "a cache line is written by one thread");

static inline struct uroce_worker *
uroce_worker_of(struct uroce_engine *engine)
{
	return container_of(engine, struct uroce_worker, engine);
}

/** Wait for the worker's turn and take it; begins an RCU reader section. Control threads, not recursive. */
void uroce_worker_enter(struct uroce_worker *w);
void uroce_worker_exit(struct uroce_worker *w);
/** For the thread that polls: take the turn if it is free, and set now_ns. @return false: another thread has it */
bool uroce_worker_turn_try(struct uroce_worker *w);
void uroce_worker_turn_end(struct uroce_worker *w);
/** As uroce_worker_enter(), but time out after timeout_ns. @return false: another thread has kept the turn */
bool uroce_worker_enter_within(struct uroce_worker *w, uint64_t timeout_ns);

/** Has uroce_worker_fd() been called? */
static inline bool
uroce_worker_has_fd(const struct uroce_worker *w)
{
	return __atomic_load_n(&w->wait, __ATOMIC_RELAXED) != NULL;
}

/** Take the turns of two workers, in the order of their indices. Unlike uroce_worker_enter(), it begins no RCU reader
 * section. A thread that calls a driver of one worker must not be the reader of the other one: a thread with EAL's memory
 * lock may wait for that reader. Call uroce_worker_exit() for each. Control threads. */
void uroce_worker_enter_both(struct uroce_worker *a, struct uroce_worker *b);
/** Set the time of two workers whose turns the calling thread holds. @return the time, which is the same for both */
uint64_t uroce_worker_read_clocks(struct uroce_worker *a, struct uroce_worker *b);

/** Add a queue to its worker, or remove it. Control threads. */
void uroce_worker_add_queue(struct uroce_worker *w, struct uroce_port_queue *q);
void uroce_worker_del_queue(struct uroce_worker *w, struct uroce_port_queue *q);

/** Is the calling thread the last one that has called uroce_worker_poll()? */
static inline bool
uroce_worker_is_poller(const struct uroce_worker *w)
{
	return __atomic_load_n(&w->poller, __ATOMIC_RELAXED) == (uint64_t)pthread_self();
}

/** Note that the worker's thread has slept or left: the next round is not late. Any thread. */
static inline void
uroce_worker_rested(struct uroce_worker *w)
{
	__atomic_store_n(&w->rested_rounds, __atomic_load_n(&w->load.rounds, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

/** As uroce_worker_poll(), on behalf of the owner: does not change the owner, and runs no callbacks. */
unsigned int uroce_worker_round(struct uroce_worker *w);

/** Does no other thread own the worker? Then the calling thread may poll it while it waits. */
bool uroce_worker_is_ours(const struct uroce_worker *w);

/** Poll every worker of the process that no other thread owns, and request a cleanup of all. Not within a poll. */
void uroce_workers_progress(void);
/**
 * Poll the workers that no other thread has polled for UROCE_CM_POLL_NS. Only one thread calls this, periodically.
 * @param frames	set to the number of frames received and sent
 * @return	false: each worker has an lcore or a thread that drives it, and needs no help
 */
bool uroce_workers_help(unsigned int *frames);
/** Free the frames in inboxes for ports that have been removed from the worker. Not within a poll. */
void uroce_workers_drain(void);

/** Call fn for the worker of this index, under workers_lock, which keeps it alive. @return false: there is none */
bool uroce_workers_with(unsigned int index, void (*fn)(struct uroce_worker *w, void *arg), void *arg);

/** Count a device's use of workers. @return 0; -EINVAL: an entry is no worker of this process */
int uroce_workers_get(struct uroce_worker *const *workers, unsigned int n);
void uroce_workers_put(struct uroce_worker *const *workers, unsigned int n);

#endif /* UROCE_PORT_WORKER_WORKER_H */
