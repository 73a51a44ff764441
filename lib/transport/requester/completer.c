/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The completer: turns the peer's answers into progress, retries and completions (R34-R38, R41, R42). req.unacked
 * is the PSN before which all SENDs and WRITEs are acknowledged, and all responses have been placed. On the
 * engine's thread.
 */

#include <rte_branch_prediction.h>

#include "transport/packet/packet.h"
#include "transport/qp/turns.h"
#include "transport/requester/requester.h"
#include "uroce_config.h"
#include "wire/copy.h"
#include "wire/credit.h"
#include "wire/sack.h"

/* R35: the times of the RNR timer codes, in units of 10 us. */
static const uint16_t rnr_timer_10us[32] = {
	0 /* 655.36 ms */, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
	1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

static uint64_t
rnr_timer_ns(uint8_t code)
{
	return (rnr_timer_10us[code & 31] == 0 ? 65536u : rnr_timer_10us[code & 31]) * 10000ull;
}

/* Complete the oldest WQE, all of whose packets have been answered. */
static void
complete_head(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	const struct uroce_sqe *sqe = uroce_sqe_at(&qp->sq, qp->sq.head);

	/* rd_atomics does not count a WQE that the requester has gone back to */
	if (req->next != qp->sq.head && uroce_is_rd_atomic(sqe->opcode))
		req->rd_atomics--;
	if (unlikely(uroce_wr_is(sqe->opcode, UROCE_WR_LOCALS)))
		req->locals--;
	uroce_qp_complete_send(e, qp, IBV_WC_SUCCESS);
	if (unlikely(qp->state == IBV_QPS_SQD))
		uroce_qp_drained(qp);
}

void
uroce_completer_locals(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	while (req->locals > 0 && qp->sq.head != req->started &&
	       uroce_wr_is(uroce_sqe_at(&qp->sq, qp->sq.head)->opcode, UROCE_WR_LOCALS)) {
		complete_head(e, qp);
		if (unlikely(qp->state == IBV_QPS_ERR))
			return;
	}
}

static void
progress(struct uroce_engine *e, struct uroce_qp *qp, uint32_t unacked)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	req->unacked = unacked;
	req->retries_left = qp->retry_cnt;	/* R34 */
	req->rnr_retries_left = qp->rnr_retry;
	if (unlikely(req->state != UROCE_REQUESTER_IN_ORDER))
		uroce_requester_on(e, qp, UROCE_ON_PROGRESS);
}

/* Answers have advanced unacked from `from`. In this pass the requester has sent `behind` PSNs, from `from` on. */
static void
moved_on(struct uroce_engine *e, struct uroce_qp *qp, uint32_t from, uint32_t behind)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	/* packets that were to be retransmitted have been answered: skip them */
	if (uroce_psn_distance(req->unacked, from) > behind)
		uroce_requester_on(e, qp, UROCE_ON_SKIP);
	if (unlikely(qp->listed & UROCE_QP_SILENT))
		uroce_peer_probe_ended(e, qp, uroce_psn_distance(req->unacked, from));
	uroce_retry_arm(e, qp);
	if (uroce_budget_counts(qp))
		uroce_budget_answered(e, qp, uroce_psn_distance(req->unacked, from));
	/* a WQE that is posted later rings the doorbell */
	if (unlikely(req->recovery != NULL))
		uroce_qp_activate(e, qp);
	else if (req->next != __atomic_load_n(&qp->sq.tail, __ATOMIC_RELAXED))
		uroce_qp_activate_requests(e, qp);
}

/*
 * An answer acknowledges all packets before psn: advance unacked over SENDs and WRITEs, up to a READ or atomic, which
 * only its own responses answer (R37). @return whether unacked has reached psn
 */
