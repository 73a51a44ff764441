/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks and executes requests. A request passes the checks of R10 in order. The first check that fails gives its
 * verdict, for which uroce_verdicts[] has the answer to the peer. A request is executed only if it passes all checks.
 * On the engine's thread.
 */

#include <string.h>

#include <rte_branch_prediction.h>

#include "transport/packet/packet.h"
#include "transport/qp/turns.h"
#include "transport/responder/responder.h"
#include "uroce_config.h"
#include "verbs/srq/xrc.h"

void
uroce_responder_reset(struct uroce_qp *qp)
{
	struct uroce_responder *resp = uroce_responder_of(qp);

	uroce_reorder_drop(qp->engine, qp);
	resp->psn = qp->attr.rq_psn;
	resp->msn = 0;
	resp->ack_owed = false;
	resp->nak_state = UROCE_STATE_IN_ORDER;
	resp->peer_state = UROCE_GAP_PEER_UNTOLD;
	resp->message_op = UROCE_OP_NONE;
	qp->recv_taken = false;
	resp->credits = UROCE_AETH_CREDITS_UNLIMITED;
	resp->established = false;
	resp->wrong_keys = 0;
	resp->selective = resp->sack_owed = resp->ack_behind_nak = false;
	resp->read_again = false;
	resp->asked = resp->gap_end = resp->psn;
	resp->resource_head = resp->resource_tail = resp->recv_resource = 0;
	resp->recv_unacked = resp->holds_wqe = false;
	if (resp->resources != NULL)
		memset(resp->resources, 0, (resp->resource_mask + 1) * sizeof(*resp->resources));
}

void *
uroce_responder_take_ring(struct uroce_qp *qp, void *ring, uint32_t entries)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	struct uroce_rd_atomic *old = resp->resources, *new = ring;

	for (uint32_t i = 1; old != NULL && new != NULL && i <= resp->resource_mask + 1; i++) {
		uint32_t at = resp->resource_tail - i;

		new[at & (entries - 1)] = old[at & resp->resource_mask];
	}
	resp->resources = new;
	resp->resource_mask = new != NULL ? entries - 1 : 0;
	return old;
}

/* R13: FIRST and ONLY begin a message, MIDDLE and LAST continue one of the same operation. */
static bool
in_sequence(const struct uroce_responder *resp, const struct uroce_opcode_info *info)
{
	if (info->op != UROCE_OP_SEND && info->op != UROCE_OP_WRITE)
		return resp->message_op == UROCE_OP_NONE;
	return info->flags & UROCE_OPF_FIRST ? resp->message_op == UROCE_OP_NONE
					     : resp->message_op == info->op;
}

static bool
allowed(const struct uroce_qp *qp, const struct uroce_opcode_info *info)
{
	switch (info->op) {
	case UROCE_OP_SEND:
		return true;
	case UROCE_OP_WRITE:
		return qp->access & IBV_ACCESS_REMOTE_WRITE;
	case UROCE_OP_READ_REQUEST:
		return (qp->access & IBV_ACCESS_REMOTE_READ) && qp->attr.max_dest_rd_atomic > 0;
	case UROCE_OP_CMP_SWAP:
	case UROCE_OP_FETCH_ADD:
		return (qp->access & IBV_ACCESS_REMOTE_ATOMIC) && qp->attr.max_dest_rd_atomic > 0;
	case UROCE_OP_ATOMIC_WRITE:
		return (qp->access & IBV_ACCESS_REMOTE_WRITE) && qp->attr.max_dest_rd_atomic > 0;
	case UROCE_OP_FLUSH:
		return qp->attr.max_dest_rd_atomic > 0;
	default:
		return false;
	}
}

/* A request packet has been executed: update PSN and MSN (R29). */
static __rte_always_inline void
executed(struct uroce_engine *e, struct uroce_responder *resp, const struct uroce_packet *p, uint32_t psns)
{
	resp->psn = uroce_psn_add(resp->psn, psns);
	if (p->info->flags & UROCE_OPF_LAST) {
		resp->msn = uroce_psn_add(resp->msn, 1);
		resp->message_op = UROCE_OP_NONE;
	} else {
		resp->message_op = p->info->op;
	}
	uroce_count(e, UROCE_RECEIVED_BYTES, p->payload_bytes);
}

