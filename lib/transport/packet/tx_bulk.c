/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Builds a run: several packets from the middle of a message, which differ only in PSN and payload. It looks up the key
 * once, and builds the headers and their CRC once. The frames are the same, byte for byte, as those of
 * uroce_packet_build(). On the engine's thread.
 */

#include <stdalign.h>
#include <string.h>

#include <rte_mempool.h>

#include "mem/attach.h"
#include "transport/packet/mbuf.h"
#include "transport/packet/packet.h"
#include "transport/qp/qp.h"
#include "uroce_config.h"
#include "wire/copy.h"
#include "wire/icrc.h"

/* Size of the copy for each packet: room for the headers from Ethernet to BTH. */
#define HEAD_BYTES 96
static_assert(UROCE_TEMPLATE_BYTES + sizeof(struct uroce_bth) <= HEAD_BYTES, "HEAD_BYTES");
static_assert(HEAD_BYTES <= UROCE_ENGINE_ROOM(UROCE_TX_INLINE_BYTES), "room of a header mbuf");
/* Size of the copy if the headers fit into it, as with IPv4. */
#define SHORT_HEAD_BYTES 64

/* The mbufs of a packet with an attached payload: headers, payload, ICRC. */
enum { HEAD, DATA, TAIL, SEGS };

/* The properties that the packets of a run share. */
struct run {
	const struct uroce_mr_key *key;
	uint8_t *va;		/* payload of the first packet */
	rte_iova_t iova;
	uint32_t payload_bytes;	/* payload of each packet */
	uint32_t head_bytes;
	uint32_t crc;		/* CRC of the headers with PSN 0 */
	bool no_icrc;		/* the port does without, or computes it */
	bool leaves;		/* the frames leave by the device's port, to a known MAC address */
	bool changes;		/* the payload's memory may change meanwhile */
	alignas(uint16_t) uint8_t head[HEAD_BYTES];	/* DPDK 24.11 and later align their IP headers so */
};

static void
run_init(struct run *r, const struct uroce_packet_desc *d)
{
	const struct uroce_template *t = &d->path->headers;
	struct uroce_bth_values values = d->bth;

	r->leaves = uroce_path_put(d->path, r->head,
					   (uint32_t)sizeof(struct uroce_bth) + r->payload_bytes + UROCE_ICRC_BYTES);
	values.flags |= UROCE_BTH_MIGREQ;
	values.pkey = UROCE_DEFAULT_PKEY;
	values.psn = 0;
	uroce_bth_write(r->head + t->header_bytes, &values);
	r->head_bytes = t->header_bytes + (uint32_t)sizeof(struct uroce_bth);
	r->crc = uroce_icrc_head(r->head + t->l2_bytes, t->l3_bytes);
}

/* Prefetch the cache lines of a packet's mbufs that put_attached() writes, and that another core may have used last. */
static inline void
fetch_attached(struct rte_mbuf *const m[SEGS])
{
	const uint8_t *head = (const uint8_t *)m[HEAD], *data = (const uint8_t *)m[DATA];
	const uint8_t *tail = (const uint8_t *)m[TAIL];

	uroce_prefetch_to_write(head);
	uroce_prefetch_to_write(head + RTE_CACHE_LINE_SIZE);
	uroce_prefetch_to_write(head + UROCE_ENGINE_DATA_OFFSET);
	uroce_prefetch_to_write(data);
	uroce_prefetch_to_write(data + RTE_CACHE_LINE_SIZE);
	uroce_prefetch_to_write(data + sizeof(struct rte_mbuf));
	uroce_prefetch_to_write(tail);
	uroce_prefetch_to_write(tail + UROCE_ENGINE_DATA_OFFSET);
}

