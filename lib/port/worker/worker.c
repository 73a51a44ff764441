/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The worker's round: posted requests, inbox, RX, engine, TX. The polling thread that holds the turn runs it; control
 * threads take the turn to change the engine's state.
 */

#include <assert.h>
#include <pthread.h>
#include <sched.h>

#include <rte_pause.h>

#include "base/rcu.h"
#include "base/clock.h"
#include "base/log.h"
#include "port/worker/tx_kick.h"
#include "port/worker/rx.h"
#include "port/worker/tx.h"
#include "port/sleep/sleep.h"
#include "port/sleep/wait.h"
#include "port/sleep/wake.h"
#include "port/net/upkeep.h"
#include "port/worker/worker.h"
#include "uroce.h"
#include "verbs/device/reclaim.h"

#define SPINS 1000 /* iterations after which a thread that waits for the turn yields its core */

static_assert(UROCE_ROUND_LATE_NS == UROCE_PROBE_MIN_NS, "a peer may send a probe before a late round");
static_assert(UROCE_ROUND_LATE_NS <= UROCE_ROUND_MAX_NS, "read_clock() compares with the lower limit only");

/* Send the owed ACKs only: this may be the last time that a thread runs this worker. */
static void
worker_send_owed(struct uroce_worker *w)
{
	struct rte_mbuf *frames[UROCE_BURST];
	unsigned int n;

	do {
		if (!uroce_tx_ready(w))
			return;
		n = uroce_engine_send_owed(&w->engine, frames, RTE_DIM(frames));
		uroce_tx_frames(w, frames, n);
		uroce_tx_flush(w, w->now_ns);
	} while (n == RTE_DIM(frames));
}

static unsigned int
worker_send(struct uroce_worker *w)
{
	struct rte_mbuf *frames[UROCE_BURST];
	unsigned int sent, n;

	sent = uroce_tx_flush(w, w->now_ns);
	for (unsigned int i = 0; i < UROCE_POLL_BURSTS && uroce_tx_ready(w); i++) {
		if (unlikely(w->revoked)) /* before: those frames have left, or were copied */
			w->revoked = false;
		n = uroce_engine_send(&w->engine, frames, RTE_DIM(frames), w->now_ns);
		if (n == 0)
			break;
		uroce_tx_frames(w, frames, likely(!w->revoked) ? n : uroce_tx_drop_revoked(frames, n));
		sent += uroce_tx_flush(w, w->now_ns);
		if (n < RTE_DIM(frames))
			break;
	}
	return sent;
}

/* Has a pool been empty since the last call? Transmitted mbufs in the ports' rings may be all that it lacks. */
static inline bool
is_short(struct uroce_worker *w)
{
	uint64_t no_mbuf = w->engine.counters[UROCE_NO_MBUF];

	if (likely(no_mbuf == w->no_mbuf))
		return false;
	w->no_mbuf = no_mbuf;
	return true;
}

/* Have the ports free transmitted mbufs: a deregistration waits for mbufs that reference its memory, or a pool is
 * short of mbufs. */
static void
worker_cleanup(struct uroce_worker *w, bool short_of_mbufs)
{
	/* pairs with the release in uroce_workers_progress() */
	if (!__atomic_exchange_n(&w->cleanup, false, __ATOMIC_ACQUIRE) && w->now_ns < w->cleanup_ns)
		return;
	w->cleanup_ns = w->now_ns + UROCE_CLEANUP_NS;
	for (unsigned int i = 0; i < w->nb_queues; i++) {
		struct uroce_port_queue *q = w->queues[i];

		if (short_of_mbufs || __atomic_load_n(&q->port->dev.reclaims, __ATOMIC_RELAXED) != 0)
			uroce_tx_kick_wait(q->port, w->now_ns);
		if (uroce_tx_cleanup(q) == -ENOTSUP)
			uroce_tx_kick_send(q, w->now_ns);
	}
}

/* Account for the previous round, at the end of this one, after its frames have left. The previous round lasted until this
 * one began, so one clock read serves both. */
