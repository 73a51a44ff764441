/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Receives bursts of frames in two passes. The first pass parses each frame once, and prefetches its QP. The second pass
 * checks the ICRC, looks up the QP, and delivers the frame to the engine, to another worker or to a multicast group.
 * Workers, within a poll.
 */

#include <rte_prefetch.h>

#include "base/rcu.h"
#include "port/memif/memif.h"
#include "port/worker/handover.h"
#include "port/worker/rx.h"
#include "port/worker/worker.h"
#include "uroce.h"
#include "verbs/address/mcast.h"
#include "verbs/qp/qp.h"
#include "wire/gid.h"

/* Packets of a burst. The engine has received those before `first`. */
struct batch {
	struct uroce_handover *source; /* for packets of other workers' QPs */
	unsigned int first;	/* first packet that the engine has not received */
	unsigned int count;	/* packets that have been parsed */
	unsigned int done_count;
	unsigned int delivered;	/* packets that the engine has received */
	uint32_t payload_bytes; /* payload of the packets from first on */
	struct uroce_qp *qps[UROCE_BURST];
	struct uroce_packet packets[UROCE_BURST];
	struct rte_mbuf *done[UROCE_BURST]; /* mbufs to free once the engine has received all packets */
};

/* Initialize field by field: an initializer would clear the arrays, too, in every poll. */
static void
batch_init(struct batch *b, struct uroce_handover *source)
{
	b->source = source;
	b->first = 0;
	b->count = 0;
	b->done_count = 0;
	b->delivered = 0;
	b->payload_bytes = 0;
}

/* Deliver the packets before `end` to the engine, without freeing their mbufs. */
static void
batch_deliver(struct uroce_worker *w, struct batch *b, unsigned int end)
{
	if (end != b->first)
		uroce_engine_receive(&w->engine, &b->qps[b->first], &b->packets[b->first], end - b->first, w->now_ns);
	b->delivered += end - b->first;
	b->first = end;
	b->payload_bytes = 0;
}

static inline void
batch_done(struct batch *b, struct rte_mbuf *m)
{
	if (likely(!uroce_mbuf_is_borrowed(m)))
		b->done[b->done_count++] = m;
}

static void
batch_finish(struct uroce_worker *w, struct batch *b)
{
	batch_deliver(w, b, b->count);
	if (b->done_count != 0)
		rte_pktmbuf_free_bulk(b->done, b->done_count);
}

/* Has the QP sent the packet itself, with IBV_QP_CREATE_BLOCK_SELF_MCAST_LB? */
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

/* Deliver a multicast packet to each QP of this worker in the group, as if it were addressed to that QP.
 * @param others	set to the other workers with QPs in the group */
static enum uroce_verdict
group_deliver(struct uroce_worker *w, struct uroce_port_queue *q, const struct uroce_packet *p, uint64_t *others)
{
	struct uroce_qp *qps[UROCE_MAX_MCAST_QPS];
	unsigned int n = 0, delivered = 0;
	uint8_t gid[16];

	*others = 0;
	uroce_gid_from_ip(gid, p->ip_version, p->dst_ip);
	if (p->dest_qpn == UROCE_MULTICAST_QPN && uroce_gid_is_multicast(gid))
		n = uroce_mcast_receivers(&q->port->dev, gid, qps);
	for (unsigned int i = 0; i < n; i++) {
		if (group_leaves_out(q, p, qps[i]))
			continue;
		if (uroce_qp_engine(qps[i]) != &w->engine) {
			*others |= uroce_worker_bit(uroce_worker_of(uroce_qp_engine(qps[i])));
			continue;
		}
		uroce_engine_receive(&w->engine, &qps[i], p, 1, w->now_ns);
		delivered++;
	}
	uroce_counter_add(&q->counters[UROCE_PORT_GROUP_DELIVERIES], delivered);
	return n != 0 ? UROCE_OK : UROCE_DROP_QPN;
}

/* A packet from the inbox has been handed over to each worker of the group. */
static enum uroce_verdict
group_receive(struct uroce_worker *w, struct uroce_port_queue *q, const struct batch *b, const struct uroce_packet *p)
{
	struct uroce_packet kept;
	uint64_t others;
	enum uroce_verdict v = group_deliver(w, q, p, &others);

	if (b->source == &w->relay || others == 0)
		return v;
	if (uroce_packet_keep(p, &kept) != 0)
		return UROCE_DROP_HANDOVER;
	uroce_handover_group(b->source, q, &kept, others, w->now_ns);
	rte_pktmbuf_free(kept.mbuf);
	return v;
}

