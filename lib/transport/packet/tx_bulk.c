/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Runs: packets from the middle of a message, which leave as external mbufs and differ in their PSN and in what they
 * carry. Their key is looked up once, and their headers are made once, with the CRC of these; what steps for any packet
 * would make is the same byte for byte. Requester and responder ask for them; on the engine's thread.
 */

#include <string.h>

#include <rte_mempool.h>

#include "mem/attach.h"
#include "transport/packet/mbuf.h"
#include "transport/packet/packet.h"
#include "transport/qp/qp.h"
#include "uroce_config.h"
#include "wire/icrc.h"

/* Of the headers of a run: Ethernet to BTH, copied whole. */
#define HEAD_BYTES 96
static_assert(UROCE_TEMPLATE_BYTES + sizeof(struct uroce_bth) <= HEAD_BYTES, "HEAD_BYTES");
static_assert(HEAD_BYTES <= UROCE_ENGINE_ROOM(UROCE_TX_INLINE_BYTES), "room of a header mbuf");
/* IPv4's: copied alone. */
#define SHORT_HEAD_BYTES 64

/* Headers, payload, ICRC. */
enum { HEAD, DATA, TAIL, SEGS };

/* What the packets have in common. */
struct run {
	const struct uroce_mr_key *key;
	uint8_t *va;		/* of the first one's payload */
	rte_iova_t iova;
	uint32_t payload_bytes;	/* of each */
	uint32_t head_bytes;
	uint32_t crc;		/* of the headers with a PSN of 0 */
	uint8_t head[HEAD_BYTES];
};

static void
run_init(struct run *r, const struct uroce_qp *qp, uint8_t opcode)
{
	const struct uroce_template *t = &qp->path.headers;
	const uint32_t udp_payload = (uint32_t)sizeof(struct uroce_bth) + r->payload_bytes + UROCE_ICRC_BYTES;

	uroce_path_put(&qp->path, r->head, udp_payload);
	uroce_bth_write((struct uroce_bth *)(r->head + t->header_bytes), opcode, UROCE_BTH_MIGREQ, UROCE_DEFAULT_PKEY,
			qp->dest_qpn, false, 0);
	r->head_bytes = t->header_bytes + (uint32_t)sizeof(struct uroce_bth);
	r->crc = uroce_icrc_head(r->head + t->l2_bytes, t->l3_bytes);
}

/* What will be written of a packet's mbufs, which another core may have had last. */
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

/* The run's headers with this PSN. @return what that is in the BTH */
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

/* Packet i of the run in its three mbufs. What has been written of it is not read again: that would have to wait until
 * the lines are here. */
static inline struct rte_mbuf *
put_packet(const struct run *r, const struct uroce_qp *qp, struct rte_mbuf *const m[SEGS], uint32_t i, uint32_t psn)
{
	uint8_t *va = r->va + (size_t)i * r->payload_bytes;
	rte_be32_t word;
	rte_le32_t icrc;

	for (unsigned int s = 0; s < SEGS; s++)
		uroce_mbuf_reset(m[s]);
	word = put_head(r, m[HEAD], psn);
	uroce_frame_owner(qp, &qp->path, m[HEAD]);
	m[HEAD]->nb_segs = SEGS;
	m[HEAD]->next = m[DATA];
	uroce_mr_attach_held(r->key, va, r->iova + (rte_iova_t)i * r->payload_bytes, (uint16_t)r->payload_bytes,
			     m[DATA]);
	m[DATA]->next = m[TAIL];
	icrc = rte_cpu_to_le_32(uroce_icrc_of_run(r->crc, word, va, r->payload_bytes));
	memcpy(rte_pktmbuf_mtod(m[TAIL], void *), &icrc, sizeof(icrc));
	m[TAIL]->data_len = UROCE_ICRC_BYTES;
	return m[HEAD];
}

