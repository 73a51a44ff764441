/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Cuts SEND and WRITE WQEs of unreliable connections into packets, in order, once. Without ACKs, a WQE completes when
 * its last packet is built. Then the application may change the memory, so payloads are copied. On the engine's thread.
 */

#include <errno.h>

#include <rte_branch_prediction.h>

#include "transport/packet/packet.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"
#include "transport/unreliable/unreliable.h"

static void
begin_wqe(struct uroce_qp *qp, struct uroce_sqe *sqe)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	sqe->first_psn = req->psn;
	sqe->psn_count = uroce_message_packets(qp, sqe->length);
	req->started = qp->sq.head + 1;
}

static void
advance(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	req->psn = uroce_psn_add(req->psn, 1);
	if (++req->offset < sqe->psn_count)
		return;
	req->offset = 0;
	uroce_qp_complete_send(e, qp, IBV_WC_SUCCESS);
	uroce_qp_drained(qp);
}

/* Execute a bind or local invalidation. @return false: the WQE has to wait, or has failed */
static bool
local_wqe(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_sqe *sqe)
{
	enum ibv_wc_status status;

	if (!uroce_local_execute(e, qp, sqe, &status))
		return false;
	if (status != IBV_WC_SUCCESS) {
		uroce_qp_fail_sends(e, qp, status);
		return false;
	}
	uroce_requester_of(qp)->started = qp->sq.head + 1;
	uroce_qp_complete_send(e, qp, IBV_WC_SUCCESS);
	uroce_qp_drained(qp);
	return true;
}

unsigned int
uroce_uc_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames, unsigned int room)
{
	struct uroce_requester *req = uroce_requester_of(qp);
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
		if (req->offset == 0 && uroce_acks_block(e, qp, sqe))
			break;
		if (req->offset == 0)
			begin_wqe(qp, sqe);
		ret = uroce_data_packets(e, qp, sqe, (struct uroce_burst){ .count = 1 }, &frames[n]);
		if (unlikely(ret < 0)) {
			if (ret == -EACCES)
				uroce_qp_fail_sends(e, qp, IBV_WC_LOC_PROT_ERR);
			break;
		}
		n++;
		advance(e, qp, sqe);
	}
	return n;
}