/* A packet of a SEND or WRITE: owe an ACK if the requester wants one (R31). */
static __rte_always_inline enum uroce_verdict
executed_data(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	executed(e, uroce_responder_of(qp), p, 1);
	if (p->ack_req)
		uroce_ack_owe(e, qp, p);
	return UROCE_OK;
}

/* A request with a response, which replaces the ACK. */
static enum uroce_verdict
executed_rd_atomic(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p, uint32_t psns)
{
	executed(e, uroce_responder_of(qp), p, psns);
	uroce_response_supersede_ack(qp);
	uroce_qp_activate(e, qp);
	return UROCE_OK;
}

static bool
invalidate(struct uroce_qp *qp, const struct ibv_wc *wc)
{
	return uroce_mw_invalidate(&qp->dev->mrs, wc->invalidated_rkey, uroce_rkey_pd(qp), &qp->windows) == 0;
}

/* R33: before the payload is placed. A packet that may be revoked then, and arrive again, only checks that it can
 * invalidate the window. */
static bool
begin_invalidate(struct uroce_qp *qp, const struct uroce_packet *p, struct ibv_wc *wc)
{
	const struct uroce_ieth *ieth = uroce_packet_ext(p, UROCE_EXT_IETH);

	wc->wc_flags |= IBV_WC_WITH_INV;
	wc->invalidated_rkey = rte_be_to_cpu_32(ieth->rkey);
	if (uroce_mbuf_is_guarded(p->mbuf))
		return uroce_mw_may_invalidate(&qp->dev->mrs, wc->invalidated_rkey, uroce_rkey_pd(qp), &qp->windows);
	return invalidate(qp, wc);
}

static bool
end_invalidate(struct uroce_qp *qp, const struct uroce_packet *p, const struct ibv_wc *wc)
{
	return !uroce_mbuf_is_guarded(p->mbuf) || invalidate(qp, wc);
}

static enum uroce_verdict
receive_send(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	const struct uroce_rqe *rqe = uroce_recv_take(qp);
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV };
	struct uroce_slice slice;

	if (rqe == NULL)
		return UROCE_NAK_RNR;		/* R21 */
	if (p->info->flags & UROCE_OPF_FIRST)
		resp->offset = 0;
	if (!uroce_payload_fits(qp, p))
		return UROCE_NAK_PAYLOAD;	/* R14 */
	if (p->payload_bytes > rqe->length - resp->offset)
		return UROCE_NAK_RECV_LENGTH;	/* R17 */
	slice = (struct uroce_slice){
		.sge = rqe->sge, .num_sge = rqe->num_sge, .offset = resp->offset,
		.length = p->payload_bytes, .access = IBV_ACCESS_LOCAL_WRITE, .pd = uroce_recv_pd(qp),
	};
	if (uroce_mbuf_is_revoked(p->mbuf))
		return UROCE_DROP_REVOKED;
	if (unlikely(p->info->ext[UROCE_EXT_IETH] != 0) && !begin_invalidate(qp, p, &wc))
		return UROCE_NAK_INVALIDATE;
	if (slice.length > 0 && unlikely(uroce_slice_scatter(qp, &slice, p) != 0))
		return UROCE_NAK_LOCAL_PROTECTION;
	if (uroce_mbuf_is_revoked(p->mbuf))
		return UROCE_DROP_REVOKED;
	if (unlikely(p->info->ext[UROCE_EXT_IETH] != 0) && !end_invalidate(qp, p, &wc))
		return UROCE_NAK_INVALIDATE;
	resp->offset += p->payload_bytes;
	if (p->info->flags & UROCE_OPF_LAST) {
		wc.byte_len = resp->offset;
		uroce_recv_immediate(p, &wc);
		if (!uroce_qp_complete_recv(e, qp, &wc, p->solicited))
			return UROCE_OK;
	}
	return executed_data(e, qp, p);
}

