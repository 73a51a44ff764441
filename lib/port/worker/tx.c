/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends frames to the port, to a neighbor's queue while its MAC address is unknown, or to the inbox of another worker.
 * Frames that the port does not accept wait in a small array; until it has room, the worker requests no more frames
 * from the engine. The worker, within a poll.
 */

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_pause.h>

#include "base/clock.h"
#include "base/rcu.h"
#include "port/memif/memif.h"
#include "port/registry.h"
#include "port/worker/inbox.h"
#include "port/worker/tx.h"
#include "verbs/address/mcast.h"
#include "verbs/qp/qp.h"
#include "wire/icrc.h"

bool
uroce_tx_ready(const struct uroce_worker *w)
{
	if (w->nb_loop > RTE_DIM(w->loop) - UROCE_BURST)
		return false;
	for (unsigned int i = 0; i < w->nb_queues; i++)
		if (w->queues[i]->nb_tx > UROCE_TX_ROOM - UROCE_BURST)
			return false;
	return true;
}

/* Note whether a port, or the inboxes, have accepted frames. After UROCE_TX_STALL_NS without one they count as stalled:
 * until they accept one again, their frames are dropped, so that they delay no other traffic. */
static void
note(uint64_t *since_ns, bool *stalled, bool moved, uint64_t now_ns)
{
	if (moved) {
		*since_ns = 0;
		*stalled = false;
	} else if (*since_ns == 0) {
		*since_ns = now_ns;
	} else if (now_ns - *since_ns > UROCE_TX_STALL_NS) {
		*stalled = true;
	}
}

/* @return the TX queue of the port; -EBUSY: another worker is using it */
static inline int
tx_take(struct uroce_port_queue *q)
{
	if (likely(q->tx_lock == NULL))
		return q->id;
	return rte_spinlock_trylock(q->tx_lock) ? q->tx_id : -EBUSY;
}

static inline void
tx_release(struct uroce_port_queue *q)
{
	if (unlikely(q->tx_lock != NULL))
		rte_spinlock_unlock(q->tx_lock);
}

/* Pass frames to the port. The driver of a port that was connected needs the ICRCs that the engine has left out. */
static inline unsigned int
pass(struct uroce_port_queue *q, uint16_t id, struct rte_mbuf **frames, uint16_t n)
{
	struct uroce_memif *memif = q->port->memif;

	if (unlikely(memif != NULL))
		return uroce_memif_send(memif, id, frames, n, &q->counters[UROCE_PORT_TX_BY_REFERENCE]);
	for (uint16_t i = 0; unlikely(q->port->at_process) && i < n; i++)
		if ((frames[i]->ol_flags & UROCE_MBUF_NO_ICRC) != 0)
			(void)uroce_icrc_fill(frames[i]);
	return rte_eth_tx_burst(q->port_id, id, frames, n);
}

int
uroce_tx_burst(struct uroce_port_queue *q, struct rte_mbuf **frames, unsigned int n)
{
	unsigned int sent = 0, last;
	int id = tx_take(q);

	if (unlikely(id < 0))
		return id;
	do {
		uroce_rcu_enter_driver(q->worker->index);
		last = pass(q, (uint16_t)id, frames + sent, (uint16_t)(n - sent));
		uroce_rcu_leave_driver(q->worker->index);
		sent += last;
	} while (last != 0 && sent < n);
	tx_release(q);
	return (int)sent;
}

int
uroce_tx_cleanup(struct uroce_port_queue *q)
{
	int id = tx_take(q), ret = 0;

	if (unlikely(id < 0))
		return id;
	uroce_rcu_enter_driver(q->worker->index);
	if (q->port->memif != NULL)
		uroce_memif_free_held(q->port->memif, (uint16_t)id);
	else
		ret = rte_eth_tx_done_cleanup(q->port_id, (uint16_t)id, 0);
	uroce_rcu_leave_driver(q->worker->index);
	tx_release(q);
	return ret;
}

void
uroce_tx_revoke(struct uroce_port_queue *q, const struct uroce_qp *qp)
{
	struct uroce_memif *memif = q->port->memif;

	if (memif == NULL || !qp->path.set_up)
		return;
	q->worker->revoked = true;
	if (q->tx_lock != NULL)
		rte_spinlock_lock(q->tx_lock);
	uroce_memif_revoke(memif, q->tx_lock != NULL ? q->tx_id : q->id, qp->path.headers.header_bytes,
			   qp->attr.dest_qp_num);
	tx_release(q);
}

static bool
has_attached(const struct rte_mbuf *m)
{
	while (m != NULL && !RTE_MBUF_HAS_EXTBUF(m))
		m = m->next;
	return m != NULL;
}