static void
load_add(struct uroce_worker *w, bool is_busy)
{
	struct uroce_load *load = &w->load;
	uint64_t took_ns = RTE_MIN(w->now_ns - load->since_ns, UROCE_ROUND_MAX_NS);

	uroce_counter_add(&load->busy_ns, took_ns & -(uint64_t)w->was_busy);
	uroce_counter_add(&load->busy_rounds, w->was_busy);
	uroce_counter_add(&load->rounds, 1);
	load->since_ns = w->now_ns;
	w->was_busy = is_busy;
}

/* Does the worker's thread sleep, or has it slept, left or not begun since the last round? */
static bool
has_rested(const struct uroce_worker *w)
{
	/* the read of `sleep` pairs with the exchanges in uroce_worker_sleep() and uroce_worker_wake(), which end the sleep */
	return w->armed || __atomic_load_n(&w->sleep, __ATOMIC_ACQUIRE) != UROCE_AWAKE ||
	       __atomic_load_n(&w->rested_rounds, __ATOMIC_RELAXED) == w->load.rounds;
}

/* No round has begun for ns. Unless the worker's thread rested, the system took its CPU away, or it did other work. */
static __rte_noinline void
end_gap(struct uroce_worker *w, uint64_t ns)
{
	if (ns > UROCE_ROUND_MAX_NS)
		uroce_tx_away(w, ns - UROCE_ROUND_MAX_NS);
	if (has_rested(w))
		return;
	uroce_counter_add(&w->late_rounds, 1);
	__atomic_store_n(&w->latest_ns, RTE_MAX(w->latest_ns, ns), __ATOMIC_RELAXED);
}

/* Set now_ns, which never goes back: the TSC of this core may be behind that of the core that polled last. */
static void
read_clock(struct uroce_worker *w)
{
	uint64_t last_ns = w->now_ns, now_ns = RTE_MAX(last_ns, uroce_clock_ns());

	if (unlikely(now_ns - last_ns >= UROCE_ROUND_LATE_NS))
		end_gap(w, now_ns - last_ns);
	__atomic_store_n(&w->now_ns, now_ns, __ATOMIC_RELAXED);
}

/* Was the source drained? A driver may return less than a full burst although its ring has more: virtio does at the end
 * of a cache line of its ring, others when they drop malformed frames. A source whose frames wait for other workers is
 * not polled. */
static inline bool
is_drained(unsigned int received, const struct uroce_handover *h)
{
	return received < UROCE_BURST_FULL && h->count == 0;
}

/* Run one round. It sends the requests posted since the last round first, so that no received frame delays them. */
static unsigned int
worker_round(struct uroce_worker *w)
{
	unsigned int n = 0, received;
	bool drained, short_of_mbufs;

	read_clock(w);
	if (uroce_engine_is_rung(&w->engine))
		n += worker_send(w);
	received = uroce_rx_inbox(w);
	n += received;
	drained = is_drained(received, &w->relay);
	for (unsigned int i = 0; i < w->nb_queues; i++) {
		struct uroce_port_queue *q = w->queues[i];

		received = uroce_rx_queue(w, q);
		n += received;
		drained &= is_drained(received, &q->handover);
		if (unlikely(q->id == 0 &&
			     w->now_ns >= __atomic_load_n(&q->port->upkeep_ns, __ATOMIC_RELAXED)))
			uroce_port_upkeep(q, w->now_ns);
	}
	uroce_engine_heard(&w->engine, w->now_ns, drained);
	n += worker_send(w);
	short_of_mbufs = is_short(w);
	if (unlikely(short_of_mbufs || __atomic_load_n(&w->cleanup, __ATOMIC_RELAXED) || uroce_reclaim_is_any()))
		worker_cleanup(w, short_of_mbufs);
	load_add(w, n != 0);
	return n;
}

static inline bool
try_turn(struct uroce_worker *w)
{
	/* a guest also only tries the lock, so polling threads leave it free for the guest */
	return likely(__atomic_load_n(&w->guests, __ATOMIC_RELAXED) == 0) && rte_ticketlock_trylock(&w->turn);
}

/* A thread that does not poll the worker had the turn: completions and deadlines may have changed. */
static inline void
end_visit(struct uroce_worker *w)
{
	w->visited = true;
	if (unlikely(w->armed))
		uroce_wait_interrupt(w);
}

