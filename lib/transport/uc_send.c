/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Unreliable connections, the sending side: SEND and WRITE WQEs into packets, in order, once. Nobody acknowledges,
 * so a WQE is complete when its last packet has been cut; its memory is the application's again then, and no frame
 * may lead into it: payloads are copied. On the QP's worker.
 */

#include <errno.h>

#include <rte_branch_prediction.h>

#include "transport/internal.h"
#include "uroce_config.h"

#define UC(opcode) (UROCE_UC_SEND_FIRST + UROCE_RC_##opcode)

/* Opcodes by [is a WRITE][last has an immediate][place in the message: MIDDLE, FIRST, LAST, ONLY]. */
static const uint8_t opcodes[2][2][4] = {
	{ { UC(SEND_MIDDLE), UC(SEND_FIRST), UC(SEND_LAST), UC(SEND_ONLY) },
	  { UC(SEND_MIDDLE), UC(SEND_FIRST), UC(SEND_LAST_IMM), UC(SEND_ONLY_IMM) } },
	{ { UC(WRITE_MIDDLE), UC(WRITE_FIRST), UC(WRITE_LAST), UC(WRITE_ONLY) },
	  { UC(WRITE_MIDDLE), UC(WRITE_FIRST), UC(WRITE_LAST_IMM), UC(WRITE_ONLY_IMM) } },
};

static uint8_t
packet_opcode(const struct uroce_sqe *sqe, uint32_t offset)
{
	bool write = sqe->opcode == IBV_WR_RDMA_WRITE || sqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	bool imm = sqe->opcode == IBV_WR_SEND_WITH_IMM || sqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	return opcodes[write][imm][(offset + 1 == sqe->psn_count ? UROCE_OPF_LAST : 0) |
				   (offset == 0 ? UROCE_OPF_FIRST : 0)];
}

/* @return 0; -ENOBUFS: a pool is empty; -EACCES: a key does not allow it */
static int
packet(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, struct rte_mbuf **out)
{
	uint32_t done = qp->req.offset * qp->mtu_bytes;
	uint8_t opcode = packet_opcode(sqe, qp->req.offset);
	const struct uroce_opcode_info *info = &uroce_opcodes[opcode];
	/* R31; posting has taken the flag from what consumes no receive WQE */
	uint8_t flags = (info->flags & UROCE_OPF_LAST) && (sqe->flags & IBV_SEND_SOLICITED) ? UROCE_BTH_SE : 0;
	struct uroce_slice slice = {
		.sge = sqe->sge, .num_sge = sqe->num_sge, .offset = done,
		.length = RTE_MIN(sqe->length - done, qp->mtu_bytes), .copy = true,
	};
	const uint8_t *inline_data = sqe->flags & IBV_SEND_INLINE ? (const uint8_t *)sqe->sge : NULL;
	struct uroce_frame f;
	int ret = uroce_frame_begin(e, qp, opcode, flags, false, qp->req.psn, &slice, inline_data, &f);

	if (unlikely(ret != 0))
		return ret;
	if (info->ext[UROCE_EXT_RETH] != 0)
		uroce_reth_write((uint8_t *)f.bth + info->ext[UROCE_EXT_RETH], sqe->remote_addr, sqe->rkey,
				 sqe->length);
	if (info->ext[UROCE_EXT_IMMDT] != 0)
		((struct uroce_immdt *)((uint8_t *)f.bth + info->ext[UROCE_EXT_IMMDT]))->imm = sqe->imm;
	uroce_count(e, UROCE_SENT_BYTES, slice.length);
	*out = uroce_frame_end(e, &f);
	return 0;
}

static void
begin_wqe(struct uroce_qp *qp, struct uroce_sqe *sqe)
{
	struct uroce_requester *req = &qp->req;

	sqe->first_psn = req->psn;
	sqe->psn_count = uroce_message_packets(qp, sqe->length);
	req->started = qp->sq.head + 1;
}

static void
advance(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	struct uroce_requester *req = &qp->req;

	req->psn = uroce_psn_add(req->psn, 1);
	if (++req->offset < sqe->psn_count)
		return;
	req->offset = 0;
	uroce_completer_complete(e, qp, IBV_WC_SUCCESS);
	uroce_qp_drained(qp);
}

/* False: it has failed. */
static bool
local_wqe(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	enum ibv_wc_status status = uroce_local_execute(qp, sqe);

	if (status != IBV_WC_SUCCESS) {
		uroce_qp_fail_sends(e, qp, status);
		return false;
	}
	qp->req.started = qp->sq.head + 1;
	uroce_completer_complete(e, qp, IBV_WC_SUCCESS);
	uroce_qp_drained(qp);
	return true;
}

unsigned int
uroce_uc_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames, unsigned int room)
{
	struct uroce_sqe *sqe;
	unsigned int n = 0;

	if (unlikely(qp->state == IBV_QPS_SQE))
		uroce_qp_flush_sends(e, qp);
	while (n < room && (sqe = uroce_unreliable_next(qp)) != NULL) {
		int ret;

		if (unlikely(sqe->posted_status != IBV_WC_SUCCESS)) {
			uroce_qp_fail_sends(e, qp, sqe->posted_status);
			break;
		}
		if (unlikely(uroce_wr_is(sqe->opcode, UROCE_WR_LOCALS))) {
			if (!local_wqe(e, qp, sqe))
				break;
			continue;
		}
		if (qp->req.offset == 0)
			begin_wqe(qp, sqe);
		ret = packet(e, qp, sqe, &frames[n]);
		if (unlikely(ret != 0)) {
			if (ret == -EACCES)
				uroce_qp_fail_sends(e, qp, IBV_WC_LOC_PROT_ERR);
			break;
		}
		n++;
		advance(e, qp, sqe);
	}
	return n;
}