unsigned int
uroce_tx_drop_revoked(struct rte_mbuf **frames, unsigned int n)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (has_attached(frames[i]))
			rte_pktmbuf_free(frames[i]);
		else
			frames[kept++] = frames[i];
	}
	return kept;
}

/* A frame that waits must not reference the application's memory. Once the QP has failed, or a retransmission was
 * acknowledged, the application may change the memory, which no ICRC would reveal, or unmap it.
 * @return the frame, or a copy; NULL: there is no mbuf */
static struct rte_mbuf *
to_wait(const struct uroce_port_queue *q, struct rte_mbuf *m)
{
	struct rte_mbuf *copy;

	if (!q->port->dev.by_cpu || !has_attached(m))
		return m;
	copy = rte_pktmbuf_copy(m, q->worker->engine.payload_pool, 0, UINT32_MAX);
	rte_pktmbuf_free(m);
	return copy;
}

static void
queue_wait(struct uroce_port_queue *q)
{
	uint16_t n = 0;

	for (uint16_t i = 0; i < q->nb_tx; i++) {
		q->tx[n] = to_wait(q, q->tx[i]);
		n += q->tx[n] != NULL;
	}
	uroce_counter_add(&q->counters[UROCE_PORT_TX_DROP_STALLED], q->nb_tx - n);
	q->nb_tx = n;
}

static unsigned int
queue_flush(struct uroce_port_queue *q, uint64_t now_ns)
{
	unsigned int sent;
	int ret;

	if (q->nb_tx == 0)
		return 0;
	ret = uroce_tx_burst(q, q->tx, q->nb_tx);
	if (unlikely(ret < 0)) {
		queue_wait(q);
		return 0;	/* another worker is sending: not a stall of the port */
	}
	sent = (unsigned int)ret;
	uroce_counter_add(&q->counters[UROCE_PORT_TX_FRAMES], sent);
	q->nb_tx -= (uint16_t)sent;
	note(&q->tx_since_ns, &q->tx_stalled, sent != 0, now_ns);
	if (unlikely(q->tx_stalled)) {
		rte_pktmbuf_free_bulk(q->tx, q->nb_tx);
		uroce_counter_add(&q->counters[UROCE_PORT_TX_DROP_STALLED], q->nb_tx);
		q->nb_tx = 0;
	} else if (q->nb_tx != 0) {
		memmove(q->tx, q->tx + sent, q->nb_tx * sizeof(*q->tx));
		queue_wait(q);
	}
	return sent;
}

static void
queue_push(struct uroce_port_queue *q, struct rte_mbuf *m)
{
	if (unlikely(q->nb_tx == UROCE_TX_ROOM))
		queue_flush(q, q->worker->now_ns);
	if (unlikely(q->nb_tx == UROCE_TX_ROOM)) {
		rte_pktmbuf_free(m);
		uroce_counter_add(&q->counters[UROCE_PORT_TX_DROP_LOCAL], 1);
		return;
	}
	q->tx[q->nb_tx++] = m;
}

/* The neighbor's MAC address is not known: keep the frame in the neighbor table until it is. */
static void
queue_hold(struct uroce_port_queue *q, struct rte_mbuf *m, const uint8_t dst[16])
{
	struct uroce_port *port = q->port;
	struct rte_ether_hdr *eth;
	enum uroce_hold hold = UROCE_HOLD_FULL;
	uint8_t hop[16];

	m = to_wait(q, m);
	if (m == NULL) {
		uroce_counter_add(&q->counters[UROCE_PORT_TX_DROP_UNRESOLVED], 1);
		return;
	}
	eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	if (uroce_addresses_next_hop(uroce_port_addresses(port), dst, hop) == 0)
		hold = uroce_neighbor_hold(&port->neighbors, hop, m, &eth->dst_addr);
	switch (hold) {
	case UROCE_HOLD_RESOLVED: queue_push(q, m); break;
	case UROCE_HOLD_KEPT_DUE: uroce_port_upkeep_by(port, 0); break;
	case UROCE_HOLD_KEPT: break;
	case UROCE_HOLD_FULL:
		rte_pktmbuf_free(m);
		uroce_counter_add(&q->counters[UROCE_PORT_TX_DROP_UNRESOLVED], 1);
		break;
	}
}

void
uroce_tx_local(struct uroce_port_queue *q, struct rte_mbuf *m)
{
	queue_push(q, m);
}

void
uroce_tx_to(struct uroce_port_queue *q, struct rte_mbuf *m, const uint8_t dst[16])
{
	if (rte_is_zero_ether_addr(&rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr))
		queue_hold(q, m, dst);
	else
		queue_push(q, m);
}