static enum uroce_verdict
receive_write(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV_RDMA_WITH_IMM };
	const struct uroce_mr_key *key = NULL;

	if ((p->info->flags & UROCE_OPF_RECV) && uroce_recv_take(qp) == NULL)
		return UROCE_NAK_RNR;		/* R21 */
	if (p->info->flags & UROCE_OPF_FIRST) {
		const struct uroce_reth *reth = uroce_packet_ext(p, UROCE_EXT_RETH);

		resp->offset = 0;
		resp->length = rte_be_to_cpu_32(reth->dma_len);
		resp->rkey = rte_be_to_cpu_32(reth->rkey);
		resp->addr = rte_be_to_cpu_64(reth->va);
		uroce_count(e, UROCE_RX_WRITE_REQUESTS, 1);
	}
	if (!uroce_payload_fits(qp, p))
		return UROCE_NAK_PAYLOAD;	/* R14 */
	if (!uroce_dma_length_fits(resp, p))
		return UROCE_NAK_DMA_LEN;	/* R16 */
	if (resp->length > 0) {		/* R18, R20; R19: no check for length 0 */
		key = uroce_key_lookup(&qp->dev->mrs, resp->rkey, uroce_rkey_pd(qp), &qp->windows,
				       resp->addr, resp->length, IBV_ACCESS_REMOTE_WRITE);
		if (unlikely(key == NULL))
			return UROCE_NAK_ACCESS;
		if (uroce_mbuf_is_revoked(p->mbuf)) /* also before: the application may poll the memory */
			return UROCE_DROP_REVOKED;
		uroce_packet_copy(p, 0, uroce_mr_va(key, resp->addr) + resp->offset, p->payload_bytes);
	}
	if (uroce_mbuf_is_revoked(p->mbuf))
		return UROCE_DROP_REVOKED;
	resp->offset += p->payload_bytes;
	if (p->info->flags & UROCE_OPF_RECV) {
		wc.byte_len = resp->length;
		uroce_recv_immediate(p, &wc);
		if (!uroce_qp_complete_recv(e, qp, &wc, p->solicited))
			return UROCE_OK;
	}
	return executed_data(e, qp, p);
}

static enum uroce_verdict
receive_read(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	const struct uroce_reth *reth = uroce_packet_ext(p, UROCE_EXT_RETH);
	struct uroce_responder *resp = uroce_responder_of(qp);
	uint32_t length = rte_be_to_cpu_32(reth->dma_len);
	uint32_t rkey = rte_be_to_cpu_32(reth->rkey);
	uint64_t va = rte_be_to_cpu_64(reth->va);
	const struct uroce_mr_key *key = NULL;
	struct uroce_rd_atomic *r;
	uint32_t psns;

	if (uroce_rd_atomic_full(qp))
		return UROCE_NAK_RD_ATOMIC;	/* R22 */
	if (!uroce_payload_fits(qp, p))
		return UROCE_NAK_PAYLOAD;	/* R14 */
	if (length > UROCE_MAX_MSG_BYTES)
		return UROCE_NAK_DMA_LEN;	/* R16 */
	if (length > 0) {		/* R18, R20; R19: no check for length 0 */
		key = uroce_key_lookup(&qp->dev->mrs, rkey, uroce_rkey_pd(qp), &qp->windows, va, length,
				       IBV_ACCESS_REMOTE_READ);
		if (key == NULL)
			return UROCE_NAK_ACCESS;
	}
	psns = uroce_message_packets(qp, length);
	uroce_count(e, UROCE_RX_READ_REQUESTS, 1);
	r = uroce_rd_atomic_add(resp);
	*r = (struct uroce_rd_atomic){
		.op = UROCE_OP_READ_REQUEST, .addr = va, .rkey = rkey, .length = length,
		.srqn = unlikely(qp->transport == UROCE_TRANSPORT_XRC) ? qp->recv_srq->number : 0,
		.first_psn = resp->psn, .psn_count = psns, .end = psns,
		.msn = uroce_psn_add(resp->msn, 1),
		.by_reference = key != NULL && uroce_key_is_referable(key, qp->dev->no_icrc) && !resp->read_again,
	};
	return executed_rd_atomic(e, qp, p, psns);
}