/* Hand a packet over to the worker of its QP, which frees it. */
static enum uroce_verdict
hand_over(struct uroce_worker *w, struct uroce_port_queue *q, struct batch *b, const struct uroce_packet *p,
	  const struct uroce_qp *qp)
{
	struct uroce_packet kept;

	if (likely(!uroce_mbuf_is_borrowed(p->mbuf)))
		b->done_count--;
	else if (uroce_packet_keep(p, &kept) != 0)
		return UROCE_DROP_HANDOVER;
	else
		p = &kept;
	uroce_handover(b->source, q, p, uroce_worker_of(uroce_qp_engine(qp)), w->now_ns);
	return UROCE_OK;
}

/* Process a packet that is not for a QP of this worker's engine. */
static enum uroce_verdict
other_receive(struct uroce_worker *w, struct uroce_port_queue *q, struct batch *b, const struct uroce_packet *p,
	      const struct uroce_qp *qp)
{
	if (qp == NULL || p->to_group)
		return group_receive(w, q, b, p);
	if (b->source == &q->handover)
		uroce_notes_add(q, p);
	return hand_over(w, q, b, p, qp);
}

/* Prefetch the packet's key, which arrives while the other packets of the batch are checked. */
static inline void
prefetch_key(const struct uroce_device *dev, const struct uroce_packet *p)
{
	const struct uroce_reth *reth = uroce_packet_ext(p, UROCE_EXT_RETH);

	uroce_key_prefetch(&dev->mrs, rte_be_to_cpu_32(reth->rkey));
}

