/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends each WQE of a UD QP as one datagram, along the path of its address handle. The payload is copied, so the WQE
 * completes at once, and the application may change its memory. On the engine's thread.
 */

#include <errno.h>

#include <rte_branch_prediction.h>

#include "transport/packet/packet.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"
#include "transport/unreliable/unreliable.h"
#include "uroce_config.h"
#include "verbs/address/ah.h"

#define QKEY_OF_QP 0x80000000u	/* R7: this bit in a WR selects the QP's own Q_Key */

/* @return as uroce_packet_build() */
static int
packet(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, struct rte_mbuf **out)
{
	const struct uroce_slice slice = {
		.sge = sqe->sge, .num_sge = sqe->num_sge, .length = sqe->length, .copy = true,
	};
	struct uroce_packet_desc d = {
		.path = &sqe->ud.ah->path,
		.bth = {
			.opcode = sqe->opcode == IBV_WR_SEND_WITH_IMM ? UROCE_UD_SEND_ONLY_IMM : UROCE_UD_SEND_ONLY,
			.flags = sqe->flags & IBV_SEND_SOLICITED ? UROCE_BTH_SE : 0,
			.dest_qpn = sqe->ud.remote_qpn, .psn = uroce_requester_of(qp)->psn,
		},
		.qkey = sqe->ud.qkey & QKEY_OF_QP ? qp->attr.qkey : sqe->ud.qkey,
		.src_qpn = qp->ibv.qp_num, .imm = sqe->imm,
	};
	int ret;

	/* without a flow label the UDP source port depends on the QPN, which the handle's template does not know */
	if (!sqe->ud.ah->has_flow_label)
		d.udp_src_port = uroce_udp_src_port(0, sqe->ud.remote_qpn);
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
	struct uroce_requester *req = uroce_requester_of(qp);
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
		req->psn = uroce_psn_add(req->psn, 1);
		req->started = qp->sq.head + 1;
		uroce_qp_complete_send(e, qp, IBV_WC_SUCCESS);
	}
	return n;
}