void
uroce_tx_resolved(struct uroce_port_queue *q, struct rte_mbuf **frames, unsigned int n,
		  const struct rte_ether_addr *mac)
{
	for (unsigned int i = 0; i < n; i++) {
		rte_pktmbuf_mtod(frames[i], struct rte_ether_hdr *)->dst_addr = *mac;
		queue_push(q, frames[i]);
	}
}

/* @return the set of workers with QPs in the group, for a copy of the frame with a reference for each; 0: none */
static uint64_t
group_workers(const struct uroce_port *port, const uint8_t gid[16])
{
	struct uroce_qp *qps[UROCE_MAX_MCAST_QPS];
	uint64_t to = 0;
	unsigned int n;

	if (!uroce_addresses_in_group(uroce_port_addresses(port), gid))
		return 0;
	n = uroce_mcast_receivers(&port->dev, gid, qps);
	for (unsigned int i = 0; i < n; i++)
		to |= uroce_worker_bit(uroce_worker_of(uroce_qp_engine(qps[i])));
	return to;
}

/* Send a multicast frame to the port, and loop it back to the device's own QPs in the group, to which the port does not
 * return it. They get a copy, because the other end of the port may change the frame. */
static void
group_push(struct uroce_worker *w, struct uroce_port_queue *q, struct rte_mbuf *m, const uint8_t gid[16])
{
	uint64_t to = group_workers(q->port, gid);
	struct rte_mbuf *copy = NULL;

	if (to != 0)
		copy = rte_pktmbuf_copy(m, w->engine.payload_pool, 0, UINT32_MAX);
	if (copy != NULL) {
		rte_pktmbuf_refcnt_update(copy, (int16_t)(__builtin_popcountll(to) - 1));
		w->loop[w->nb_loop++] = (struct uroce_loop){
			.mbuf = copy, .from = q, .out = UROCE_OUT_GROUP, .to = to,
		};
	} else if (to != 0) {
		uroce_counter_add(&q->counters[UROCE_PORT_TX_DROP_LOOPBACK], 1);
	}
	queue_push(q, m);
}

/* Send a frame that has a route: to an unresolved neighbor, to a multicast group, or to a device of this process. */
static void
send_routed(struct uroce_worker *w, struct rte_mbuf *m)
{
	const struct uroce_frame_route route = *uroce_frame_route(m);
	struct uroce_port_queue *q = w->by_port[route.port_id];

	m->port = route.port_id;
	if (unlikely(q == NULL)) {
		rte_pktmbuf_free(m);
		uroce_counter_add(&w->lost, 1);
	} else if (route.out == 0) {
		queue_hold(q, m, route.dgid.raw);
	} else if (route.out == UROCE_OUT_GROUP) {
		group_push(w, q, m, route.dgid.raw);
	} else {
		w->loop[w->nb_loop++] = (struct uroce_loop){
			.mbuf = m, .from = q, .dest_qpn = route.dest_qpn, .out = route.out,
		};
	}
}

void
uroce_tx_frames(struct uroce_worker *w, struct rte_mbuf **frames, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = frames[i];

		if (m->port == RTE_MBUF_PORT_INVALID) {
			send_routed(w, m);
		} else if (unlikely(w->by_port[m->port] == NULL)) {
			rte_pktmbuf_free(m);
			uroce_counter_add(&w->lost, 1);
		} else {
			queue_push(w->by_port[m->port], m);
		}
	}
}

static void
loop_item(const struct uroce_loop *l, const struct uroce_port *port, struct uroce_inbox_item *item)
{
	item->packet.mbuf = l->mbuf;
	item->packet.info = NULL; /* the receiving worker parses it */
	item->port_id = port->port_id;
}

/* Find the worker of the QP that a unicast frame is for. @return NULL: the device or the QP is gone */
static struct uroce_worker *
loop_target(const struct uroce_loop *l, struct uroce_inbox_item *item)
{
	const struct uroce_port *port = uroce_registry_port(l->out - 1u);
	const struct uroce_qp *qp;

	if (port == NULL)
		return NULL;
	loop_item(l, port, item);
	qp = uroce_qp_lookup(&port->dev, l->dest_qpn);
	if (qp == NULL)
		return NULL;
	return uroce_worker_of(uroce_qp_engine(qp));
}

/* Free the references of a frame, one for each worker of a group. */
static void
loop_free(const struct uroce_loop *l)
{
	unsigned int n = l->out == UROCE_OUT_GROUP ? (unsigned int)__builtin_popcountll(l->to) : 1;

	while (n-- > 0)
		rte_pktmbuf_free(l->mbuf);
}

static void
loop_drop(const struct uroce_loop *l)
{
	uroce_counter_add(&l->from->counters[UROCE_PORT_TX_DROP_LOOPBACK], 1);
	loop_free(l);
}