/* The first poll after a sleep, or after a visit. */
static void
end_sleep(struct uroce_worker *w)
{
	int cancel;

	w->visited = false;
	if (!w->armed)
		return;
	uroce_worker_rested(w);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* as in round_uncanceled() */
	uroce_wait_end(w);
	pthread_setcancelstate(cancel, &cancel);
}

static inline unsigned int
round_online(struct uroce_worker *w)
{
	unsigned int n;

	uroce_rcu_online(w->index);
	n = worker_round(w);
	uroce_rcu_offline(w->index);
	return n;
}

/* The engine has no cancellation point, but a driver that enters the kernel has: a thread canceled there would keep the
 * turn, with frames of which nobody knows whether they were sent. */
static unsigned int
round_uncanceled(struct uroce_worker *w)
{
	unsigned int n;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	n = round_online(w);
	pthread_setcancelstate(cancel, &cancel);
	return n;
}

static inline unsigned int
round_and_leave(struct uroce_worker *w, bool is_poller)
{
	unsigned int n;

	if (is_poller && unlikely(w->armed || w->visited))
		end_sleep(w);
	n = unlikely(w->enters_kernel) ? round_uncanceled(w) : round_online(w);
	if (is_poller)
		__atomic_store_n(&w->polled_ns, w->now_ns, __ATOMIC_RELAXED);
	else
		end_visit(w);
	rte_ticketlock_unlock(&w->turn);
	return n;
}

/* The thread that polled the worker last owns it until it has not polled for UROCE_WORKER_LEFT_NS, or sleeps. A thread
 * that drives the worker does not own it. */
bool
uroce_worker_is_ours(const struct uroce_worker *w)
{
	uint64_t poller = __atomic_load_n(&w->poller, __ATOMIC_RELAXED);

	return poller == 0 || poller == (uint64_t)pthread_self() || uroce_worker_is_driven(w) || uroce_worker_is_waiting(w) ||
	       __atomic_load_n(&w->polled_ns, __ATOMIC_RELAXED) + UROCE_WORKER_LEFT_NS <= uroce_clock_ns();
}

/* If no other thread owns the worker, no thread has to poll it soon: its next round is not late. */
unsigned int
uroce_worker_round(struct uroce_worker *w)
{
	unsigned int n = try_turn(w) ? round_and_leave(w, false) : 0;

	if (uroce_worker_is_ours(w))
		uroce_worker_rested(w);
	return n;
}

unsigned int
uroce_worker_poll(struct uroce_worker *w)
{
	unsigned int n;

	if (!try_turn(w))
		return 0;
	__atomic_store_n(&w->poller, (uint64_t)pthread_self(), __ATOMIC_RELAXED);
	n = round_and_leave(w, true);
	if (unlikely(uroce_reclaim_is_any()))
		uroce_reclaim_run();
	return n;
}

/* As rte_ticketlock_lock(), but yields the core, on which the thread that holds the turn may have to run. */
static void
turn_wait(rte_ticketlock_t *turn)
{
	uint16_t me = __atomic_fetch_add(&turn->s.next, 1, __ATOMIC_RELAXED);
	unsigned int spins = 0;

	/* pairs with the release in rte_ticketlock_unlock() */
	while (__atomic_load_n(&turn->s.current, __ATOMIC_ACQUIRE) != me) {
		if (++spins % SPINS == 0)
			sched_yield();
		else
			rte_pause();
	}
}

/* Send owed ACKs before a control call changes a QP: it may be the last poll of this worker. Cancellation is disabled,
 * because a driver may write to a file: a thread canceled there would keep the turn. */
void
uroce_worker_enter(struct uroce_worker *w)
{
	int cancel;

	turn_wait(&w->turn);
	uroce_rcu_online(w->index);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	worker_send_owed(w);
	pthread_setcancelstate(cancel, &cancel);
}