/* Write the run's headers with this PSN. @return the last word of the BTH */
static inline rte_be32_t
put_head(const struct run *r, struct rte_mbuf *m, uint32_t psn)
{
	uint8_t *start = rte_pktmbuf_mtod(m, uint8_t *);
	const rte_be32_t word = rte_cpu_to_be_32(psn);

	memcpy(start, r->head, SHORT_HEAD_BYTES);
	if (r->head_bytes > SHORT_HEAD_BYTES)
		memcpy(start + SHORT_HEAD_BYTES, r->head + SHORT_HEAD_BYTES, HEAD_BYTES - SHORT_HEAD_BYTES);
	memcpy(start + r->head_bytes - sizeof(word), &word, sizeof(word));
	m->data_len = (uint16_t)r->head_bytes;
	m->pkt_len = r->head_bytes + r->payload_bytes + UROCE_ICRC_BYTES;
	return word;
}

/* Set the frame's destination. */
static inline void
leave(const struct run *r, const struct uroce_qp *qp, const struct uroce_packet_desc *d, struct rte_mbuf *m)
{
	if (likely(r->leaves))
		m->port = qp->dev->port_id;
	else
		uroce_frame_set_route(qp, d->path, m, d->bth.dest_qpn);
}

/* Write packet i of the run to its three mbufs. Read nothing back: a read would wait for the cache line. */
static inline struct rte_mbuf *
put_attached(const struct run *r, struct rte_mbuf *const m[SEGS], uint32_t i, uint32_t psn)
{
	uint8_t *va = r->va + (size_t)i * r->payload_bytes;
	rte_be32_t word;
	rte_le32_t icrc = 0;

	for (unsigned int s = 0; s < SEGS; s++)
		uroce_mbuf_reset(m[s]);
	word = put_head(r, m[HEAD], psn);
	m[HEAD]->nb_segs = SEGS;
	m[HEAD]->next = m[DATA];
	uroce_mr_attach_held(r->key, va, r->iova + (rte_iova_t)i * r->payload_bytes, (uint16_t)r->payload_bytes,
			     m[DATA]);
	m[DATA]->next = m[TAIL];
	if (r->no_icrc)
		m[HEAD]->ol_flags = UROCE_MBUF_NO_ICRC;
	else
		icrc = rte_cpu_to_le_32(uroce_icrc_of_run(r->crc, word, va, r->payload_bytes));
	memcpy(rte_pktmbuf_mtod(m[TAIL], void *), &icrc, sizeof(icrc));
	m[TAIL]->data_len = UROCE_ICRC_BYTES;
	return m[HEAD];
}

static unsigned int
attach_all(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet_desc *d, struct run *r,
	   struct rte_mbuf **frames, unsigned int n)
{
	struct rte_mbuf *m[UROCE_SEND_QUANTUM][SEGS];

	if (!uroce_mr_may_attach(r->key, d->slice->sge->addr + d->slice->offset, n * r->payload_bytes,
				 uroce_packet_by_cpu(qp, d->path), &r->iova) ||
	    rte_mempool_get_bulk(e->header_pool, (void **)m[0], n * SEGS) != 0)
		return 0;
	for (unsigned int i = 0; i < RTE_MIN(n, (unsigned int)UROCE_RUN_AHEAD); i++)
		fetch_attached(m[i]);
	uroce_mr_hold(r->key, n);
	run_init(r, d);
	for (unsigned int i = 0; i < n; i++) {
		if (i + UROCE_RUN_AHEAD < n)
			fetch_attached(m[i + UROCE_RUN_AHEAD]);
		frames[i] = put_attached(r, m[i], i, uroce_psn_add(d->bth.psn, i));
		leave(r, qp, d, frames[i]);
	}
	uroce_count(e, UROCE_ZERO_COPY_PACKETS, n);
	return n;
}

/* Prefetch the cache lines of a mbuf that put_copied() writes. */
static inline void
fetch_copied(const struct run *r, const struct rte_mbuf *m)
{
	const uint8_t *data = (const uint8_t *)m + UROCE_ENGINE_DATA_OFFSET;

	uroce_prefetch_to_write((const uint8_t *)m);
	for (uint32_t at = 0; at < UROCE_MBUF_AHEAD_HEADERS + r->payload_bytes; at += RTE_CACHE_LINE_SIZE)
		uroce_prefetch_to_write(data + at);
}

