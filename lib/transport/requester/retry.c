/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Applies the table of the requester's states: the transport timer (R36), the count of retries (R34), and going back to
 * the oldest unanswered PSN. On the engine's thread.
 */

#include <rte_branch_prediction.h>
#include <rte_debug.h>

#include "transport/qp/turns.h"
#include "transport/requester/requester.h"

/* Continue from the oldest PSN without an answer: go back to it, or skip to it. */
static void
seek(struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	req->rtt_timed = false;
	req->went_back = req->max_psn;
	req->rd_atomics = 0;
	req->psn = req->unacked;
	req->offset = 0;
	for (req->next = qp->sq.head; req->next != req->started; req->next++) {
		const struct uroce_sqe *sqe = uroce_sqe_at(&qp->sq, req->next);
		uint32_t offset = uroce_psn_distance(req->psn, sqe->first_psn);

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
	struct uroce_requester *req = uroce_requester_of(qp);
	uint64_t deadline_ns;

	if (uroce_requester_waits(req->state))
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
	struct uroce_requester *req = uroce_requester_of(qp);

	if (req->retries_left == 0) {
		uroce_qp_fail_send(e, qp, IBV_WC_RETRY_EXC_ERR);
		return false;
	}
	req->retries_left--;
	uroce_count(e, UROCE_COMPLETER_RETRY_ERR, 1);
	uroce_qp_history_count(&qp->history, UROCE_QP_RETRIES, 1);
	return true;
}

bool
uroce_requester_on(struct uroce_engine *e, struct uroce_qp *qp, enum uroce_requester_event event)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	const struct uroce_requester_step *step = uroce_requester_step(event);
	const uint8_t next = step->next[req->state];

	if (next == UROCE_REQUESTER_IGNORES)
		return true;
	if ((step->actions & UROCE_DO_CHARGE) && !uroce_retry_charge(e, qp))
		return false;
	if (step->why != NULL)
		uroce_trace_go_back(qp->dev->index, qp->ibv.qp_num, req->unacked, req->max_psn, req->retries_left,
				    step->why);
	if (step->actions & UROCE_DO_RELEASE)
		uroce_recovery_end(e, qp);
	req->state = next;
	RTE_ASSERT(uroce_requester_recovers(next) == (req->recovery != NULL));
	if (step->actions & UROCE_DO_BACK)
		seek(qp);
	if (uroce_budget_counts(qp))
		uroce_budget_update(e, qp);
	if (step->actions & UROCE_DO_ARM)
		uroce_retry_arm(e, qp);
	if (step->actions & UROCE_DO_TURN)
		uroce_qp_activate(e, qp);
	return true;
}
