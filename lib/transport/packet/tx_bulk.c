/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Builds a run: several packets from the middle of a message that have attached payloads and differ only in PSN and
 * payload. It looks up the key once, and builds the headers and their CRC once. The frames are the same, byte for byte,
 * as those of uroce_packet_build(). On the engine's thread.
 */

#include <string.h>

#include <rte_mempool.h>

#include "mem/attach.h"
#include "transport/packet/mbuf.h"
#include "transport/packet/packet.h"
#include "transport/qp/qp.h"
#include "uroce_config.h"
#include "wire/icrc.h"

/* Size of the copy for each packet: room for the headers from Ethernet to BTH. */
#define HEAD_BYTES 96
static_assert(UROCE_TEMPLATE_BYTES + sizeof(struct uroce_bth) <= HEAD_BYTES, "HEAD_BYTES");
static_assert(HEAD_BYTES <= UROCE_ENGINE_ROOM(UROCE_TX_INLINE_BYTES), "room of a header mbuf");
/* Size of the copy if the headers fit into it, as with IPv4. */
#define SHORT_HEAD_BYTES 64

/* The mbufs of a packet: headers, payload, ICRC. */
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
	uint8_t head[HEAD_BYTES];
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

/* Prefetch the cache lines of a packet's mbufs that put_packet() writes, and that another core may have used last. */
static inline void
fetch(struct rte_mbuf *const m[SEGS])
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

/* Write packet i of the run to its three mbufs. Read nothing back: a read would wait for the cache line. */
static inline struct rte_mbuf *
put_packet(const struct run *r, struct rte_mbuf *const m[SEGS], uint32_t i, uint32_t psn)
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

/* Can these packets be a run? The payloads must be attached, and long enough. */
static bool
fits(const struct uroce_packet_desc *d, unsigned int n)
{
	const struct uroce_slice *s = d->slice;

	return n >= UROCE_RUN_PACKETS && s != NULL && s->num_sge == 1 && !uroce_packet_copies(d->path, s) &&
	       uroce_opcodes[d->bth.opcode].header_bytes == sizeof(struct uroce_bth) &&
	       (d->bth.ack & UROCE_BTH_ACKREQ) == 0;
}

/* @return the key for the payloads of all n packets, from addr on; NULL: some payload must not be referenced */
static inline const struct uroce_mr_key *
key_of(const struct uroce_qp *qp, const struct uroce_slice *s, uint64_t addr, unsigned int n)
{
	const struct uroce_mr_key *key;

	key = uroce_key_lookup(&qp->dev->mrs, s->sge->lkey, uroce_slice_pd(qp, s), &qp->windows, addr,
			       n * s->length, s->access);
	return likely(key != NULL) && (!s->only_stable || uroce_key_is_stable(key)) ? key : NULL;
}

unsigned int
uroce_tx_bulk(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet_desc *d,
	      struct rte_mbuf **frames, unsigned int n)
{
	struct rte_mbuf *m[UROCE_SEND_QUANTUM][SEGS];
	struct run r;
	uint64_t addr;

	RTE_ASSERT(n <= RTE_DIM(m));
	if (!fits(d, n))
		return 0;
	addr = d->slice->sge->addr + d->slice->offset;
	r.key = key_of(qp, d->slice, addr, n);
	if (unlikely(r.key == NULL))
		return 0;
	r.payload_bytes = d->slice->length;
	r.va = uroce_mr_va(r.key, addr);
	r.iova = uroce_mr_iova(r.key, addr, n * r.payload_bytes);
	if (r.iova == RTE_BAD_IOVA || rte_mempool_get_bulk(e->header_pool, (void **)m[0], n * SEGS) != 0)
		return 0;
	for (unsigned int i = 0; i < RTE_MIN(n, (unsigned int)UROCE_RUN_AHEAD); i++)
		fetch(m[i]);
	uroce_mr_hold(r.key, n);
	r.no_icrc = qp->dev->no_icrc;
	run_init(&r, d);
	for (unsigned int i = 0; i < n; i++) {
		if (i + UROCE_RUN_AHEAD < n)
			fetch(m[i + UROCE_RUN_AHEAD]);
		frames[i] = put_packet(&r, m[i], i, uroce_psn_add(d->bth.psn, i));
		if (likely(r.leaves))
			frames[i]->port = qp->dev->port_id;
		else
			uroce_frame_set_route(qp, d->path, frames[i], d->bth.dest_qpn);
	}
	uroce_count(e, UROCE_ZERO_COPY_PACKETS, n);
	uroce_count(e, UROCE_SENT_PACKETS, n);
	return n;
}
