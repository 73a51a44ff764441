/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Retries: the transport timer (R36), the count of retries (R34), and going back to a PSN. The requester keeps no copies
 * of packets; it builds them again from its WQEs. On the QP's worker.
 */

#include <rte_branch_prediction.h>

#include "transport/requester/requester.h"

void
uroce_retry_seek(struct uroce_qp *qp, uint32_t psn)
{
	struct uroce_requester *req = &qp->req;

	req->rtt_timed = false;
	req->went_back = req->max_psn;
	req->timed_out = false;
	req->rd_atomics = 0;
	req->psn = psn;
	req->offset = 0;
	for (req->next = qp->sq.head; req->next != req->started; req->next++) {
		const struct uroce_sqe *sqe = uroce_sqe_at(&qp->sq, req->next);
		uint32_t offset = uroce_psn_distance(psn, sqe->first_psn);

		if (offset < sqe->psn_count) {
			req->offset = offset;
			return;
		}
		req->rd_atomics += uroce_is_rd_atomic(sqe->opcode);
	}
}

void
uroce_retry_arm(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_requester *req = &qp->req;
	uint64_t deadline_ns;

	if (req->rnr_wait)
		return;
	if (req->unacked == req->max_psn || qp->timeout == 0) {
		uroce_wheel_disarm(&req->timer);
		return;
	}
	/* R36 */
	deadline_ns = e->now_ns + (4096ull << qp->timeout);
	req->timeout_ns = deadline_ns;
	if (likely(req->probe_ns != 0))
		deadline_ns = RTE_MIN(deadline_ns, e->now_ns + ((uint64_t)req->probe_ns << req->probes));
	uroce_wheel_arm(&e->wheel, &req->timer, deadline_ns);
}

bool
uroce_retry_charge(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (qp->req.retries_left == 0) {
		uroce_qp_fail_send(e, qp, IBV_WC_RETRY_EXC_ERR);
		return false;
	}
	qp->req.retries_left--;
	uroce_count(e, UROCE_COMPLETER_RETRY_ERR, 1);
	uroce_qp_history_count(&qp->history, UROCE_QP_RETRIES, 1);
	return true;
}
