/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The worker's round: posted requests, inbox, RX, engine, TX. The polling thread that holds
 * the turn runs it; control threads take the turn to change the engine's state.
 */

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <rte_pause.h>
#include <rte_prefetch.h>

#include "base/rcu.h"
#include "port/worker/rx_prefetch.h"
#include "port/worker/rx_flow_cache.h"
#include "base/clock.h"
#include "port/worker/tx_kick.h"
#include "port/worker/rx.h"
#include "port/worker/tx.h"
#include "port/net/upkeep.h"
#include "port/worker/worker.h"
#include "uroce.h"
#include "verbs/address/mcast.h"
#include "verbs/qp/qp.h"
#include "verbs/device/reclaim.h"
#include "wire/gid.h"

#define SPINS 1000 /* before a thread that waits for its turn lets others run */

/* Received packets on their way to the engine. */
struct batch {
	unsigned int packet_count;
	unsigned int done_count;
	uint32_t payload_bytes; /* of the packets */
	struct uroce_rx_flow_cache alike; /* the last one that was checked header by header */
	struct uroce_qp *qps[UROCE_BURST];
	struct uroce_packet packets[UROCE_BURST];
	struct rte_mbuf *done[UROCE_BURST]; /* freed when the engine has read them */
};

/* Not an initialiser: that would clear all of it, in every poll. */
static void
batch_init(struct batch *b)
{
	b->packet_count = 0;
	b->done_count = 0;
	b->payload_bytes = 0;
	b->alike.q = NULL;
}

/* What the packets lie in is not freed yet. */
static void
batch_deliver(struct uroce_worker *w, struct batch *b)
{
	if (b->packet_count != 0)
		uroce_engine_receive(&w->engine, b->qps, b->packets, b->packet_count, w->now_ns);
	b->packet_count = 0;
	b->payload_bytes = 0;
}

static void
batch_finish(struct uroce_worker *w, struct batch *b)
{
	batch_deliver(w, b);
	if (b->done_count != 0)
		rte_pktmbuf_free_bulk(b->done, b->done_count);
	batch_init(b);
}

static bool
hand_over(struct uroce_worker *to, const struct uroce_packet *p, uint16_t port_id)
{
	struct uroce_inbox_item item = { .packet = *p, .port_id = port_id };

	return rte_ring_mp_enqueue_elem(to->inbox, &item, sizeof(item)) == 0;
}

/* One of a group's QPs is another worker's, which gets the same frame: nobody changes it. */
static void
group_hand_over(struct uroce_port_queue *q, const struct uroce_packet *p, const struct uroce_qp *qp)
{
	struct uroce_packet copy = *p;

	copy.dest_qpn = qp->ibv.qp_num; /* there it is for this QP alone */
	rte_pktmbuf_refcnt_update(p->mbuf, 1);
	if (hand_over(uroce_worker_of(qp->engine), &copy, q->port_id)) {
		uroce_counter_add(&q->counters[UROCE_PORT_HANDED_OVER], 1);
		return;
	}
	rte_pktmbuf_refcnt_update(p->mbuf, -1);
	uroce_counter_add(&q->verdicts[UROCE_DROP_HANDOVER], 1);
}

/* IBV_QP_CREATE_BLOCK_SELF_MCAST_LB: it has sent the packet, and does not want it back. */
static bool
group_leaves_out(const struct uroce_port_queue *q, const struct uroce_packet *p, const struct uroce_qp *qp)
{
	const struct uroce_deth *deth;
	uint8_t gid[16];

	if (!qp->mcast_block_self || p->info->ext[UROCE_EXT_DETH] == 0)
		return false;
	deth = uroce_packet_ext(p, UROCE_EXT_DETH);
	uroce_gid_from_ip(gid, p->ip_version, p->src_ip);
	return uroce_get24(deth->src_qp) == qp->ibv.qp_num &&
	       uroce_addresses_have(uroce_port_addresses(q->port), gid);
}

/* The packet that has been decoded at the batch's end is for no QP by number: is it for a group's?
 * Each gets it as if it had come for that one. */