static enum uroce_verdict
receive_atomic(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	const struct uroce_atomiceth *eth = uroce_packet_ext(p, UROCE_EXT_ATOMICETH);
	struct uroce_responder *resp = uroce_responder_of(qp);
	uint64_t addr = rte_be_to_cpu_64(eth->va);
	uint64_t swap_add = rte_be_to_cpu_64(eth->swap_add);
	uint64_t original = rte_be_to_cpu_64(eth->compare);
	const struct uroce_mr_key *key;
	struct uroce_rd_atomic *r;
	uint64_t *va;

	if (uroce_rd_atomic_full(qp))
		return UROCE_NAK_RD_ATOMIC;	/* R22 */
	if (!uroce_payload_fits(qp, p))
		return UROCE_NAK_PAYLOAD;	/* R14 */
	if ((addr & 7) != 0)
		return UROCE_NAK_ATOMIC_ALIGNMENT;	/* R23 */
	key = uroce_key_lookup(&qp->dev->mrs, rte_be_to_cpu_32(eth->rkey), uroce_rkey_pd(qp), &qp->windows,
			       addr, sizeof(*va), IBV_ACCESS_REMOTE_ATOMIC);
	if (key == NULL)
		return UROCE_NAK_ACCESS;	/* R18, R20 */
	va = (uint64_t *)uroce_mr_va(key, addr);
	/* va may be aligned differently from addr, which need not be an address of this process */
	if (unlikely(((uintptr_t)va & 7) != 0))
		return UROCE_NAK_ATOMIC_ALIGNMENT;
	/* pairs with the application's atomics and acquires of this memory */
	if (p->info->op == UROCE_OP_FETCH_ADD)
		original = __atomic_fetch_add(va, swap_add, __ATOMIC_SEQ_CST);
	else	/* on failure this sets `original` to the current value */
		__atomic_compare_exchange_n(va, &original, swap_add, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	uroce_count(e, UROCE_RX_ATOMIC_REQUESTS, 1);
	r = uroce_rd_atomic_add(resp);
	*r = (struct uroce_rd_atomic){
		.op = p->info->op, .original = original, .first_psn = resp->psn, .psn_count = 1, .end = 1,
		.msn = uroce_psn_add(resp->msn, 1),
	};
	return executed_rd_atomic(e, qp, p, 1);
}

static enum uroce_verdict
receive_placement(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	enum uroce_verdict verdict = p->info->op == UROCE_OP_FLUSH ? uroce_flush_receive(qp, p)
								   : uroce_atomic_write_receive(e, qp, p);

	return verdict == UROCE_OK ? executed_rd_atomic(e, qp, p, 1) : verdict;
}

/* XRC: each request has the number of an SRQ of the QP's XRC domain, the same in all packets of a message. */
static bool
find_srq(struct uroce_qp *qp, const struct uroce_packet *p)
{
	const struct uroce_xrceth *xrceth = uroce_packet_ext(p, UROCE_EXT_XRCETH);
	struct uroce_srq *srq = uroce_srq_lookup(qp->dev, uroce_get24(xrceth->srq));

	if (srq == NULL || srq->domain != qp->target->domain)
		return false;
	if (uroce_responder_of(qp)->message_op != UROCE_OP_NONE && srq != qp->recv_srq)
		return false;
	qp->recv_srq = srq;
	return true;
}

enum uroce_verdict
uroce_responder_execute(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	if (!in_sequence(uroce_responder_of(qp), p->info))
		return UROCE_NAK_OPCODE_SEQUENCE;
	if (!allowed(qp, p->info))
		return UROCE_NAK_NOT_ALLOWED;
	if (unlikely(qp->transport == UROCE_TRANSPORT_XRC) && !find_srq(qp, p))
		return UROCE_NAK_XRC_SRQ;
	switch (p->info->op) {
	case UROCE_OP_SEND:
		return receive_send(e, qp, p);
	case UROCE_OP_WRITE:
		return receive_write(e, qp, p);
	case UROCE_OP_READ_REQUEST:
		return receive_read(e, qp, p);
	case UROCE_OP_FLUSH:
	case UROCE_OP_ATOMIC_WRITE:
		return receive_placement(e, qp, p);
	default:
		return receive_atomic(e, qp, p);
	}
}

/* Send a NAK for a refused request with the expected PSN. Either the requester may retransmit it, or the QP fails. */
static void
refuse(struct uroce_engine *e, struct uroce_qp *qp, enum uroce_verdict verdict)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	uint8_t syndrome = uroce_verdicts[verdict].syndrome;
	struct ibv_wc wc = { .status = uroce_verdicts[verdict].wc_status, .opcode = IBV_WC_RECV };

	if (verdict == UROCE_NAK_RNR)
		syndrome |= qp->attr.min_rnr_timer;
	/* a FLUSH that has to wait gets a sequence NAK, as if it had been lost */
	if (verdict == UROCE_NAK_RNR || verdict == UROCE_NAK_FLUSH_RESOURCES || verdict == UROCE_NAK_FLUSH_PENDING) {
		uroce_nak_on(resp, UROCE_ON_REFUSED);
		uroce_response_nak(e, qp, syndrome, resp->psn);
		return;
	}
	uroce_qp_history_failed(&qp->history, UROCE_CAUSE_REFUSED, IBV_WC_SUCCESS, verdict, e->now_ns);
	if (qp->recv_taken && wc.status != IBV_WC_SUCCESS && !uroce_qp_complete_recv(e, qp, &wc, true))
		return;
	uroce_nak_on(resp, UROCE_ON_FATAL);
	uroce_response_nak(e, qp, syndrome, resp->psn);
	uroce_qp_event(qp, syndrome == uroce_verdicts[UROCE_NAK_ACCESS].syndrome ? IBV_EVENT_QP_ACCESS_ERR
									: IBV_EVENT_QP_REQ_ERR);
}