static bool
acknowledge(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	uint32_t behind = uroce_psn_distance(req->psn, req->unacked);
	uint32_t acked = uroce_psn_distance(psn, req->unacked);
	uint32_t from = req->unacked;

	while (qp->sq.head != req->started && req->unacked != psn) {
		const struct uroce_sqe *sqe = uroce_sqe_at(&qp->sq, qp->sq.head);
		uint32_t done = uroce_psn_distance(psn, sqe->first_psn);

		if (uroce_is_rd_atomic(sqe->opcode))
			break;
		if (done < sqe->psn_count) {
			progress(e, qp, psn);
			break;
		}
		progress(e, qp, uroce_psn_add(sqe->first_psn, sqe->psn_count));
		complete_head(e, qp);
		if (unlikely(qp->state == IBV_QPS_ERR))
			return false;
	}
	if (unlikely(req->locals > 0))
		uroce_completer_locals(e, qp);
	if (unlikely(qp->state == IBV_QPS_ERR))
		return false;
	if (req->unacked != from) {
		if (req->rtt_timed && uroce_psn_distance(req->rtt_psn, from) < uroce_psn_distance(req->unacked, from))
			uroce_rtt_measured(e, qp);
		moved_on(e, qp, from, behind);
	}
	return uroce_psn_distance(req->unacked, from) == acked;
}

/* Advance unacked and complete the oldest WQEs, in order, as far as the recovery record shows them answered. */
static void
settle(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	uint32_t behind = uroce_psn_distance(req->psn, req->unacked);
	uint32_t from = req->unacked;

	while (qp->sq.head != req->started) {
		const struct uroce_sqe *sqe = uroce_sqe_at(&qp->sq, qp->sq.head);
		uint32_t to = uroce_recovery_reached(qp, sqe);

		if (to != req->unacked) {
			uroce_recovery_passed(qp, to);
			progress(e, qp, to);
		}
		if (to != uroce_psn_add(sqe->first_psn, sqe->psn_count))
			break;
		complete_head(e, qp);
		if (unlikely(qp->state == IBV_QPS_ERR))
			return;
	}
	if (req->unacked != from) {
		/* a missing packet has delayed the answer, so it does not measure the round trip */
		if (uroce_psn_distance(req->rtt_psn, from) < uroce_psn_distance(req->unacked, from))
			req->rtt_timed = false;
		moved_on(e, qp, from, behind);
	}
	if (uroce_recovery_done(qp))
		uroce_requester_on(e, qp, UROCE_ON_REPAIRED);
}

/* As acknowledge(), during recovery: the record also stores answers behind a missing response. */
static bool
acknowledge_in_recovery(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn, enum uroce_answer answer)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	const enum uroce_probe_state probe = req->recovery->probe_state;
	const bool probed = probe == UROCE_PROBE_IDLE || probe == UROCE_PROBE_NEWEST;
	bool back = uroce_peer_probe_answered(e, qp, psn, answer);

	uroce_recovery_heard(qp, psn, psn);
	settle(e, qp);
	if (unlikely(qp->state == IBV_QPS_ERR))
		return false;
	if (back && req->psn != req->unacked &&
	    !uroce_requester_on(e, qp, answer == UROCE_ANSWER_NAK && !probed ? UROCE_ON_PROBE_NAK : UROCE_ON_PROBE_BACK))
		return false;
	uroce_qp_activate(e, qp);
	return req->unacked == psn;
}

/* Is the QP in recovery, and not failed? */
static bool
recovers(const struct uroce_qp *qp)
{
	return uroce_requester_of(qp)->recovery != NULL && qp->state != IBV_QPS_ERR;
}

/* An answer acknowledges all packets before psn. @return true: no response before psn is missing */
static bool
answered_before(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn, enum uroce_answer answer)
{
	if (likely(uroce_requester_of(qp)->recovery == NULL)) {
		if (likely(acknowledge(e, qp, psn)))
			return true;
		if (qp->state == IBV_QPS_ERR || uroce_recovery_begin(e, qp) == NULL)
			return false;
	}
	return acknowledge_in_recovery(e, qp, psn, answer);
}