static enum uroce_verdict
group_add(struct uroce_worker *w, struct uroce_port_queue *q, struct batch *b)
{
	const struct uroce_packet p = b->packets[b->packet_count];
	struct uroce_qp *qps[UROCE_MAX_MCAST_QPS];
	unsigned int n = 0, left_out = 0;
	uint8_t gid[16];

	uroce_gid_from_ip(gid, p.ip_version, p.dst_ip);
	if (p.dest_qpn == UROCE_MULTICAST_QPN && uroce_gid_is_multicast(gid))
		n = uroce_mcast_receivers(&q->port->dev, gid, qps);
	if (n == 0)
		return UROCE_DROP_QPN;
	batch_deliver(w, b); /* there is room for a burst of them now */
	for (unsigned int i = 0; i < n; i++) {
		if (group_leaves_out(q, &p, qps[i])) {
			left_out++;
			continue;
		}
		if (qps[i]->engine != &w->engine) {
			group_hand_over(q, &p, qps[i]);
			continue;
		}
		b->qps[b->packet_count] = qps[i];
		b->packets[b->packet_count++] = p;
		if (b->packet_count == RTE_DIM(b->packets))
			batch_deliver(w, b);
	}
	batch_deliver(w, b);
	uroce_counter_add(&q->counters[UROCE_PORT_GROUP_DELIVERIES], n - left_out);
	return UROCE_OK;
}

/* By the time that all of the batch is decoded it is there. */
static inline void
prefetch_key(const struct uroce_device *dev, const struct uroce_packet *p)
{
	const struct uroce_reth *reth = uroce_packet_ext(p, UROCE_EXT_RETH);

	uroce_key_prefetch(&dev->mrs, rte_be_to_cpu_32(reth->rkey));
}

/* Add the packet that has been decoded at the batch's end, if its QP is ours. */
static enum uroce_verdict
batch_add(struct uroce_worker *w, struct uroce_port_queue *q, struct batch *b)
{
	struct uroce_packet *p = &b->packets[b->packet_count];
	struct uroce_qp *qp = uroce_qp_lookup(&q->port->dev, p->dest_qpn);

	if (unlikely(qp == NULL))
		return group_add(w, q, b);
	if (unlikely(qp->engine != &w->engine)) {
		if (!hand_over(uroce_worker_of(qp->engine), p, q->port_id))
			return UROCE_DROP_HANDOVER;
		uroce_counter_add(&q->counters[UROCE_PORT_HANDED_OVER], 1);
		b->done_count--; /* the other worker frees it */
		return UROCE_OK;
	}
	if (p->info->ext[UROCE_EXT_RETH] != 0)
		prefetch_key(&q->port->dev, p);
	b->qps[b->packet_count++] = qp;
	b->payload_bytes += p->payload_bytes;
	if (b->payload_bytes >= UROCE_BATCH_BYTES)
		batch_deliver(w, b);
	return UROCE_OK;
}

static void
batch_frame(struct uroce_worker *w, struct uroce_port_queue *q, struct batch *b, struct rte_mbuf *m)
{
	struct uroce_packet *p = &b->packets[b->packet_count];
	enum uroce_verdict v;

	b->done[b->done_count++] = m;
	if (likely(uroce_rx_flow_cache_is(&b->alike, q, m))) {
		v = uroce_packet_decode_alike(m, UROCE_RX_FLOW_CACHE_IP, p);
	} else {
		v = uroce_rx_frame(q, m, w->now_ns, p);
		if (v == UROCE_OK && p->info != NULL)
			uroce_rx_flow_cache_set(&b->alike, q, p);
	}
	if (likely(v == UROCE_OK && p->info != NULL))
		v = batch_add(w, q, b);
	if (unlikely(v != UROCE_OK))
		uroce_counter_add(&q->verdicts[v], 1);
}

static void
batch_item(struct uroce_worker *w, struct batch *b, const struct uroce_inbox_item *item)
{
	struct uroce_port_queue *q = w->by_port[item->port_id];
	enum uroce_verdict v;

	if (unlikely(q == NULL)) {
		rte_pktmbuf_free(item->packet.mbuf);
		uroce_counter_add(&w->lost, 1);
		return;
	}
	if (item->packet.info == NULL) {
		batch_frame(w, q, b, item->packet.mbuf);
		return;
	}
	/* What another worker decoded stands: the frame has not been anywhere since. */
	b->packets[b->packet_count] = item->packet;
	b->done[b->done_count++] = item->packet.mbuf;
	v = batch_add(w, q, b);
	if (unlikely(v != UROCE_OK))
		uroce_counter_add(&q->verdicts[v], 1);
}

static unsigned int
inbox_receive(struct uroce_worker *w)
{
	struct uroce_inbox_item items[UROCE_BURST];
	struct batch b;
	unsigned int n;

	n = rte_ring_sc_dequeue_burst_elem(w->inbox, items, sizeof(items[0]), RTE_DIM(items), NULL);
	if (n == 0)
		return 0;
	batch_init(&b);
	for (unsigned int i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(items[i].packet.mbuf, void *));
	for (unsigned int i = 0; i < n; i++)
		batch_item(w, &b, &items[i]);
	batch_finish(w, &b);
	return n;
}