/* A ticket cannot be returned, so the thread tries the lock instead of waiting with a ticket. */
bool
uroce_worker_enter_within(struct uroce_worker *w, uint64_t timeout_ns)
{
	uint64_t deadline_ns = uroce_clock_ns() + timeout_ns;
	bool entered;

	__atomic_fetch_add(&w->guests, 1, __ATOMIC_RELAXED);
	while (!(entered = rte_ticketlock_trylock(&w->turn)) && uroce_clock_ns() < deadline_ns)
		sched_yield();
	__atomic_fetch_sub(&w->guests, 1, __ATOMIC_RELAXED);
	if (entered)
		uroce_rcu_online(w->index);
	return entered;
}

void
uroce_worker_exit(struct uroce_worker *w)
{
	end_visit(w);
	uroce_worker_turn_end(w);
}

bool
uroce_worker_turn_try(struct uroce_worker *w)
{
	if (!try_turn(w))
		return false;
	uroce_rcu_online(w->index);
	read_clock(w);
	return true;
}

void
uroce_worker_turn_end(struct uroce_worker *w)
{
	uroce_rcu_offline(w->index);
	rte_ticketlock_unlock(&w->turn);
}

/* A thread that waits for a turn is not a reader: the thread that has that turn may wait for the readers. */
void
uroce_worker_enter_both(struct uroce_worker *a, struct uroce_worker *b)
{
	struct uroce_worker *first = a->index < b->index ? a : b, *second = a->index < b->index ? b : a;

	uroce_worker_enter(first);
	uroce_rcu_end_read(first->index);
	uroce_worker_enter(second);
	uroce_rcu_end_read(second->index);
}

uint64_t
uroce_worker_read_clocks(struct uroce_worker *a, struct uroce_worker *b)
{
	uint64_t now_ns;

	read_clock(a);
	read_clock(b);
	now_ns = RTE_MAX(a->now_ns, b->now_ns);
	__atomic_store_n(&a->now_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&b->now_ns, now_ns, __ATOMIC_RELAXED);
	return now_ns;
}

/* A driver may keep a ring full of transmitted mbufs, and free them only to send more. */
static void
check_headers(const struct uroce_worker *w, const struct uroce_port_queue *q)
{
	unsigned int mbufs = 0;

	for (unsigned int i = 0; i < w->nb_queues; i++)
		mbufs += w->queues[i]->nb_tx_desc;
	if (mbufs > w->engine.header_pool->size)
		UROCE_LOG(WARNING,
			  "port %u: the TX rings of worker %u hold %u mbufs, and it has only %u header_mbufs: raise them, "
			  "or lower nb_tx_desc\n",
			  q->port_id, w->index, mbufs, w->engine.header_pool->size);
}

void
uroce_worker_add_queue(struct uroce_worker *w, struct uroce_port_queue *q)
{
	uroce_worker_enter(w);
	RTE_VERIFY(w->nb_queues < RTE_DIM(w->queues) && w->by_port[q->port_id] == NULL);
	w->queues[w->nb_queues++] = q;
	w->enters_kernel |= q->port->enters_kernel;
	w->engine.ring_rounds = RTE_MAX(w->engine.ring_rounds,
					(q->nb_rx_desc + UROCE_BURST_FULL - 1u) / UROCE_BURST_FULL);
	w->by_port[q->port_id] = q;
	uroce_mrs_count_for(&q->port->dev.mrs, w->index);
	if (w->wait != NULL)
		uroce_wait_add_queue(w, q);
	check_headers(w, q);
	uroce_worker_exit(w);
}

void
uroce_worker_del_queue(struct uroce_worker *w, struct uroce_port_queue *q)
{
	uroce_worker_enter(w);
	if (w->wait != NULL)
		uroce_wait_del_queue(w->wait, q);
	uroce_tx_purge(q);
	uroce_handover_purge(&q->handover, q);
	uroce_handover_purge(&w->relay, q);
	for (unsigned int i = 0; i < w->nb_queues; i++)
		if (w->queues[i] == q)
			w->queues[i] = w->queues[--w->nb_queues];
	w->enters_kernel = false;
	for (unsigned int i = 0; i < w->nb_queues; i++)
		w->enters_kernel |= w->queues[i]->port->enters_kernel;
	w->by_port[q->port_id] = NULL;
	uroce_worker_exit(w);
}
