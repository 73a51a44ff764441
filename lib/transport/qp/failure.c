/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A QP's way into the error state: the first failed work request completes with its error, all others are
 * flushed, signalled or not (R41, R42), and an asynchronous event tells of it. Of a UC or UD QP a send that fails
 * stops the send queue only. On the QP's worker.
 */

#include <rte_atomic.h>

#include "transport/qp/qp.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"
#include "verbs/srq/xrc.h"

void
uroce_qp_event(struct uroce_qp *qp, enum ibv_event_type type)
{
	struct ibv_async_event event = { .element.qp = &qp->ibv, .event_type = type };

	if (unlikely(qp->target != NULL))
		uroce_xrc_target_event(qp->target, type);
	else
		uroce_device_event(qp->dev, &event);
}

void
uroce_qp_drained(struct uroce_qp *qp)
{
	if (qp->state != IBV_QPS_SQD || !qp->attr.en_sqd_async_notify ||
	    qp->sq.head != qp->req.started)
		return;
	qp->attr.en_sqd_async_notify = 0;
	uroce_qp_event(qp, IBV_EVENT_SQ_DRAINED);
}

/* What does not fit into a CQ is lost, and reported as its overrun (R43): the queue goes on being emptied. */
void
uroce_qp_flush_sends(struct uroce_engine *e, struct uroce_qp *qp)
{
	/* pairs with the release in uroce_post_send() */
	while (qp->sq.head != __atomic_load_n(&qp->sq.tail, __ATOMIC_ACQUIRE))
		uroce_completer_complete(e, qp, IBV_WC_WR_FLUSH_ERR);
	qp->req.next = qp->req.started = qp->sq.head;
	qp->req.offset = 0;
}

void
uroce_qp_flush(struct uroce_engine *e, struct uroce_qp *qp)
{
	uroce_qp_flush_sends(e, qp);
	/* pairs with the release in uroce_post_recv() */
	while (qp->rq.head != __atomic_load_n(&qp->rq.tail, __ATOMIC_ACQUIRE)) {
		struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV };

		uroce_qp_complete_recv(e, qp, &wc, true);
	}
}

void
uroce_qp_stop(struct uroce_engine *e, struct uroce_qp *qp)
{
	__atomic_store_n(&qp->state, IBV_QPS_ERR, __ATOMIC_RELAXED);
	/* either the flush below sees what is being posted, or the poster sees the state and rings: pairs
	 * with the fence in uroce_post_recv() */
	rte_atomic_thread_fence(__ATOMIC_SEQ_CST);
	qp->attr.qp_state = IBV_QPS_ERR;
	uroce_wheel_disarm(&qp->req.timer);
	uroce_recovery_end(e, qp);
	uroce_responder_reset(qp);
	uroce_qp_flush(e, qp);
}

void
uroce_qp_last_wqe(struct uroce_qp *qp)
{
	if (qp->ibv.srq != NULL || qp->target != NULL)
		uroce_qp_event(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
}

void
uroce_qp_trace(const struct uroce_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to)
{
	const struct uroce_qp_history *h = &qp->history;

	if (from == to)
		return;
	uroce_trace_qp_state(qp->dev->index, qp->ibv.qp_num, from, to);
	if (to == IBV_QPS_ERR || to == IBV_QPS_SQE)
		uroce_trace_qp_error(qp->dev->index, qp->ibv.qp_num, uroce_qp_cause_names[h->cause],
				     (enum ibv_wc_status)h->status, uroce_verdicts[h->verdict].name);
}

void
uroce_qp_fail(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (qp->state == IBV_QPS_ERR)
		return;
	uroce_qp_trace(qp, qp->state, IBV_QPS_ERR);
	uroce_qp_stop(e, qp);
	uroce_qp_last_wqe(qp);
}

void
uroce_qp_overrun(struct uroce_engine *e, struct uroce_qp *qp)
{
	uroce_count(e, UROCE_CQ_OVERRUNS, 1);
	if (qp->state == IBV_QPS_ERR)
		return;
	uroce_qp_history_failed(&qp->history, UROCE_CAUSE_CQ_OVERRUN, IBV_WC_SUCCESS, UROCE_OK, e->now_ns);
	uroce_qp_fail(e, qp);
	uroce_qp_event(qp, IBV_EVENT_QP_FATAL);
}

void
uroce_qp_established(struct uroce_qp *qp)
{
	if (qp->resp.established)
		return;
	qp->resp.established = true;
	uroce_qp_event(qp, IBV_EVENT_COMM_EST);
}

void
uroce_qp_fail_send(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status)
{
	uroce_qp_history_failed(&qp->history, UROCE_CAUSE_SEND, status, UROCE_OK, e->now_ns);
	uroce_completer_complete(e, qp, status);
	if (qp->state == IBV_QPS_ERR)
		return;
	uroce_qp_fail(e, qp);
	uroce_qp_event(qp, IBV_EVENT_QP_FATAL);
}

void
uroce_qp_fail_sends(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status)
{
	uroce_qp_history_failed(&qp->history, UROCE_CAUSE_SEND, status, UROCE_OK, e->now_ns);
	uroce_completer_complete(e, qp, status);
	if (qp->state == IBV_QPS_ERR)
		return;
	uroce_qp_trace(qp, qp->state, IBV_QPS_SQE);
	__atomic_store_n(&qp->state, IBV_QPS_SQE, __ATOMIC_RELAXED);
	qp->attr.qp_state = IBV_QPS_SQE;
	/* what is posted from here on rings, and is flushed when its turn comes */
	uroce_qp_flush_sends(e, qp);
}

void
uroce_qp_fail_recv(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status)
{
	struct ibv_wc wc = { .status = status, .opcode = IBV_WC_RECV };

	uroce_qp_history_failed(&qp->history, UROCE_CAUSE_RECV, status, UROCE_OK, e->now_ns);
	if (!uroce_qp_complete_recv(e, qp, &wc, true))
		return;
	uroce_qp_fail(e, qp);
	uroce_qp_event(qp, IBV_EVENT_QP_FATAL);
}
