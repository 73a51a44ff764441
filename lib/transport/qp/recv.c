/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Takes receive WQEs from an SRQ, and completes, flushes and fails receive WQEs, for all transports. uroce_recv_take()
 * in qp.h takes them from the QP's own queue. On the engine's thread.
 */

#include <rte_branch_prediction.h>

#include "transport/qp/qp.h"
#include "wire/credit.h"

/*
 * The receive queue of a QP with an SRQ has room for one WQE, and only the worker posts to it. So the WQE of the
 * current message is at the head of the queue, as with any QP, and is completed or flushed there.
 */
bool
uroce_recv_take_shared(struct uroce_qp *qp)
{
	struct uroce_wq *rq = &qp->rq;

	if (qp->recv_srq == NULL || !uroce_srq_take(qp->recv_srq, uroce_rqe_at(rq, rq->head)))
		return false;
	__atomic_store_n(&rq->tail, rq->head + 1, __ATOMIC_RELAXED);
	return true;
}

bool
uroce_qp_complete_recv(struct uroce_engine *e, struct uroce_qp *qp, struct ibv_wc *wc, bool solicited)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	const struct uroce_rqe *rqe = uroce_rqe_at(&qp->rq, qp->rq.head);
	/* an XRC target has no CQ; its SRQs have one */
	struct uroce_cq *cq = likely(qp->ibv.recv_cq != NULL) ? uroce_cq_of(qp->ibv.recv_cq) : qp->recv_srq->cq;

	if (likely(wc->status == IBV_WC_SUCCESS))
		uroce_count(e, UROCE_RDMA_RECVS, 1);
	else
		uroce_count_recv_error(e, wc->status);
	wc->wr_id = rqe->wr_id;
	wc->qp_num = qp->ibv.qp_num;
	wc->src_qp |= qp->dest_qpn;	/* one of them is 0: UD sets src_qp, all other QPs have dest_qpn */
	qp->recv_taken = false;
	/* pairs with the acquire in uroce_post_recv(): the slot is free */
	__atomic_store_n(&qp->rq.head, qp->rq.head + 1, __ATOMIC_RELEASE);
	/* R30: credits for the WQEs that are left; an SRQ's WQEs give none, since QPs share them */
	if (likely(qp->recv_srq == NULL))
		resp->credits = uroce_credits_encode(
			__atomic_load_n(&qp->rq.tail, __ATOMIC_RELAXED) - qp->rq.head);
	/* messages posted after the completion leave after the ACK */
	e->acks.lead = true;
	resp->recv_resource = resp->resource_tail;
	resp->recv_unacked = true;
	if (uroce_cq_push(cq, e, wc, solicited))
		return true;
	uroce_qp_overrun(e, qp);
	return false;
}

void
uroce_qp_flush_recvs(struct uroce_engine *e, struct uroce_qp *qp)
{
	/* pairs with the release in uroce_post_recv() */
	while (qp->rq.head != __atomic_load_n(&qp->rq.tail, __ATOMIC_ACQUIRE)) {
		struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV };

		uroce_qp_complete_recv(e, qp, &wc, true);
	}
}

void
uroce_qp_fail_recv(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status)
{
	struct ibv_wc wc = { .status = status, .opcode = IBV_WC_RECV };

	uroce_qp_history_failed(&qp->history, UROCE_CAUSE_RECV, status, UROCE_OK, e->now_ns);
	if (!uroce_qp_complete_recv(e, qp, &wc, true))
		return;
	uroce_qp_fail(e, qp, IBV_EVENT_QP_FATAL);
}
