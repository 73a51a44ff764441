/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Unreliable datagrams, the sending side: each WQE is a packet, along the path of its address handle. It is complete
 * when it has been cut, and its memory, which was copied, the application's again. On the QP's worker.
 */

#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_udp.h>

#include "transport/packet/packet.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"
#include "transport/unreliable/unreliable.h"
#include "uroce_config.h"
#include "verbs/address/ah.h"

#define QKEY_OF_QP 0x80000000u	/* R7: in a WR it means the QP's own */

/* What the path of a connection has in its template. */
static void
put_source_port(const struct uroce_qp *qp, const struct uroce_sqe *sqe, struct uroce_frame *f)
{
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)((uint8_t *)f->bth - sizeof(*udp));

	udp->src_port = rte_cpu_to_be_16(uroce_udp_src_port(0, qp->ibv.qp_num, sqe->ud.remote_qpn));
}

static void
put_deth(const struct uroce_qp *qp, const struct uroce_sqe *sqe, struct uroce_deth *deth)
{
	uint32_t qkey = sqe->ud.qkey & QKEY_OF_QP ? qp->attr.qkey : sqe->ud.qkey;

	deth->qkey = rte_cpu_to_be_32(qkey);
	deth->reserved = 0;
	uroce_put24(deth->src_qp, qp->ibv.qp_num);
}

/* @return 0; -ENOBUFS: a pool is empty; -EACCES: a key does not allow it */
static int
packet(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, struct rte_mbuf **out)
{
	bool imm = sqe->opcode == IBV_WR_SEND_WITH_IMM;
	uint8_t opcode = imm ? UROCE_UD_SEND_ONLY_IMM : UROCE_UD_SEND_ONLY;
	const struct uroce_opcode_info *info = &uroce_opcodes[opcode];
	struct uroce_slice slice = {
		.sge = sqe->sge, .num_sge = sqe->num_sge, .length = sqe->length, .copy = true,
	};
	const uint8_t *inline_data = sqe->flags & IBV_SEND_INLINE ? (const uint8_t *)sqe->sge : NULL;
	struct uroce_frame f;
	int ret = uroce_frame_begin_to(e, qp, &sqe->ud.ah->path, sqe->ud.remote_qpn, opcode,
				       sqe->flags & IBV_SEND_SOLICITED ? UROCE_BTH_SE : 0, false, qp->req.psn,
				       &slice, inline_data, &f);

	if (unlikely(ret != 0))
		return ret;
	if (!sqe->ud.ah->has_flow_label)
		put_source_port(qp, sqe, &f);
	put_deth(qp, sqe, (struct uroce_deth *)((uint8_t *)f.bth + info->ext[UROCE_EXT_DETH]));
	if (imm)
		((struct uroce_immdt *)((uint8_t *)f.bth + info->ext[UROCE_EXT_IMMDT]))->imm = sqe->imm;
	uroce_count(e, UROCE_SENT_BYTES, slice.length);
	*out = uroce_frame_end(e, &f);
	return 0;
}

static enum ibv_wc_status
wqe_status(const struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	if (sqe->posted_status != IBV_WC_SUCCESS)
		return sqe->posted_status;
	return sqe->length > qp->mtu_bytes ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;	/* R40 */
}

unsigned int
uroce_ud_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames, unsigned int room)
{
	struct uroce_sqe *sqe;
	unsigned int n = 0;

	if (unlikely(qp->state == IBV_QPS_SQE))
		uroce_qp_flush_sends(e, qp);
	while (n < room && (sqe = uroce_unreliable_next(qp)) != NULL) {
		enum ibv_wc_status status = wqe_status(qp, sqe);
		int ret;

		if (unlikely(status != IBV_WC_SUCCESS)) {
			uroce_qp_fail_sends(e, qp, status);
			break;
		}
		if (uroce_acks_block(e, qp, sqe))
			break;
		ret = packet(e, qp, sqe, &frames[n]);
		if (unlikely(ret != 0)) {
			if (ret == -EACCES)
				uroce_qp_fail_sends(e, qp, IBV_WC_LOC_PROT_ERR);
			break;
		}
		n++;
		qp->req.psn = uroce_psn_add(qp->req.psn, 1);
		qp->req.started = qp->sq.head + 1;
		uroce_qp_complete_send(e, qp, IBV_WC_SUCCESS);
	}
	return n;
}