/* Enqueue a multicast frame for each of its workers. @return 1; 0: an inbox is full */
static unsigned int
loop_group(struct uroce_loop *l)
{
	const struct uroce_port *port = l->from->port;
	struct uroce_inbox_item item;

	loop_item(l, port, &item);
	for (uint16_t i = 0; i < port->nb_queues; i++) {
		struct uroce_worker *w = port->queues[i].worker;

		if ((l->to & uroce_worker_bit(w)) != 0 && uroce_inbox_put_loopback(w, &item, 1) != 0)
			l->to &= ~uroce_worker_bit(w);
	}
	if (l->to != 0)
		return 0;
	uroce_counter_add(&l->from->counters[UROCE_PORT_LOOPBACK_FRAMES], 1);
	return 1;
}

/* Enqueue a run of loopback frames, from `first` on, that are for the same worker. @return the number of frames
 * enqueued or dropped; 0: the inbox is full */
static unsigned int
loop_run(struct uroce_worker *w, unsigned int first)
{
	struct uroce_inbox_item items[UROCE_BURST];
	struct uroce_worker *target, *next;
	unsigned int n = 1;

	if (w->loop[first].out == UROCE_OUT_GROUP)
		return loop_group(&w->loop[first]);
	target = loop_target(&w->loop[first], &items[0]);
	if (target == NULL) {
		loop_drop(&w->loop[first]);
		return 1;
	}
	while (n < RTE_DIM(items) && first + n < w->nb_loop && w->loop[first + n].out != UROCE_OUT_GROUP) {
		next = loop_target(&w->loop[first + n], &items[n]);
		if (next != target)
			break;
		n++;
	}
	n = uroce_inbox_put_loopback(target, items, n);
	for (unsigned int i = 0; i < n; i++)
		uroce_counter_add(&w->loop[first + i].from->counters[UROCE_PORT_LOOPBACK_FRAMES], 1);
	return n;
}

static unsigned int
loop_flush(struct uroce_worker *w, uint64_t now_ns)
{
	unsigned int done = 0, n;

	if (w->nb_loop == 0)
		return 0;
	do {
		n = loop_run(w, done);
		done += n;
	} while (n != 0 && done < w->nb_loop);
	w->nb_loop -= (uint16_t)done;
	memmove(w->loop, w->loop + done, w->nb_loop * sizeof(*w->loop));
	note(&w->loop_since_ns, &w->loop_stalled, done != 0, now_ns);
	if (unlikely(w->loop_stalled)) {
		for (unsigned int i = 0; i < w->nb_loop; i++)
			loop_drop(&w->loop[i]);
		w->nb_loop = 0;
	}
	return done;
}

static bool
has_frames(const struct uroce_worker *w)
{
	unsigned int n = w->nb_loop;

	for (unsigned int i = 0; i < w->nb_queues; i++)
		n += w->queues[i]->nb_tx;
	return n != 0;
}

unsigned int
uroce_tx_flush(struct uroce_worker *w, uint64_t now_ns)
{
	unsigned int sent = loop_flush(w, now_ns);

	for (unsigned int i = 0; i < w->nb_queues; i++)
		sent += queue_flush(w->queues[i], now_ns);
	return sent;
}

void
uroce_tx_drain(struct uroce_worker *w, uint64_t wait_ns)
{
	uint64_t begin_ns = uroce_clock_ns();

	while (has_frames(w) && uroce_clock_ns() - begin_ns < wait_ns)
		if (uroce_tx_flush(w, w->now_ns) == 0)
			rte_pause();
}

static void
put_off(uint64_t *since_ns, uint64_t ns)
{
	if (*since_ns != 0)
		*since_ns += ns;
}

void
uroce_tx_away(struct uroce_worker *w, uint64_t ns)
{
	put_off(&w->loop_since_ns, ns);
	uroce_handover_away(&w->relay, ns);
	for (unsigned int i = 0; i < w->nb_queues; i++) {
		put_off(&w->queues[i]->tx_since_ns, ns);
		uroce_handover_away(&w->queues[i]->handover, ns);
	}
}

void
uroce_tx_purge(struct uroce_port_queue *q)
{
	struct uroce_worker *w = q->worker;
	unsigned int kept = 0;

	rte_pktmbuf_free_bulk(q->tx, q->nb_tx);
	q->nb_tx = 0;
	for (unsigned int i = 0; i < w->nb_loop; i++) {
		if (w->loop[i].from == q)
			loop_free(&w->loop[i]);
		else
			w->loop[kept++] = w->loop[i];
	}
	w->nb_loop = (uint16_t)kept;
}
