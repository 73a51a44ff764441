/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Moves a QP to the error state: sets the state, traces the cause, raises events. After the caller has returned to the
 * engine, qp_change.c stops the transport and flushes the WQEs. On the engine's thread.
 */

#include "transport/qp/qp.h"
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
	    qp->sq.head != uroce_requester_of(qp)->started)
		return;
	qp->attr.en_sqd_async_notify = 0;
	uroce_qp_event(qp, IBV_EVENT_SQ_DRAINED);
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
uroce_qp_fail(struct uroce_engine *e, struct uroce_qp *qp, int event)
{
	if (qp->state == IBV_QPS_ERR)
		return;
	uroce_qp_trace(qp, qp->state, IBV_QPS_ERR);
	__atomic_store_n(&qp->state, IBV_QPS_ERR, __ATOMIC_RELAXED);
	qp->attr.qp_state = IBV_QPS_ERR;
	qp->failed_event = event;
	qp->failed_next = e->failed;
	e->failed = qp;
}

void
uroce_qp_overrun(struct uroce_engine *e, struct uroce_qp *qp)
{
	uroce_count(e, UROCE_CQ_OVERRUNS, 1);
	if (qp->state == IBV_QPS_ERR)
		return;
	uroce_qp_history_failed(&qp->history, UROCE_CAUSE_CQ_OVERRUN, IBV_WC_SUCCESS, UROCE_OK, e->now_ns);
	uroce_qp_fail(e, qp, IBV_EVENT_QP_FATAL);
}

void
uroce_qp_established(struct uroce_qp *qp)
{
	struct uroce_responder *resp = uroce_responder_of(qp);

	if (resp->established)
		return;
	resp->established = true;
	uroce_qp_event(qp, IBV_EVENT_COMM_EST);
}
