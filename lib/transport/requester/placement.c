/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Builds FLUSH and ATOMIC_WRITE requests, the memory placement extensions (IBA annex A19). On the engine's thread.
 */

#include "transport/packet/packet.h"
#include "transport/requester/requester.h"
#include "uroce_verbs.h"

int
uroce_flush_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
		    struct rte_mbuf **out)
{
	const struct uroce_packet_desc d = {
		.path = &qp->path,
		.bth = UROCE_BTH_TO_PEER(qp, UROCE_RC_FLUSH, uroce_requester_of(qp)->psn, UROCE_BTH_ACKREQ),
		.imm = sqe->imm, .va = sqe->remote_addr, .rkey = sqe->rkey, .dma_len = sqe->length,
	};

	return uroce_packet_build(e, qp, &d, out);
}

int
uroce_atomic_write_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
			   struct rte_mbuf **out)
{
	const struct uroce_slice slice = { .sge = sqe->sge, .num_sge = sqe->num_sge, .length = sqe->length };
	struct uroce_packet_desc d = {
		.path = &qp->path,
		.bth = UROCE_BTH_TO_PEER(qp, UROCE_RC_ATOMIC_WRITE, uroce_requester_of(qp)->psn, UROCE_BTH_ACKREQ),
		.va = sqe->remote_addr, .rkey = sqe->rkey, .dma_len = sqe->length,
	};
	int ret;

	if (sqe->flags & IBV_SEND_INLINE) {
		d.bytes = (const uint8_t *)sqe->sge;
		d.length = sqe->length;
	} else {
		d.slice = &slice;
	}
	ret = uroce_packet_build(e, qp, &d, out);
	if (likely(ret == 0))
		uroce_count(e, UROCE_SENT_BYTES, sqe->length);
	return ret;
}