/* Find the QP of packet i, whose verdict is v so far. Deliver the batch up to it once it has UROCE_BATCH_BYTES. */
static inline void
batch_take(struct uroce_worker *w, struct uroce_port_queue *q, struct batch *b, unsigned int i, enum uroce_verdict v)
{
	const struct uroce_packet *p = &b->packets[i];
	struct uroce_qp *qp = NULL;

	batch_done(b, p->mbuf);
	if (likely(v == UROCE_OK)) {
		qp = uroce_qp_lookup(&q->port->dev, p->dest_qpn);
		if (likely(qp != NULL && uroce_qp_engine(qp) == &w->engine && !p->to_group)) {
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

/* Parse a frame as the batch's next packet. @return false: it is dropped, or was not RoCEv2 and has been processed */
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
	batch_done(b, m);
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
		/* another worker has parsed the packet and checked its ICRC */
		__atomic_store_n(&w->feeder, q->port->queues[item->queue].worker, __ATOMIC_RELAXED);
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

	if (unlikely(w->relay.count != 0)) {
		n = uroce_handover_retry(&w->relay, w->now_ns);
		if (w->relay.count != 0)
			return n;
	}
	n = rte_ring_sc_dequeue_burst_elem(w->inbox, items, sizeof(items[0]), RTE_DIM(items), NULL);
	if (n == 0)
		return 0;
	batch_init(&b, &w->relay);
	for (unsigned int i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(items[i].packet.mbuf, void *));
	for (unsigned int i = 0; i < n; i++)
		batch_item(w, &b, &items[i]);
	batch_finish(w, &b);
	return n;
}

/* At first the frames of the inbox, but not more than it has now: other workers may continue to enqueue. Then those for
 * which it had no room. */
void
uroce_rx_inbox_drain(struct uroce_worker *w, struct uroce_worker *beside)
{
	unsigned int left = rte_ring_count(w->inbox), n;

	w->beside = beside;
	beside->beside = w;
	while (left != 0 && (n = uroce_rx_inbox(w)) != 0)
		left -= RTE_MIN(left, n);
	for (unsigned int i = 0; i < beside->nb_queues; i++)
		if (beside->queues[i]->handover.count != 0)
			uroce_handover_retry(&beside->queues[i]->handover, beside->now_ns);
	w->beside = beside->beside = NULL;
}

/* Prefetch the mbufs of all frames, segment by segment, and the start of their data, which another core may have
 * written. The address of the data is in the mbuf; for most mbufs it is the same as in our pools, so that it is
 * prefetched together with the mbuf. */
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

/* The QP of packet i, for prefetching it while packets before i are checked: with many QPs it is in no cache. NULL:
 * packet i - 1 has the same QP, or there is no such packet or QP. */
static inline const struct uroce_qp *
qp_ahead(const struct uroce_device *dev, const struct batch *b, unsigned int i)
{
	if (i >= b->count || (i != 0 && b->packets[i].dest_qpn == b->packets[i - 1].dest_qpn))
		return NULL;
	return uroce_qp_lookup_unchecked(dev, b->packets[i].dest_qpn);
}

/* Prefetch the constant part of packet i's QP, with its engine. */
static inline void
prefetch_owner(const struct uroce_device *dev, const struct batch *b, unsigned int i)
{
	const struct uroce_qp *qp = qp_ahead(dev, b, i);

	if (qp != NULL)
		uroce_qp_prefetch_constant(qp);
}

/* Prefetch the variable part of packet i's QP, UROCE_RX_AHEAD packets later. Skip QPs of other workers, which write
 * that part. */
static inline void
prefetch_state(const struct uroce_worker *w, const struct uroce_device *dev, const struct batch *b, unsigned int i)
{
	const struct uroce_qp *qp = qp_ahead(dev, b, i);

	if (qp != NULL && uroce_qp_engine(qp) == &w->engine)
		uroce_qp_prefetch_variable(qp);
}

/* Prefetch the payload of packet i in its first segment, while packet i - 1 is checked and placed. The packet's headers
 * have arrived. */
static inline void
prefetch_payload(const struct batch *b, unsigned int i)
{
	const struct uroce_packet *p = &b->packets[i];
	const uint8_t *payload;
	uint32_t room, bytes;

	if (i >= b->count || p->payload_bytes < UROCE_RX_AHEAD_MIN_BYTES)
		return;
	payload = rte_pktmbuf_mtod_offset(p->mbuf, const uint8_t *, p->payload_offset);
	room = rte_pktmbuf_data_len(p->mbuf) - p->payload_offset;
	bytes = RTE_MIN(RTE_MIN(p->payload_bytes, room), (uint32_t)UROCE_RX_AHEAD_MAX_BYTES);
	for (uint32_t done = RTE_CACHE_LINE_SIZE; done < bytes; done += RTE_CACHE_LINE_SIZE)
		rte_prefetch0(payload + done);
}

/* Parse all frames of a burst. @return how often the QP changes from packet to packet; if once, prefetching is
 * useless */
static unsigned int
parse_all(struct uroce_worker *w, struct uroce_port_queue *q, struct batch *b, struct rte_mbuf *const *frames,
	  unsigned int n)
{
	const struct uroce_packet *like = NULL;	/* the last packet that was parsed in full, if in the flow */
	uint32_t last = UINT32_MAX;
	unsigned int qps = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct uroce_packet *p = &b->packets[b->count];

		if (like != NULL && uroce_packet_repeat(like, frames[i], p)) {
			b->count++;
			continue;
		}
		if (!batch_parse(w, q, b, frames[i]))
			continue;
		like = p->in_flow ? p : NULL;
		if (p->dest_qpn != last) {
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
	struct uroce_icrc_head head;

	for (unsigned int i = 0; prefetch && i < 2 * UROCE_RX_AHEAD; i++)
		prefetch_owner(dev, b, i);
	for (unsigned int i = 0; prefetch && i < UROCE_RX_AHEAD; i++)
		prefetch_state(w, dev, b, i);
	for (unsigned int i = 0; i < b->count; i++) {
		if (prefetch) {
			prefetch_owner(dev, b, i + 2 * UROCE_RX_AHEAD);
			prefetch_state(w, dev, b, i + UROCE_RX_AHEAD);
		}
		prefetch_payload(b, i + 1);
		batch_take(w, q, b, i, uroce_packet_check_next(&b->packets[i], &head));
	}
}

static unsigned int
memif_receive(struct uroce_port_queue *q, struct rte_mbuf **frames)
{
	struct uroce_memif *memif = q->port->memif;

	if (likely(q->tx_lock == NULL)) /* else uroce_tx_cleanup() does it */
		uroce_memif_free_held(memif, q->id);
	return uroce_memif_receive(memif, q->id, q->pool, frames);
}

/* Receive only one burst before answering: a peer whose window is full would wait for the last of several bursts. */
unsigned int
uroce_rx_queue(struct uroce_worker *w, struct uroce_port_queue *q)
{
	struct rte_mbuf *frames[UROCE_BURST];
	struct batch b;
	unsigned int n;

	if (unlikely(q->handover.count != 0)) {
		n = uroce_handover_retry(&q->handover, w->now_ns);
		if (q->handover.count != 0)
			return n;
	}
	if (unlikely(q->no_rx))
		return 0;
	uroce_rcu_enter_driver(w->index);
	if (likely(q->port->memif == NULL))
		n = rte_eth_rx_burst(q->port_id, q->id, frames, RTE_DIM(frames));
	else
		n = memif_receive(q, frames);
	uroce_rcu_leave_driver(w->index);
	if (n == 0)
		return 0;
	batch_init(&b, &q->handover);
	prefetch_frames(frames, n);
	uroce_rx_flow_renew(q);
	take_all(w, q, &b, parse_all(w, q, &b, frames, n) > 1);
	batch_finish(w, &b);
	if (q->port->memif != NULL)
		uroce_memif_release(q->port->memif, q->id);
	uroce_counter_add(&q->counters[UROCE_PORT_RX_FRAMES], n);
	uroce_counter_add(&q->counters[UROCE_PORT_STEERED], b.delivered);
	return n;
}