/* The mbufs of every frame, segment by segment, and where their data begin: all of it another core
 * may have written. Where that is, the mbuf says; most are like ours, whose first data are fetched
 * at the same time. */
static void
prefetch(struct rte_mbuf *const *frames, unsigned int n)
{
	struct rte_mbuf *segs[UROCE_BURST];

	for (unsigned int i = 0; i < n; i++) {
		segs[i] = frames[i];
		rte_prefetch0(segs[i]);
		rte_mbuf_prefetch_part2(segs[i]);
		rte_prefetch0((const uint8_t *)segs[i] + UROCE_ENGINE_DATA_OFFSET);
		rte_prefetch0((const uint8_t *)segs[i] + UROCE_ENGINE_DATA_OFFSET + RTE_CACHE_LINE_SIZE);
	}
	while (n != 0) {
		unsigned int left = 0;

		for (unsigned int i = 0; i < n; i++) {
			struct rte_mbuf *next = segs[i]->next;

			rte_prefetch0(rte_pktmbuf_mtod(segs[i], void *));
			if (next == NULL)
				continue;
			rte_prefetch0(next);
			rte_mbuf_prefetch_part2(next);
			segs[left++] = next;
		}
		n = left;
	}
}

/* One burst, then it is answered: with several, a peer whose window they fill waits for the last of them. */
static unsigned int
queue_receive(struct uroce_worker *w, struct uroce_port_queue *q)
{
	struct rte_mbuf *frames[UROCE_BURST];
	struct uroce_rx_prefetch ahead;
	struct batch b;
	unsigned int n;

	uroce_rcu_enter_driver(w->index);
	n = rte_eth_rx_burst(q->port_id, q->id, frames, RTE_DIM(frames));
	uroce_rcu_leave_driver(w->index);
	if (n == 0)
		return 0;
	batch_init(&b);
	prefetch(frames, n);
	uroce_rx_prefetch_init(&ahead, &q->port->dev, frames, n > 1 ? n : 0);
	for (unsigned int i = 0; i < 2 * UROCE_RX_AHEAD; i++)
		uroce_rx_prefetch_look(&ahead, i);
	for (unsigned int i = 0; i < UROCE_RX_AHEAD; i++)
		uroce_rx_prefetch_take(&ahead, i, &w->engine);
	for (unsigned int i = 0; i < n; i++) {
		uroce_rx_prefetch_look(&ahead, i + 2 * UROCE_RX_AHEAD);
		uroce_rx_prefetch_take(&ahead, i + UROCE_RX_AHEAD, &w->engine);
		batch_frame(w, q, &b, frames[i]);
	}
	batch_finish(w, &b);
	uroce_counter_add(&q->counters[UROCE_PORT_RX_FRAMES], n);
	return n;
}

/* For a thread that may be the last one to run this worker. */
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
		n = uroce_engine_send(&w->engine, frames, RTE_DIM(frames), w->now_ns);
		if (n == 0)
			break;
		uroce_tx_frames(w, frames, n);
		sent += uroce_tx_flush(w, w->now_ns);
		if (n < RTE_DIM(frames))
			break;
	}
	return sent;
}

