/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Builds FLUSH and ATOMIC_WRITE requests, the memory placement extensions (IBA annex A19). On the QP's worker.
 */

#include "transport/packet/packet.h"
#include "transport/requester/requester.h"
#include "uroce_verbs.h"

int
uroce_flush_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
		    struct rte_mbuf **out)
{
	const uint8_t *ext = uroce_opcodes[UROCE_RC_FLUSH].ext;
	struct uroce_feth *feth;
	struct uroce_frame f;
	int ret = uroce_frame_begin(e, qp, UROCE_RC_FLUSH, 0, true, qp->req.psn, NULL, NULL, &f);

	if (ret != 0)
		return ret;
	feth = (struct uroce_feth *)((uint8_t *)f.bth + ext[UROCE_EXT_FETH]);
	feth->bits = sqe->imm;
	uroce_reth_write((uint8_t *)f.bth + ext[UROCE_EXT_RETH], sqe->remote_addr, sqe->rkey, sqe->length);
	*out = uroce_frame_end(e, &f);
	return 0;
}

int
uroce_atomic_write_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
			   struct rte_mbuf **out)
{
	const uint8_t *inline_data = sqe->flags & IBV_SEND_INLINE ? (const uint8_t *)sqe->sge : NULL;
	struct uroce_slice slice = { .sge = sqe->sge, .num_sge = sqe->num_sge, .length = sqe->length };
	struct uroce_frame f;
	int ret = uroce_frame_begin(e, qp, UROCE_RC_ATOMIC_WRITE, 0, true, qp->req.psn, &slice, inline_data, &f);

	if (ret != 0)
		return ret;
	uroce_reth_write(f.ext, sqe->remote_addr, sqe->rkey, sqe->length);
	uroce_count(e, UROCE_SENT_BYTES, sqe->length);
	*out = uroce_frame_end(e, &f);
	return 0;
}