/* R12: keep a request ahead of the expected PSN, if possible. For the first packet behind a gap, send a SACK if the
 * peer understands SACKs, else a NAK. */
static __rte_noinline enum uroce_verdict
receive_ahead(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p, uint32_t ahead)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	bool report = false;
	enum uroce_verdict verdict = uroce_reorder_keep(e, qp, p, ahead, &report);

	if (report)
		uroce_ack_owe_sack(e, qp);
	uroce_peer_on(resp, UROCE_ON_PEER_AHEAD);
	if (resp->selective && resp->reorder != NULL)
		return verdict;
	if (!uroce_nak_on(resp, UROCE_ON_AHEAD))
		return verdict;
	uroce_response_nak(e, qp, UROCE_AETH_SEQUENCE_NAK, resp->psn);
	return verdict == UROCE_DROP_AHEAD ? UROCE_NAK_SEQUENCE : verdict;
}

/* Does the last executed request have a response? The response acknowledges all requests before it. An ACK of the same
 * PSN must not precede it: rxe of Linux 6.1 takes the ACK as the end of an atomic, and loses the atomic's result. */
static bool
response_acknowledges(const struct uroce_responder *resp)
{
	const struct uroce_rd_atomic *last;

	if (resp->resource_head == resp->resource_tail)
		return false;
	last = &resp->resources[(resp->resource_tail - 1) & resp->resource_mask];
	return uroce_psn_add(last->first_psn, last->psn_count) == resp->psn;
}

/* Answer progress while the QP has a reorder buffer: one answer for all packets behind a gap, which also reports the
 * next gap. @param leapt	a gap has closed */