/* A deregistration, in a thread or with a callback, waits for mbufs that reference its memory. */
static void
worker_cleanup(struct uroce_worker *w)
{
	/* pairs with the release in uroce_workers_progress() */
	if (!__atomic_exchange_n(&w->cleanup, false, __ATOMIC_ACQUIRE) && w->now_ns < w->cleanup_ns)
		return;
	w->cleanup_ns = w->now_ns + UROCE_CLEANUP_NS;
	for (unsigned int i = 0; i < w->nb_queues; i++) {
		struct uroce_port_queue *q = w->queues[i];
		int ret;

		if (__atomic_load_n(&q->port->dev.reclaims, __ATOMIC_RELAXED) != 0)
			uroce_tx_kick_wait(q->port, w->now_ns);
		uroce_rcu_enter_driver(w->index);
		ret = rte_eth_tx_done_cleanup(q->port_id, q->id, 0);
		uroce_rcu_leave_driver(w->index);
		if (ret == -ENOTSUP)
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

/* The TSC of the core that polls now may be behind that of the last one. */
static void
read_clock(struct uroce_worker *w)
{
	uint64_t last_ns = w->now_ns, now_ns = RTE_MAX(last_ns, uroce_clock_ns());

	if (unlikely(now_ns - last_ns > UROCE_ROUND_MAX_NS))
		uroce_tx_away(w, now_ns - last_ns - UROCE_ROUND_MAX_NS);
	__atomic_store_n(&w->now_ns, now_ns, __ATOMIC_RELAXED);
}

/* Was the source drained? A driver may return less than a full burst although its ring has more: virtio does at the end
 * of a cache line of its ring, others when they drop malformed frames. */
static inline bool
is_drained(unsigned int received)
{
	return received < UROCE_BURST_FULL;
}

/* First send what was posted since the last round, so that no received frame delays it. */
static unsigned int
worker_round(struct uroce_worker *w)
{
	unsigned int n = 0, received;
	bool drained;

	read_clock(w);
	if (uroce_engine_is_rung(&w->engine))
		n += worker_send(w);
	received = inbox_receive(w);
	n += received;
	drained = is_drained(received);
	for (unsigned int i = 0; i < w->nb_queues; i++) {
		struct uroce_port_queue *q = w->queues[i];

		received = queue_receive(w, q);
		n += received;
		drained &= is_drained(received);
		if (unlikely(q->id == 0 &&
			     w->now_ns >= __atomic_load_n(&q->port->upkeep_ns, __ATOMIC_RELAXED)))
			uroce_port_upkeep(q, w->now_ns);
	}
	uroce_engine_heard(&w->engine, w->now_ns, drained);
	n += worker_send(w);
	if (unlikely(__atomic_load_n(&w->cleanup, __ATOMIC_RELAXED) || uroce_reclaim_is_any()))
		worker_cleanup(w);
	load_add(w, n != 0);
	return n;
}

static inline bool
try_turn(struct uroce_worker *w)
{
	/* a guest only tries the lock, too, and would never find it free */
	return likely(__atomic_load_n(&w->guests, __ATOMIC_RELAXED) == 0) && rte_ticketlock_trylock(&w->turn);
}

static inline unsigned int
round_and_leave(struct uroce_worker *w, bool is_poller)
{
	unsigned int n;

	rte_rcu_qsbr_thread_online(uroce_rcu, w->index);
	n = worker_round(w);
	if (is_poller)
		__atomic_store_n(&w->polled_ns, w->now_ns, __ATOMIC_RELAXED);
	rte_rcu_qsbr_thread_offline(uroce_rcu, w->index);
	rte_ticketlock_unlock(&w->turn);
	return n;
}

unsigned int
uroce_worker_round(struct uroce_worker *w)
{
	return try_turn(w) ? round_and_leave(w, false) : 0;
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

/* As rte_ticketlock_lock(), but lets others run: who has the turn may have lost its core to this
 * thread. */
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

/* Send what the engine owes to peers before a control call changes a QP: it may be the last poll of this worker. A
 * driver may write to a file, where the thread could be canceled; it would keep the turn. */
void
uroce_worker_enter(struct uroce_worker *w)
{
	int cancel;

	turn_wait(&w->turn);
	rte_rcu_qsbr_thread_online(uroce_rcu, w->index);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	worker_send_owed(w);
	pthread_setcancelstate(cancel, &cancel);
}

/* A ticket cannot be given back: so none is taken before the turn is free. */
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
		rte_rcu_qsbr_thread_online(uroce_rcu, w->index);
	return entered;
}

void
uroce_worker_exit(struct uroce_worker *w)
{
	rte_rcu_qsbr_thread_offline(uroce_rcu, w->index);
	rte_ticketlock_unlock(&w->turn);
}

void
uroce_worker_add_queue(struct uroce_worker *w, struct uroce_port_queue *q)
{
	uroce_worker_enter(w);
	RTE_VERIFY(w->nb_queues < RTE_DIM(w->queues) && w->by_port[q->port_id] == NULL);
	w->queues[w->nb_queues++] = q;
	w->engine.ring_rounds = RTE_MAX(w->engine.ring_rounds, (q->nb_rx_desc + UROCE_BURST_FULL - 1u) / UROCE_BURST_FULL);
	w->by_port[q->port_id] = q;
	uroce_worker_exit(w);
}

void
uroce_worker_del_queue(struct uroce_worker *w, struct uroce_port_queue *q)
{
	uroce_worker_enter(w);
	uroce_tx_purge(q);
	for (unsigned int i = 0; i < w->nb_queues; i++)
		if (w->queues[i] == q)
			w->queues[i] = w->queues[--w->nb_queues];
	w->by_port[q->port_id] = NULL;
	uroce_worker_exit(w);
}
