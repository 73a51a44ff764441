/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Receives bursts of frames in two passes: the first parses each frame once and prefetches its QP, the second checks its
 * ICRC, looks its QP up, and delivers it to the engine, to another worker or to a multicast group. Workers, within a
 * poll.
 */

#include <rte_prefetch.h>

#include "base/rcu.h"
#include "port/worker/rx.h"
#include "port/worker/worker.h"
#include "uroce.h"
#include "verbs/address/mcast.h"
#include "verbs/qp/qp.h"
#include "wire/gid.h"

/* Received packets on their way to the engine. */
struct batch {
	unsigned int first;	/* the engine has received those before */
	unsigned int count;	/* packets that have been parsed */
	unsigned int done_count;
	uint32_t payload_bytes; /* of the packets from first on */
	struct uroce_qp *qps[UROCE_BURST];
	struct uroce_packet packets[UROCE_BURST];
	struct rte_mbuf *done[UROCE_BURST]; /* freed when the engine has read them */
};

/* Not an initializer: that would clear all of it, in every poll. */
static void
batch_init(struct batch *b)
{
	b->first = 0;
	b->count = 0;
	b->done_count = 0;
	b->payload_bytes = 0;
}

/* Deliver the packets before `end`. What they lie in is not freed yet. */
static void
batch_deliver(struct uroce_worker *w, struct batch *b, unsigned int end)
{
	if (end != b->first)
		uroce_engine_receive(&w->engine, &b->qps[b->first], &b->packets[b->first], end - b->first, w->now_ns);
	b->first = end;
	b->payload_bytes = 0;
}