/* n packets with payloads from addr on, which the key allows. @return n; 0: there is no IOVA for all, or no mbufs */
static unsigned int
make(struct uroce_engine *e, const struct uroce_qp *qp, uint8_t opcode, uint32_t psn, const struct uroce_mr_key *key,
     uint64_t addr, struct rte_mbuf **frames, unsigned int n)
{
	struct run r = { .key = key, .payload_bytes = qp->mtu_bytes, .va = uroce_mr_va(key, addr) };
	struct rte_mbuf *m[UROCE_SEND_QUANTUM][SEGS];

	RTE_ASSERT(n <= RTE_DIM(m));
	r.iova = uroce_mr_iova(key, addr, n * r.payload_bytes);
	if (r.iova == RTE_BAD_IOVA || rte_mempool_get_bulk(e->header_pool, (void **)m[0], n * SEGS) != 0)
		return 0;
	for (unsigned int i = 0; i < RTE_MIN(n, (unsigned int)UROCE_RUN_AHEAD); i++)
		fetch(m[i]);
	uroce_mr_hold(key, n);
	run_init(&r, qp, opcode);
	for (unsigned int i = 0; i < n; i++) {
		if (i + UROCE_RUN_AHEAD < n)
			fetch(m[i + UROCE_RUN_AHEAD]);
		frames[i] = put_packet(&r, qp, m[i], i, uroce_psn_add(psn, i));
	}
	uroce_count(e, UROCE_ZERO_COPY_PACKETS, n);
	uroce_count(e, UROCE_SENT_PACKETS, n);
	uroce_count(e, UROCE_SENT_BYTES, (uint64_t)n * r.payload_bytes);
	return n;
}

/* Of this QP? One packet is no run, and payloads that are to be copied are not. */
static bool
is_run(const struct uroce_qp *qp, uint32_t n)
{
	return n >= UROCE_RUN_PACKETS && qp->mtu_bytes >= UROCE_ZERO_COPY_BYTES && qp->path.multi_seg;
}

static uint8_t
middle_of(const struct uroce_sqe *sqe)
{
	return sqe->opcode == IBV_WR_RDMA_WRITE || sqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? UROCE_RC_WRITE_MIDDLE
											     : UROCE_RC_SEND_MIDDLE;
}

unsigned int
uroce_tx_bulk_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t window,
		  struct rte_mbuf **frames, unsigned int room)
{
	struct uroce_requester *req = &qp->req;
	const uint32_t done = req->offset * qp->mtu_bytes;
	const struct uroce_mr_key *key;
	/* the last packet, that which fills the window, and one in so many ask for an acknowledgement */
	uint32_t n = RTE_MIN(room, sqe->psn_count - req->offset - 1), rest;

	if (!is_run(qp, n) || qp->transport != UROCE_TRANSPORT_RC || sqe->num_sge != 1 ||
	    (sqe->flags & IBV_SEND_INLINE) || req->psn != req->max_psn || uroce_qp_is_rated(qp))
		return 0;
	rest = UROCE_ACK_REQ_PACKETS - RTE_MIN(req->since_ack_req + 1, (uint32_t)UROCE_ACK_REQ_PACKETS);
	n = RTE_MIN(n, RTE_MIN(window - RTE_MIN(window, 1u), rest));
	if (n < UROCE_RUN_PACKETS)
		return 0;
	key = uroce_key_lookup(&qp->dev->mrs, sqe->sge[0].lkey, qp->ibv.pd, &qp->windows, sqe->sge[0].addr + done,
			       n * qp->mtu_bytes, 0);
	if (unlikely(key == NULL))
		return 0;
	return make(e, qp, middle_of(sqe), req->psn, key, sqe->sge[0].addr + done, frames, n);
}

unsigned int
uroce_tx_bulk_response(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_rd_atomic *r,
		   struct rte_mbuf **frames, unsigned int room)
{
	const uint64_t addr = r->addr + (uint64_t)r->next * qp->mtu_bytes;
	const struct uroce_mr_key *key;
	uint32_t n = RTE_MIN(room, r->psn_count - r->next - 1);

	if (!r->by_reference || qp->resp.read_again || !is_run(qp, n) || r->again != 0)
		return 0;
	key = uroce_key_lookup(&qp->dev->mrs, r->rkey, uroce_read_pd(qp, r), &qp->windows, addr, n * qp->mtu_bytes,
			       IBV_ACCESS_REMOTE_READ);
	if (unlikely(key == NULL || !uroce_key_is_stable(key)))
		return 0;
	return make(e, qp, qp->opcode_base + UROCE_RC_READ_RESPONSE_MIDDLE, uroce_psn_add(r->first_psn, r->next), key,
		    addr, frames, n);
}
