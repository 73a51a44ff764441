/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Writes the headers of each packet, and builds packets whose payload is not in registered memory. The code is inlined
 * into the requester, so that the description of a short message stays in registers. On the engine's thread.
 */

#ifndef UROCE_TRANSPORT_PACKET_TX_INLINE_H
#define UROCE_TRANSPORT_PACKET_TX_INLINE_H

#include <string.h>

#include <rte_mbuf.h>
#include <rte_udp.h>

#include "transport/packet/mbuf.h"
#include "transport/packet/packet.h"
#include "transport/qp/qp.h"
#include "uroce_config.h"
#include "wire/copy.h"
#include "wire/icrc.h"

/* Extension headers that ordinary data packets and ACKs do not have. */
#define UROCE_RARE_EXT                                                                                                  \
	(UROCE_EXT_BIT(UROCE_EXT_XRCETH) | UROCE_EXT_BIT(UROCE_EXT_DETH) | UROCE_EXT_BIT(UROCE_EXT_FETH) |        \
	 UROCE_EXT_BIT(UROCE_EXT_ATOMICETH) | UROCE_EXT_BIT(UROCE_EXT_ATOMICACKETH) | UROCE_EXT_BIT(UROCE_EXT_CNP))

static __rte_always_inline void
uroce_put_rare(uint8_t *bth, const struct uroce_opcode_info *info, const struct uroce_packet_desc *d)
{
	const uint8_t *ext = info->ext;

	if (ext[UROCE_EXT_XRCETH] != 0) {
		struct uroce_xrceth *h = (struct uroce_xrceth *)(bth + ext[UROCE_EXT_XRCETH]);

		h->reserved = 0;
		uroce_put24(h->srq, d->srqn);
	}
	if (ext[UROCE_EXT_DETH] != 0) {
		struct uroce_deth *h = (struct uroce_deth *)(bth + ext[UROCE_EXT_DETH]);

		h->qkey = rte_cpu_to_be_32(d->qkey);
		h->reserved = 0;
		uroce_put24(h->src_qp, d->src_qpn);
	}
	if (ext[UROCE_EXT_FETH] != 0)
		((struct uroce_feth *)(bth + ext[UROCE_EXT_FETH]))->bits = d->imm;
	if (ext[UROCE_EXT_ATOMICETH] != 0) {
		struct uroce_atomiceth *h = (struct uroce_atomiceth *)(bth + ext[UROCE_EXT_ATOMICETH]);

		h->va = rte_cpu_to_be_64(d->va);
		h->rkey = rte_cpu_to_be_32(d->rkey);
		h->swap_add = rte_cpu_to_be_64(d->swap_add);
		h->compare = rte_cpu_to_be_64(d->compare);
	}
	if (ext[UROCE_EXT_ATOMICACKETH] != 0) {
		struct uroce_atomicacketh *h = (struct uroce_atomicacketh *)(bth + ext[UROCE_EXT_ATOMICACKETH]);

		h->original = rte_cpu_to_be_64(d->original);
	}
	if (ext[UROCE_EXT_CNP] != 0)
		memset(bth + ext[UROCE_EXT_CNP], 0, UROCE_CNP_BYTES);
}

static __rte_always_inline void
uroce_put_extensions(uint8_t *bth, const struct uroce_opcode_info *info, const struct uroce_packet_desc *d)
{
	const uint8_t imm = info->ext[UROCE_EXT_IMMDT] | info->ext[UROCE_EXT_IETH];

	if (info->ext[UROCE_EXT_RETH] != 0)
		uroce_reth_write(bth + info->ext[UROCE_EXT_RETH], d->va, d->rkey, d->dma_len);
	if (likely((info->ext_set & ~UROCE_EXT_BIT(UROCE_EXT_RETH)) == 0))
		return;
	if (info->ext[UROCE_EXT_AETH] != 0)
		uroce_aeth_write(bth + info->ext[UROCE_EXT_AETH], d->syndrome, d->msn);
	if (imm != 0)
		((struct uroce_immdt *)(bth + imm))->imm = d->imm;
	if ((info->ext_set & UROCE_RARE_EXT) != 0)
		uroce_put_rare(bth, info, d);
}

/* Write all headers to the start of an mbuf. @return the address for the payload */
static __rte_always_inline uint8_t *
uroce_put_headers(struct rte_mbuf *m, const struct uroce_qp *qp, const struct uroce_packet_desc *d,
		  uint32_t payload_bytes)
{
	const struct uroce_opcode_info *info = &uroce_opcodes[d->bth.opcode];
	const uint32_t pad = -payload_bytes & 3;
	/* copy field by field: a load of the whole struct would stall behind the stores of its fields */
	const struct uroce_bth_values values = {
		.opcode = d->bth.opcode, .ecn = d->bth.ecn, .ack = d->bth.ack, .pkey = UROCE_DEFAULT_PKEY,
		.flags = (uint8_t)(d->bth.flags | UROCE_BTH_MIGREQ | pad << UROCE_BTH_PAD_SHIFT),
		.dest_qpn = d->bth.dest_qpn, .psn = d->bth.psn,
	};
	uint8_t *bth = rte_pktmbuf_mtod_offset(m, uint8_t *, d->path->headers.header_bytes);

	uroce_frame_headers(qp, d->path, m, d->bth.dest_qpn,
			    info->header_bytes + payload_bytes + pad + UROCE_ICRC_BYTES);
	if (unlikely(d->udp_src_port != 0))
		((struct rte_udp_hdr *)bth - 1)->src_port = rte_cpu_to_be_16(d->udp_src_port);
	uroce_bth_write(bth, &values);
	uroce_put_extensions(bth, info, d);
	return bth + info->header_bytes;
}

/**
 * Build a packet without a slice, in one mbuf.
 *
 * @return	1; -ENOBUFS: the pool is empty
 */
static __rte_always_inline int
uroce_packet_build_inline(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet_desc *d,
			  struct rte_mbuf **out)
{
	const struct uroce_template *t = &d->path->headers;
	const uint32_t pad = -d->length & 3;
	struct rte_mbuf *m = uroce_mbuf_alloc(uroce_pool_for(e, d->length), false, uroce_mbuf_lines(d->length));
	uint8_t *start, *end;
	rte_le32_t icrc;

	if (unlikely(m == NULL)) {
		uroce_count(e, UROCE_NO_MBUF, 1);
		return -ENOBUFS;
	}
	start = rte_pktmbuf_mtod(m, uint8_t *);
	end = uroce_put_headers(m, qp, d, d->length);
	uroce_copy(end, d->bytes, d->length);
	end += d->length;
	memset(end, 0, UROCE_ICRC_BYTES);
	end += pad;
	if (unlikely(qp->dev->no_icrc)) {
		memset(end, 0, sizeof(icrc));
		m->ol_flags = UROCE_MBUF_NO_ICRC;
	} else {
		icrc = rte_cpu_to_le_32(uroce_icrc_plain(start + t->l2_bytes, t->l3_bytes,
							 (uint32_t)(end - start) - t->l2_bytes));
		memcpy(end, &icrc, sizeof(icrc));
	}
	end += sizeof(icrc);
	m->data_len = (uint16_t)(end - start);
	m->pkt_len = (uint32_t)(end - start);
	uroce_count(e, UROCE_SENT_PACKETS, 1);
	*out = m;
	return 1;
}

#endif /* UROCE_TRANSPORT_PACKET_TX_INLINE_H */
