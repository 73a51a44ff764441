/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A message of a few bytes that its WQE holds: one packet, for which nothing has to be resolved, attached or cut. What
 * frame.c does for any packet in steps is done here in one go. On the QP's worker.
 */

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

#include "transport/packet/mbuf.h"
#include "transport/packet/packet.h"
#include "transport/qp/qp.h"
#include "uroce_config.h"
#include "wire/copy.h"
#include "wire/icrc.h"

struct rte_mbuf *
uroce_tx_inline_packet(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_sqe *sqe, bool ack_req)
{
	const struct uroce_template *t = &qp->path.headers;
	bool write = sqe->opcode == IBV_WR_RDMA_WRITE;
	/* R31, as in uroce_data_packet() */
	uint8_t flags = (sqe->flags & IBV_SEND_SOLICITED) ? UROCE_BTH_SE : 0;
	uint32_t length = sqe->length, pad = -length & 3, bytes;
	struct rte_mbuf *m = uroce_mbuf_alloc(e->header_pool, false);
	rte_le32_t icrc;
	uint8_t *start, *at;

	if (unlikely(m == NULL)) {
		uroce_count(e, UROCE_NO_MBUF, 1);
		return NULL;
	}
	bytes = (uint32_t)sizeof(struct uroce_bth) + (write ? (uint32_t)sizeof(struct uroce_reth) : 0) + length + pad;
	start = rte_pktmbuf_mtod(m, uint8_t *);
	uroce_frame_headers(qp, &qp->path, m, bytes + UROCE_ICRC_BYTES);
	at = start + t->header_bytes;
	uroce_bth_write((struct uroce_bth *)at, write ? UROCE_RC_WRITE_ONLY : UROCE_RC_SEND_ONLY,
			(uint8_t)(flags | UROCE_BTH_MIGREQ | pad << UROCE_BTH_PAD_SHIFT), UROCE_DEFAULT_PKEY,
			qp->dest_qpn, ack_req, qp->req.psn);
	at += sizeof(struct uroce_bth);
	if (write) {
		uroce_reth_write(at, sqe->remote_addr, sqe->rkey, length);
		at += sizeof(struct uroce_reth);
	}
	uroce_copy(at, (const uint8_t *)sqe->sge, length);
	at += length;
	memset(at, 0, UROCE_ICRC_BYTES);
	at += pad;
	icrc = rte_cpu_to_le_32(uroce_icrc_plain(start + t->l2_bytes, t->l3_bytes,
						 (uint32_t)(at - start) - t->l2_bytes));
	memcpy(at, &icrc, sizeof(icrc));
	at += sizeof(icrc);
	m->data_len = (uint16_t)(at - start);
	m->pkt_len = (uint32_t)(at - start);
	uroce_count(e, UROCE_SENT_BYTES, length);
	uroce_count(e, UROCE_SENT_PACKETS, 1);
	return m;
}

struct rte_mbuf *
uroce_tx_ack_packet(struct uroce_engine *e, const struct uroce_qp *qp, uint32_t psn)
{
	const struct uroce_template *t = &qp->path.headers;
	const uint32_t bytes = sizeof(struct uroce_bth) + sizeof(struct uroce_aeth);
	struct rte_mbuf *m = uroce_mbuf_alloc(e->header_pool, false);
	rte_le32_t icrc;
	uint8_t *start, *at;

	if (unlikely(m == NULL)) {
		uroce_count(e, UROCE_NO_MBUF, 1);
		return NULL;
	}
	start = rte_pktmbuf_mtod(m, uint8_t *);
	uroce_frame_headers(qp, &qp->path, m, bytes + UROCE_ICRC_BYTES);
	at = start + t->header_bytes;
	uroce_bth_write((struct uroce_bth *)at, qp->opcode_base + UROCE_RC_ACKNOWLEDGE, UROCE_BTH_MIGREQ,
			UROCE_DEFAULT_PKEY, qp->dest_qpn, false, psn);
	uroce_aeth_write(at + sizeof(struct uroce_bth), UROCE_AETH_ACK | qp->resp.credits, qp->resp.msn);
	at += bytes;
	icrc = rte_cpu_to_le_32(uroce_icrc_plain(start + t->l2_bytes, t->l3_bytes,
						 (uint32_t)(at - start) - t->l2_bytes));
	memcpy(at, &icrc, sizeof(icrc));
	at += sizeof(icrc);
	m->data_len = (uint16_t)(at - start);
	m->pkt_len = (uint32_t)(at - start);
	uroce_count(e, UROCE_SENT_PACKETS, 1);
	return m;
}