static void
batch_finish(struct uroce_worker *w, struct batch *b)
{
	batch_deliver(w, b, b->count);
	if (b->done_count != 0)
		rte_pktmbuf_free_bulk(b->done, b->done_count);
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
	copy.to_group = false;
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

/* A packet that is for no QP by its number: is it for a group's? Each gets it as if it had come for that one. */
static enum uroce_verdict
group_receive(struct uroce_worker *w, struct uroce_port_queue *q, const struct uroce_packet *p)
{
	struct uroce_qp *qps[UROCE_MAX_MCAST_QPS];
	unsigned int n = 0, left_out = 0;
	uint8_t gid[16];

	uroce_gid_from_ip(gid, p->ip_version, p->dst_ip);
	if (p->dest_qpn == UROCE_MULTICAST_QPN && uroce_gid_is_multicast(gid))
		n = uroce_mcast_receivers(&q->port->dev, gid, qps);
	if (n == 0)
		return UROCE_DROP_QPN;
	for (unsigned int i = 0; i < n; i++) {
		if (group_leaves_out(q, p, qps[i]))
			left_out++;
		else if (qps[i]->engine != &w->engine)
			group_hand_over(q, p, qps[i]);
		else
			uroce_engine_receive(&w->engine, &qps[i], p, 1, w->now_ns);
	}
	uroce_counter_add(&q->counters[UROCE_PORT_GROUP_DELIVERIES], n - left_out);
	return UROCE_OK;
}

/* A packet that is not for one of our own engine's QPs. */
static enum uroce_verdict
other_receive(struct uroce_worker *w, struct uroce_port_queue *q, struct batch *b, const struct uroce_packet *p,
	      const struct uroce_qp *qp)
{
	if (qp == NULL || p->to_group)
		return group_receive(w, q, p);
	if (!hand_over(uroce_worker_of(qp->engine), p, q->port_id))
		return UROCE_DROP_HANDOVER;
	uroce_counter_add(&q->counters[UROCE_PORT_HANDED_OVER], 1);
	b->done_count--; /* the other worker frees it */
	return UROCE_OK;
}

/* By the time that all of the batch is decoded it is there. */
static inline void
prefetch_key(const struct uroce_device *dev, const struct uroce_packet *p)
{
	const struct uroce_reth *reth = uroce_packet_ext(p, UROCE_EXT_RETH);

	uroce_key_prefetch(&dev->mrs, rte_be_to_cpu_32(reth->rkey));
}

/* Find the QP of packet i, whose verdict is v so far, and deliver the batch up to here if that is enough. */
static inline void
batch_take(struct uroce_worker *w, struct uroce_port_queue *q, struct batch *b, unsigned int i, enum uroce_verdict v)
{
	const struct uroce_packet *p = &b->packets[i];
	struct uroce_qp *qp = NULL;

	b->done[b->done_count++] = p->mbuf;
	if (likely(v == UROCE_OK)) {
		qp = uroce_qp_lookup(&q->port->dev, p->dest_qpn);
		if (likely(qp != NULL && qp->engine == &w->engine && !p->to_group)) {
			if (p->info->ext[UROCE_EXT_RETH] != 0)
				prefetch_key(&q->port->dev, p);
			b->qps[i] = qp;
			b->payload_bytes += p->payload_bytes;
			if (b->payload_bytes >= UROCE_BATCH_BYTES)
				batch_deliver(w, b, i + 1);
			return;
		}
	}
	batch_deliver(w, b, i);
	b->first = i + 1;
	if (likely(v == UROCE_OK))
		v = other_receive(w, q, b, p, qp);
	if (unlikely(v != UROCE_OK))
		uroce_counter_add(&q->verdicts[v], 1);
}

/* Parse a frame as the batch's next packet. @return false: it is none, and done with */
static inline bool
batch_parse(struct uroce_worker *w, struct uroce_port_queue *q, struct batch *b, struct rte_mbuf *m)
{
	struct uroce_packet *p = &b->packets[b->count];
	enum uroce_verdict v = uroce_rx_frame(q, m, w->now_ns, p);

	if (likely(v == UROCE_OK && p->info != NULL)) {
		b->count++;
		return true;
	}
	if (v != UROCE_OK)
		uroce_counter_add(&q->verdicts[v], 1);
	b->done[b->done_count++] = m;
	return false;
}

static void
batch_item(struct uroce_worker *w, struct batch *b, const struct uroce_inbox_item *item)
{
	struct uroce_port_queue *q = w->by_port[item->port_id];
	unsigned int i = b->count;

	if (unlikely(q == NULL)) {
		rte_pktmbuf_free(item->packet.mbuf);
		uroce_counter_add(&w->lost, 1);
		return;
	}
	if (item->packet.info != NULL) {
		/* What another worker checked stands: the frame has not been anywhere since. */
		b->packets[b->count++] = item->packet;
		batch_take(w, q, b, i, UROCE_OK);
		return;
	}
	uroce_rx_flow_renew(q);
	if (batch_parse(w, q, b, item->packet.mbuf))
		batch_take(w, q, b, i, uroce_packet_check_icrc(&b->packets[i]));
}

unsigned int
uroce_rx_inbox(struct uroce_worker *w)
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
prefetch_frames(struct rte_mbuf *const *frames, unsigned int n)
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

/* With many QPs, what a packet needs of its own is in no cache: it is prefetched while packets before it are checked. */
static inline const struct uroce_qp *
qp_ahead(const struct uroce_device *dev, const struct batch *b, unsigned int i)
{
	if (i >= b->count || (i != 0 && b->packets[i].dest_qpn == b->packets[i - 1].dest_qpn))
		return NULL;
	return uroce_qp_lookup_unchecked(dev, b->packets[i].dest_qpn);
}

/* Whose the QP of packet i is. */
static inline void
prefetch_owner(const struct uroce_device *dev, const struct batch *b, unsigned int i)
{
	const struct uroce_qp *qp = qp_ahead(dev, b, i);

	if (qp != NULL)
		uroce_qp_prefetch_constant(qp);
}

/* ... and the rest of it, UROCE_RX_AHEAD packets later; nothing of another worker's QP, which that one is writing. */
static inline void
prefetch_state(const struct uroce_worker *w, const struct uroce_device *dev, const struct batch *b, unsigned int i)
{
	const struct uroce_qp *qp = qp_ahead(dev, b, i);

	if (qp != NULL && qp->engine == &w->engine)
		uroce_qp_prefetch_variable(qp);
}

/* @return how often the QP changes: with one for all there is nothing to prefetch that its first packet does not fetch */
static unsigned int
parse_all(struct uroce_worker *w, struct uroce_port_queue *q, struct batch *b, struct rte_mbuf *const *frames,
	  unsigned int n)
{
	uint32_t last = UINT32_MAX;
	unsigned int qps = 0;

	for (unsigned int i = 0; i < n; i++) {
		const struct uroce_packet *p = &b->packets[b->count];

		if (batch_parse(w, q, b, frames[i]) && p->dest_qpn != last) {
			last = p->dest_qpn;
			uroce_qp_lookup_prefetch(&q->port->dev, last);
			qps++;
		}
	}
	return qps;
}

static void
take_all(struct uroce_worker *w, struct uroce_port_queue *q, struct batch *b, bool prefetch)
{
	const struct uroce_device *dev = &q->port->dev;

	for (unsigned int i = 0; prefetch && i < 2 * UROCE_RX_AHEAD; i++)
		prefetch_owner(dev, b, i);
	for (unsigned int i = 0; prefetch && i < UROCE_RX_AHEAD; i++)
		prefetch_state(w, dev, b, i);
	for (unsigned int i = 0; i < b->count; i++) {
		if (prefetch) {
			prefetch_owner(dev, b, i + 2 * UROCE_RX_AHEAD);
			prefetch_state(w, dev, b, i + UROCE_RX_AHEAD);
		}
		batch_take(w, q, b, i, uroce_packet_check_icrc(&b->packets[i]));
	}
}

/* One burst, then it is answered: with several, a peer whose window they fill waits for the last of them. */
unsigned int
uroce_rx_queue(struct uroce_worker *w, struct uroce_port_queue *q)
{
	struct rte_mbuf *frames[UROCE_BURST];
	struct batch b;
	unsigned int n;

	uroce_rcu_enter_driver(w->index);
	n = rte_eth_rx_burst(q->port_id, q->id, frames, RTE_DIM(frames));
	uroce_rcu_leave_driver(w->index);
	if (n == 0)
		return 0;
	batch_init(&b);
	prefetch_frames(frames, n);
	uroce_rx_flow_renew(q);
	take_all(w, q, &b, parse_all(w, q, &b, frames, n) > 1);
	batch_finish(w, &b);
	uroce_counter_add(&q->counters[UROCE_PORT_RX_FRAMES], n);
	return n;
}
