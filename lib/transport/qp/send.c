/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Completes, flushes and fails send WQEs (R41, R42). On a UC or UD QP a failed send stops only the send queue. On the
 * engine's thread.
 */

#include <rte_branch_prediction.h>

#include "transport/qp/qp.h"
#include "verbs/address/ah.h"

static enum ibv_wc_opcode
wc_opcode(uint8_t wr_opcode)
{
	switch (wr_opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	case IBV_WR_FLUSH:
		return IBV_WC_FLUSH;
	case IBV_WR_ATOMIC_WRITE:
		return IBV_WC_ATOMIC_WRITE;
	default:
		return IBV_WC_SEND;
	}
}

/* Remove the oldest send WQE from the queue. */
static inline void
retire(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, enum ibv_wc_status status)
{
	if (unlikely(status != IBV_WC_SUCCESS))
		uroce_count_send_error(e, status);
	else
		uroce_count(e, UROCE_RDMA_SENDS, uroce_wr_is(sqe->opcode, UROCE_WR_SENDS));
	if (unlikely(qp->transport == UROCE_TRANSPORT_UD))
		uroce_ah_put(sqe->ud.ah);
	/* pairs with the acquire in uroce_post_send(): the slot is free */
	__atomic_store_n(&qp->sq.head, qp->sq.head + 1, __ATOMIC_RELEASE);
}

void
uroce_qp_complete_send(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status)
{
	const struct uroce_sqe *sqe = uroce_sqe_at(&qp->sq, qp->sq.head);
	const bool signaled = sqe->flags & IBV_SEND_SIGNALED;
	struct ibv_wc wc;

	if (unlikely(status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR)) /* a flush follows a revocation */
		uroce_qp_revoke(qp);
	if (!signaled && status == IBV_WC_SUCCESS) {
		retire(e, qp, sqe, status);
		return;
	}
	wc = (struct ibv_wc){
		.wr_id = sqe->wr_id, .status = status, .opcode = wc_opcode(sqe->opcode),
		.byte_len = sqe->length, .qp_num = qp->ibv.qp_num,
	};
	retire(e, qp, sqe, status);
	if (unlikely(!uroce_cq_push(uroce_cq_of(qp->ibv.send_cq), e, &wc, status != IBV_WC_SUCCESS)))
		uroce_qp_overrun(e, qp);
}

/* Flush all send WQEs. If the CQ is full, their completions are lost and the CQ reports an overrun (R43). */
void
uroce_qp_flush_sends(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	/* pairs with the release in uroce_post_send() */
	while (qp->sq.head != __atomic_load_n(&qp->sq.tail, __ATOMIC_ACQUIRE))
		uroce_qp_complete_send(e, qp, IBV_WC_WR_FLUSH_ERR);
	req->next = req->started = qp->sq.head;
	req->offset = 0;
}

void
uroce_qp_fail_send(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status)
{
	uroce_qp_history_failed(&qp->history, UROCE_CAUSE_SEND, status, UROCE_OK, e->now_ns);
	uroce_qp_complete_send(e, qp, status);
	uroce_qp_fail(e, qp, IBV_EVENT_QP_FATAL);
}

void
uroce_qp_fail_sends(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status)
{
	uroce_qp_history_failed(&qp->history, UROCE_CAUSE_SEND, status, UROCE_OK, e->now_ns);
	uroce_qp_complete_send(e, qp, status);
	if (qp->state == IBV_QPS_ERR)
		return;
	uroce_qp_trace(qp, qp->state, IBV_QPS_SQE);
	__atomic_store_n(&qp->state, IBV_QPS_SQE, __ATOMIC_RELAXED);
	qp->attr.qp_state = IBV_QPS_SQE;
	/* a WQE that is posted later rings the doorbell, and is flushed in the QP's turn */
	uroce_qp_flush_sends(e, qp);
}