/* An answer shows that an earlier response was lost. */
static enum uroce_verdict
gap(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (qp->state == IBV_QPS_ERR)
		return UROCE_OK;
	if (uroce_recovery_begin(e, qp) == NULL)
		uroce_requester_on(e, qp, UROCE_ON_RESPONSE_GAP);
	return UROCE_RESPONSE_GAP;
}

static enum uroce_verdict
rnr_nak(struct uroce_engine *e, struct uroce_qp *qp, uint8_t timer_code, uint32_t psn)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	uroce_count(e, UROCE_RNR_NAKS_RECEIVED, 1);
	uroce_qp_history_count(&qp->history, UROCE_QP_RNR_NAKS_RECEIVED, 1);
	uroce_trace_rnr_received(qp->dev->index, qp->ibv.qp_num, psn, timer_code, req->rnr_retries_left);
	if (uroce_requester_waits(req->state))
		return UROCE_OK;
	if (qp->rnr_retry != 7) {
		if (req->rnr_retries_left == 0) {
			uroce_qp_fail_send(e, qp, IBV_WC_RNR_RETRY_EXC_ERR);
			return UROCE_OK;
		}
		req->rnr_retries_left--;
	}
	uroce_requester_on(e, qp, UROCE_ON_RNR_NAK);
	uroce_wheel_arm(&e->wheel, &req->timer, e->now_ns + rnr_timer_ns(timer_code));
	return UROCE_OK;
}

static enum uroce_verdict
nak(struct uroce_engine *e, struct uroce_qp *qp, uint8_t code, uint32_t psn)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	static const uint8_t status[] = {	/* R38 */
		[UROCE_NAK_INVALID_REQUEST] = IBV_WC_REM_INV_REQ_ERR,
		[UROCE_NAK_REMOTE_ACCESS_ERROR] = IBV_WC_REM_ACCESS_ERR,
		[UROCE_NAK_REMOTE_OPERATIONAL_ERROR] = IBV_WC_REM_OP_ERR,
		[UROCE_NAK_INVALID_RD_REQUEST] = IBV_WC_REM_INV_RD_REQ_ERR,
	};

	uroce_count(e, UROCE_NAKS_RECEIVED, 1);
	uroce_qp_history_nak(&qp->history, UROCE_QP_NAKS_RECEIVED, code);
	uroce_trace_nak_received(qp->dev->index, qp->ibv.qp_num, psn, UROCE_AETH_NAK | code);
	if (code == UROCE_NAK_PSN_SEQUENCE_ERROR) {
		uroce_count(e, UROCE_PACKET_SEQ_ERR, 1);
		/* nothing to retransmit, or the requester sends this PSN next anyway */
		if (psn == req->max_psn || psn == req->psn || uroce_peer_probe_nak(e, qp, psn))
			return UROCE_OK;
		uroce_requester_on(e, qp, psn == req->unacked ? UROCE_ON_NAK : UROCE_ON_RESPONSE_GAP);
		return UROCE_OK;
	}
	if (code >= RTE_DIM(status))
		return UROCE_DROP_ACK_SYNDROME;
	if (req->unacked == req->max_psn)
		return UROCE_DROP_ACK_UNEXPECTED;
	uroce_qp_fail_send(e, qp, status[code]);
	return UROCE_OK;
}

/*
 * R30: an acknowledgement has the number of completed messages (MSN), and of receive WQEs for messages after these.
 * Credits only grow: an acknowledgement with fewer credits is older.
 * @return true if more may be sent now
 */
static bool
receive_credits(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_aeth *aeth)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	uint8_t code = aeth->syndrome & UROCE_AETH_VALUE_MASK;
	bool was_credited = req->credited;
	uint32_t lsn;

	if (code == UROCE_AETH_CREDITS_UNLIMITED) {
		if (likely(!was_credited))
			return false;
		req->credited = false;
	} else {
		lsn = uroce_psn_add(uroce_get24(aeth->msn), uroce_credits_decode(code));
		if (was_credited && uroce_psn_diff(lsn, req->lsn) <= 0)
			return false;
		req->lsn = lsn;
		req->credited = true;
	}
	if (!was_credited)
		return false;
	uroce_qp_activate(e, qp);
	return true;
}