/* Write packet i of the run to its mbuf. If the memory does not change, compute the CRC from it instead of the copy:
 * the stores of the copy may wait for cache lines. */
static inline void
put_copied(const struct run *r, struct rte_mbuf *m, uint32_t i, uint32_t psn)
{
	const uint8_t *va = r->va + (size_t)i * r->payload_bytes;
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *) + r->head_bytes;
	rte_le32_t icrc = 0;
	rte_be32_t word;

	uroce_mbuf_reset(m);
	word = put_head(r, m, psn);
	m->data_len = (uint16_t)m->pkt_len;
	uroce_copy(data, va, r->payload_bytes);
	if (r->no_icrc)
		m->ol_flags = UROCE_MBUF_NO_ICRC;
	else
		icrc = rte_cpu_to_le_32(uroce_icrc_of_run(r->crc, word, r->changes ? data : va, r->payload_bytes));
	memcpy(data + r->payload_bytes, &icrc, sizeof(icrc));
}

static unsigned int
copy_all(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet_desc *d, struct run *r,
	 struct rte_mbuf **frames, unsigned int n)
{
	struct rte_mempool *pool = uroce_pool_for(e, r->payload_bytes);

	if (rte_mempool_get_bulk(pool, (void **)frames, n) != 0)
		return 0;
	run_init(r, d);
	for (unsigned int i = 0; i < n; i++) {
		/* after those of this run, prefetch mbufs of the next run, from the mempool's cache */
		const struct rte_mbuf *later = i + UROCE_RUN_AHEAD < n
						       ? frames[i + UROCE_RUN_AHEAD]
						       : uroce_mbuf_ahead(pool, i + UROCE_RUN_AHEAD - n);

		if (likely(later != NULL))
			fetch_copied(r, later);
		put_copied(r, frames[i], i, uroce_psn_add(d->bth.psn, i));
		leave(r, qp, d, frames[i]);
	}
	return n;
}

/* Can these packets be a run? */
static bool
fits(const struct uroce_packet_desc *d, unsigned int n)
{
	const struct uroce_slice *s = d->slice;

	return n >= UROCE_RUN_PACKETS && s != NULL && s->num_sge == 1 &&
	       uroce_opcodes[d->bth.opcode].header_bytes == sizeof(struct uroce_bth) &&
	       (d->bth.ack & UROCE_BTH_ACKREQ) == 0;
}

/* Look up the key for the payloads of all n packets. @return false: some payload must not be read */
static inline bool
find_payloads(struct run *r, const struct uroce_qp *qp, const struct uroce_packet_desc *d, unsigned int n)
{
	const struct uroce_slice *s = d->slice;
	const uint64_t addr = s->sge->addr + s->offset;

	r->key = uroce_key_lookup(&qp->dev->mrs, s->sge->lkey, uroce_slice_pd(qp, s), &qp->windows, addr, n * s->length,
				  s->access);
	if (unlikely(r->key == NULL))
		return false;
	r->va = uroce_mr_va(r->key, addr);
	r->payload_bytes = s->length;
	r->no_icrc = uroce_packet_no_icrc(qp, d->path);
	r->changes = s->copy || (s->only_stable && !uroce_key_is_referable(r->key, r->no_icrc));
	return true;
}

unsigned int
uroce_tx_bulk(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet_desc *d,
	      struct rte_mbuf **frames, unsigned int n)
{
	struct run r;

	RTE_ASSERT(n <= UROCE_SEND_QUANTUM);
	if (!fits(d, n) || !find_payloads(&r, qp, d, n))
		return 0;
	if (r.changes || uroce_packet_copies(d->path, d->slice))
		n = copy_all(e, qp, d, &r, frames, n);
	else
		n = attach_all(e, qp, d, &r, frames, n);
	uroce_count(e, UROCE_SENT_PACKETS, n);
	return n;
}