static void
answer_progress(struct uroce_engine *e, struct uroce_qp *qp, bool leapt)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	bool gap = uroce_reorder_settle(e, qp);

	if (gap && resp->selective && resp->reorder != NULL) {
		uroce_ack_owe_sack(e, qp);
		return;
	}
	if (!gap && resp->ack_owed && resp->ack_syndrome == UROCE_AETH_SEQUENCE_NAK) {
		resp->ack_syndrome = UROCE_AETH_ACK;	/* the missing packet has arrived before the NAK left */
		if (response_acknowledges(resp))
			uroce_response_supersede_ack(qp);
	}
	if (!leapt)
		return;
	if (gap && !uroce_peer_goes_back(resp) && uroce_nak_on(resp, UROCE_ON_NEXT_GAP)) {
		uroce_response_nak(e, qp, UROCE_AETH_SEQUENCE_NAK, resp->psn);
	} else if (!response_acknowledges(resp)) {
		uroce_ack_owe(e, qp, NULL);
	}
}

/* The expected request has been executed or refused, and the reorder buffer has requests behind it. Execute those that
 * are in order now, as if they had just arrived; after a refusal, drop all. */
static __rte_noinline void
resume(struct uroce_engine *e, struct uroce_qp *qp, enum uroce_verdict verdict)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	uint32_t filled = resp->psn;
	struct uroce_packet p;

	while (verdict == UROCE_OK && qp->state != IBV_QPS_ERR && uroce_reorder_take(e, qp, &p)) {
		verdict = uroce_responder_execute(e, qp, &p);
		if (verdict != UROCE_OK) {
			uroce_count_verdict(e, verdict);
			refuse(e, qp, verdict);
		}
		rte_pktmbuf_free(p.mbuf);
	}
	if (verdict != UROCE_OK)
		uroce_reorder_drop(e, qp);
	if (resp->reorder == NULL || qp->state == IBV_QPS_ERR)
		return;
	if (resp->psn != filled) {
		resp->gap_end = filled;
		uroce_peer_on(resp, UROCE_ON_CLOSED);
	}
	answer_progress(e, qp, resp->psn != filled);
}

/* R32: a QP in the error state, or with an owed fatal NAK, executes no requests. */
static bool
is_responding(const struct uroce_qp *qp)
{
	return (qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD) &&
	       uroce_responder_of(qp)->nak_state != UROCE_STATE_CLOSING;
}

enum uroce_verdict
uroce_responder_ask(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	struct uroce_responder *resp = uroce_responder_of(qp);

	if (!is_responding(qp))
		return UROCE_DROP_QP_STATE;
	resp->selective = true;
	resp->asked = p->psn;
	uroce_ack_owe_sack(e, qp);
	return UROCE_OK;
}

enum uroce_verdict
uroce_responder_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	int32_t ahead = uroce_psn_diff(p->psn, resp->psn);
	enum uroce_verdict verdict;

	if (!is_responding(qp))
		return UROCE_DROP_QP_STATE;
	if (ahead < 0)
		return uroce_duplicate_receive(e, qp, p);
	if (ahead > 0)
		return receive_ahead(e, qp, p, (uint32_t)ahead);
	if (unlikely(resp->nak_state != UROCE_STATE_IN_ORDER))
		uroce_nak_on(resp, UROCE_ON_EXPECTED);
	if (resp->ack_owed && (resp->ack_syndrome & UROCE_AETH_CLASS_MASK) == UROCE_AETH_RNR_NAK)
		/* the request that the owed NAK refuses has arrived again: owe an ACK, which the NAK may have
		 * replaced */
		resp->ack_syndrome = UROCE_AETH_ACK;
	if (unlikely(qp->state == IBV_QPS_RTR))
		uroce_qp_established(qp);
	verdict = uroce_responder_execute(e, qp, p);
	if (unlikely(verdict == UROCE_DROP_REVOKED))
		return verdict; /* as if the packet had been lost */
	if (unlikely(verdict != UROCE_OK))
		refuse(e, qp, verdict);
	if (unlikely(resp->reorder != NULL))
		resume(e, qp, verdict);
	return verdict;
}