static enum uroce_verdict
acknowledged(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn)
{
	return likely(answered_before(e, qp, psn, UROCE_ANSWER_ACK)) ? UROCE_OK : gap(e, qp);
}

/* Process an ACK or NAK. A NAK has the PSN of the refused packet, and acknowledges all packets before it. */
static enum uroce_verdict
receive_ack(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	const struct uroce_aeth *aeth = uroce_packet_ext(p, UROCE_EXT_AETH);
	uint8_t value = aeth->syndrome & UROCE_AETH_VALUE_MASK;

	switch (aeth->syndrome & UROCE_AETH_CLASS_MASK) {
	case UROCE_AETH_ACK:
		receive_credits(e, qp, aeth);
		return acknowledged(e, qp, uroce_psn_add(p->psn, 1));
	case UROCE_AETH_RNR_NAK:
		return answered_before(e, qp, p->psn, UROCE_ANSWER_RNR_NAK) ? rnr_nak(e, qp, value, p->psn)
									    : gap(e, qp);
	case UROCE_AETH_NAK:
		uroce_requester_of(qp)->marked |= value == UROCE_NAK_PSN_SEQUENCE_ERROR && uroce_bth_is_marked(p->bth);
		if (answered_before(e, qp, p->psn, value == UROCE_NAK_PSN_SEQUENCE_ERROR ? UROCE_ANSWER_NAK
											 : UROCE_ANSWER_REFUSAL))
			return nak(e, qp, value, p->psn);
		if (recovers(qp) && value == UROCE_NAK_PSN_SEQUENCE_ERROR)
			nak(e, qp, value, p->psn);
		return gap(e, qp);
	default:
		return UROCE_DROP_ACK_SYNDROME;
	}
}

/* The next response of the oldest WQE has been placed: advance, and complete the WQE after its last response. */
static void
response_placed(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t psn)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	bool behind = req->psn == req->unacked;

	if (unlikely(req->recovery != NULL)) {
		uroce_recovery_place(qp, psn);
		uroce_recovery_heard(qp, uroce_psn_add(psn, 1), uroce_psn_add(psn, 1));
		settle(e, qp);
		return;
	}
	if (req->rtt_timed && req->rtt_psn == psn)
		uroce_rtt_measured(e, qp);
	progress(e, qp, uroce_psn_add(psn, 1));
	if (req->unacked == uroce_psn_add(sqe->first_psn, sqe->psn_count))
		complete_head(e, qp);
	if (unlikely(req->locals > 0) && qp->state != IBV_QPS_ERR)
		uroce_completer_locals(e, qp);
	if (unlikely(qp->state == IBV_QPS_ERR))
		return;
	if (behind)
		uroce_requester_on(e, qp, UROCE_ON_SKIP);
	if (unlikely(qp->listed & UROCE_QP_SILENT))
		uroce_peer_probe_ended(e, qp, 1);
	uroce_retry_arm(e, qp);
	if (uroce_budget_counts(qp))
		uroce_budget_answered(e, qp, 1);
	uroce_qp_activate_requests(e, qp);
}

/* Copy a response's payload to the memory of its WQE. On failure nothing is written. */
static enum ibv_wc_status
place_read_response(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_sqe *sqe,
		    const struct uroce_packet *p)
{
	uint32_t offset = uroce_psn_distance(p->psn, sqe->first_psn);
	bool last = offset + 1 == sqe->psn_count;
	bool ends = p->info->flags & UROCE_OPF_LAST;
	struct uroce_slice slice = {
		.sge = sqe->sge, .num_sge = sqe->num_sge, .offset = offset * qp->mtu_bytes,
		.length = last ? sqe->length - offset * qp->mtu_bytes : qp->mtu_bytes,
		.access = IBV_ACCESS_LOCAL_WRITE,
	};

	if (unlikely(uroce_wr_is(sqe->opcode, UROCE_WR_PLACEMENTS)))
		slice.length = 0;	/* the response is a READ response without payload */
	else if (sqe->opcode != IBV_WR_RDMA_READ)
		return IBV_WC_BAD_RESP_ERR;
	/* If the requester has requested a part of the READ again, the responses may begin with FIRST or MIDDLE, and
	 * end with LAST at the end of the part. */
	if (p->payload_bytes != slice.length || (last != ends && !(ends && uroce_requester_of(qp)->parts)))
		return IBV_WC_BAD_RESP_ERR;
	if (slice.length > 0 && unlikely(uroce_slice_scatter(qp, &slice, p) != 0))
		return IBV_WC_LOC_PROT_ERR;
	uroce_count(e, UROCE_RECEIVED_BYTES, slice.length);
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status
place_atomic_ack(const struct uroce_qp *qp, const struct uroce_sqe *sqe, const struct uroce_packet *p)
{
	const struct uroce_atomicacketh *eth = uroce_packet_ext(p, UROCE_EXT_ATOMICACKETH);
	uint64_t original = rte_be_to_cpu_64(eth->original);
	const struct uroce_mr_key *key;

	if (!uroce_is_atomic(sqe->opcode))
		return IBV_WC_BAD_RESP_ERR;
	key = uroce_mr_lookup(&qp->dev->mrs, sqe->sge[0].lkey, qp->sq.pd, sqe->sge[0].addr, sizeof(original),
			      IBV_ACCESS_LOCAL_WRITE);
	if (unlikely(key == NULL))
		return IBV_WC_LOC_PROT_ERR;
	uroce_place(uroce_mr_va(key, sqe->sge[0].addr), (const uint8_t *)&original, sizeof(original));
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status
place(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_sqe *sqe, const struct uroce_packet *p)
{
	return p->info->op == UROCE_OP_ATOMIC_ACK ? place_atomic_ack(qp, sqe, p)
						  : place_read_response(e, qp, sqe, p);
}

/* Place a response behind a missing one, once. An invalid response fails the QP later, when it is the next one. */
static enum uroce_verdict
early_response(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	const struct uroce_sqe *sqe = uroce_recovery_wqe(qp, p->psn);

	if (sqe == NULL || !uroce_is_rd_atomic(sqe->opcode))
		return UROCE_BAD_RESPONSE;
	if (uroce_psn_distance(p->psn, uroce_requester_of(qp)->unacked) < uroce_reorder_window(qp->dev)) {
		if (uroce_recovery_placed(qp, p->psn))
			return UROCE_DROP_RESPONSE_DUPLICATE;
		if (place(e, qp, sqe, p) == IBV_WC_SUCCESS)
			uroce_recovery_place(qp, p->psn);
	}
	uroce_recovery_heard(qp, uroce_psn_add(p->psn, 1), uroce_psn_add(p->psn, 1));
	return UROCE_RESPONSE_GAP;
}

static enum uroce_verdict
receive_response(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	const struct uroce_sqe *sqe;
	enum ibv_wc_status status;

	if (p->info->ext[UROCE_EXT_AETH] != 0) {
		const struct uroce_aeth *aeth = uroce_packet_ext(p, UROCE_EXT_AETH);

		if ((aeth->syndrome & UROCE_AETH_CLASS_MASK) != UROCE_AETH_ACK)
			return UROCE_DROP_ACK_SYNDROME;
		receive_credits(e, qp, aeth);
	}
	if (!answered_before(e, qp, p->psn, UROCE_ANSWER_RESPONSE))
		return recovers(qp) ? early_response(e, qp, p) : gap(e, qp);
	sqe = uroce_sqe_at(&qp->sq, qp->sq.head);
	status = place(e, qp, sqe, p);
	if (unlikely(status != IBV_WC_SUCCESS)) {
		uroce_qp_fail_send(e, qp, status);
		return status == IBV_WC_BAD_RESP_ERR ? UROCE_BAD_RESPONSE : UROCE_OK;
	}
	response_placed(e, qp, sqe, p->psn);
	return UROCE_OK;
}

static enum uroce_verdict
receive_sack(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	struct uroce_sack sack;
	uint32_t asked;
	enum uroce_verdict verdict = uroce_sack_check(e, qp, p, &sack, &asked);

	if (verdict != UROCE_OK)
		return verdict;
	receive_credits(e, qp, uroce_packet_ext(p, UROCE_EXT_AETH));
	if (!qp->dev->go_back_n && uroce_recovery_begin(e, qp) != NULL)
		uroce_sack_apply(e, qp, p, &sack, asked);
	return acknowledged(e, qp, p->psn);
}

/* Is this an unsolicited ACK, a duplicate of the last one, with more credits (R30)? */
static bool
only_gives_credits(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	const struct uroce_aeth *aeth = uroce_packet_ext(p, UROCE_EXT_AETH);

	return uroce_psn_add(p->psn, 1) == req->unacked && req->credited &&
	       (aeth->syndrome & UROCE_AETH_CLASS_MASK) == UROCE_AETH_ACK && receive_credits(e, qp, aeth);
}

enum uroce_verdict
uroce_completer_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	const struct uroce_requester *req = uroce_requester_of(qp);
	uint32_t outstanding = uroce_psn_distance(req->max_psn, req->unacked);
	uint32_t ahead = uroce_psn_distance(p->psn, req->unacked);

	if (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD)
		return UROCE_DROP_QP_STATE;
	if (ahead < outstanding && likely(p->info->op == UROCE_OP_ACK))
		return receive_ack(e, qp, p);
	if (unlikely(p->info->op == UROCE_OP_SACK))
		return receive_sack(e, qp, p);
	if (ahead < outstanding)
		return receive_response(e, qp, p);
	/* a sequence NAK has the expected PSN, which may be one past the last PSN sent */
	if (ahead == outstanding && outstanding > 0 && p->info->op == UROCE_OP_ACK) {
		const struct uroce_aeth *aeth = uroce_packet_ext(p, UROCE_EXT_AETH);

		if (aeth->syndrome == UROCE_AETH_SEQUENCE_NAK)
			return receive_ack(e, qp, p);
	}
	if (p->info->op == UROCE_OP_ACK && only_gives_credits(e, qp, p))
		return UROCE_OK;
	return uroce_psn_diff(p->psn, req->unacked) < 0 && p->info->op != UROCE_OP_ACK
		? UROCE_DROP_RESPONSE_DUPLICATE : UROCE_DROP_ACK_UNEXPECTED;
}

/* Has the requester sent an unanswered packet with AckReq? Otherwise no answer is overdue: the port or a lack of mbufs
 * may have stopped the requester within a message, or it has gone back and has not had a turn yet. */
static bool
answer_is_due(const struct uroce_qp *qp)
{
	const struct uroce_requester *req = uroce_requester_of(qp);

	if (req->psn == req->unacked && req->recovery == NULL)
		return false;
	return req->offset == 0 || req->psn != req->max_psn || req->recovery != NULL ||
	       req->since_ack_req < uroce_psn_distance(req->max_psn, req->unacked);
}

void
uroce_completer_timeout(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	if (uroce_requester_waits(req->state)) {
		uroce_requester_on(e, qp, UROCE_ON_RNR_OVER);
		return;
	}
	if (!answer_is_due(qp)) {
		uroce_retry_arm(e, qp);
		return;
	}
	if (uroce_engine_heard_by(e) < req->timeout_ns) {
		uroce_peer_probe_stalled(e, qp);
		return;
	}
	/* R36 */
	uroce_count(e, UROCE_TIMEOUTS, 1);
	uroce_qp_history_count(&qp->history, UROCE_QP_TIMEOUTS, 1);
	uroce_window_reset(qp);
	uroce_requester_on(e, qp, UROCE_ON_TIMEOUT);
}
