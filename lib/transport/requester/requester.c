/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Cuts send WQEs into packets, as far as the window, fences, the limit of READs (R39) and credits (R30) allow. It keeps
 * no copies of packets: to retransmit a packet, it builds it from the WQE again. On the engine's thread.
 */

#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_debug.h>

#include "transport/packet/packet.h"
#include "transport/packet/tx_inline.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"
#include "uroce_config.h"

void
uroce_requester_reset(struct uroce_qp *qp, uint32_t psn)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	uroce_requester_on(qp->engine, qp, UROCE_ON_STOP);
	uroce_budget_leave(qp->engine, qp);
	req->budget = uroce_budget_choose(qp);
	uroce_rtt_reset(qp);
	uroce_window_reset(qp);
	uroce_wheel_disarm(&req->timer);
	req->peer = UROCE_PEER_UNKNOWN;
	req->doubts = 0;
	req->marked = false;
	req->parts = false;
	req->went_back = psn;
	req->next = req->started = qp->sq.head;
	req->offset = 0;
	req->psn = req->max_psn = req->unacked = psn;
	req->since_ack_req = 0;
	req->rd_atomics = 0;
	req->locals = 0;
	req->retries_left = qp->retry_cnt;
	req->rnr_retries_left = qp->rnr_retry;
	req->ssn = req->lsn = 0;
	req->credited = false;
}

/* R30: does the peer's credit allow the message, if it uses a receive WQE? One message beyond the credits may be sent,
 * to request more credits. The oldest WQE may always be sent, because only an answer to it brings new credits. */
static bool
has_credit(const struct uroce_qp *qp, uint8_t wr_opcode)
{
	const struct uroce_requester *req = uroce_requester_of(qp);

	return req->next != req->started || req->next == qp->sq.head || !uroce_wr_is(wr_opcode, UROCE_WR_RECEIVES) ||
	       uroce_psn_diff(req->ssn, req->lsn) <= 0;
}

/* Do the fence, credits, R39 and R11 (at most half the PSN space outstanding) allow to start the WQE? */
static bool
may_start(const struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t outstanding)
{
	const struct uroce_requester *req = uroce_requester_of(qp);

	if ((sqe->flags & IBV_SEND_FENCE) && req->rd_atomics > 0)
		return false;
	if (unlikely(req->credited) && !has_credit(qp, sqe->opcode))
		return false;
	if (!uroce_is_rd_atomic(sqe->opcode))
		return true;
	return req->rd_atomics < qp->attr.max_rd_atomic &&
	       outstanding + sqe->psn_count <= UROCE_PSN_HALF;
}

/* Assign PSNs to the WQE before its first packet is built. @return false: the WQE has to wait */
static bool
start_wqe(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_sqe *sqe, uint32_t outstanding)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	if (req->next == req->started)
		sqe->psn_count = uroce_wr_is(sqe->opcode, UROCE_WR_SINGLES) ? 1
									    : uroce_message_packets(qp, sqe->length);
	if (!may_start(qp, sqe, outstanding))
		return false;
	if (req->next == req->started) {
		if (uroce_acks_block(e, qp, sqe))
			return false;
		sqe->first_psn = req->psn;
		req->started++;
		req->ssn = uroce_psn_add(req->ssn, 1);
	}
	return true;
}

/* Request `psns` responses of a READ, from req.offset on. */
static int
read_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t psns,
	     struct rte_mbuf **out)
{
	uint32_t done = uroce_requester_of(qp)->offset * qp->mtu_bytes;
	bool rest = uroce_requester_of(qp)->offset + psns == sqe->psn_count;
	const struct uroce_packet_desc d = {
		.path = &qp->path,
		.bth = UROCE_BTH_TO_PEER(qp, qp->opcode_base + UROCE_RC_READ_REQUEST, uroce_requester_of(qp)->psn,
					 UROCE_BTH_ACKREQ),
		.srqn = sqe->remote_srqn,
		.va = sqe->remote_addr + done, .rkey = sqe->rkey,
		.dma_len = rest ? sqe->length - done : psns * qp->mtu_bytes,
	};

	return uroce_packet_build(e, qp, &d, out);
}

static int
atomic_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
	       struct rte_mbuf **out)
{
	bool cas = sqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	uint8_t opcode = qp->opcode_base + (cas ? UROCE_RC_CMP_SWAP : UROCE_RC_FETCH_ADD);
	const struct uroce_packet_desc d = {
		.path = &qp->path, .bth = UROCE_BTH_TO_PEER(qp, opcode, uroce_requester_of(qp)->psn, UROCE_BTH_ACKREQ),
		.srqn = sqe->remote_srqn, .va = sqe->remote_addr, .rkey = sqe->rkey,
		.swap_add = cas ? sqe->swap : sqe->compare_add, .compare = cas ? sqe->compare_add : 0,
	};

	return uroce_packet_build(e, qp, &d, out);
}

/* Build the request of a READ, atomic, FLUSH or ATOMIC_WRITE. */
static int
rd_atomic_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t psns,
		  struct rte_mbuf **out)
{
	switch (sqe->opcode) {
	case IBV_WR_RDMA_READ:
		return read_request(e, qp, sqe, psns, out);
	case IBV_WR_FLUSH:
		return uroce_flush_request(e, qp, sqe, out);
	case IBV_WR_ATOMIC_WRITE:
		return uroce_atomic_write_request(e, qp, sqe, out);
	default:
		return atomic_request(e, qp, sqe, out);
	}
}

/* Opcodes by [work request][place in the message: MIDDLE, FIRST, LAST, ONLY]. */
static const uint8_t data_opcodes[][4] = {
	[IBV_WR_RDMA_WRITE] = { UROCE_RC_WRITE_MIDDLE, UROCE_RC_WRITE_FIRST, UROCE_RC_WRITE_LAST,
				UROCE_RC_WRITE_ONLY },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { UROCE_RC_WRITE_MIDDLE, UROCE_RC_WRITE_FIRST, UROCE_RC_WRITE_LAST_IMM,
					 UROCE_RC_WRITE_ONLY_IMM },
	[IBV_WR_SEND] = { UROCE_RC_SEND_MIDDLE, UROCE_RC_SEND_FIRST, UROCE_RC_SEND_LAST, UROCE_RC_SEND_ONLY },
	[IBV_WR_SEND_WITH_IMM] = { UROCE_RC_SEND_MIDDLE, UROCE_RC_SEND_FIRST, UROCE_RC_SEND_LAST_IMM,
				   UROCE_RC_SEND_ONLY_IMM },
	[IBV_WR_SEND_WITH_INV] = { UROCE_RC_SEND_MIDDLE, UROCE_RC_SEND_FIRST, UROCE_RC_SEND_LAST_INV,
				   UROCE_RC_SEND_ONLY_INV },
};

/* Describe a packet of a SEND or WRITE, except for its payload. */
static __rte_always_inline void
describe(const struct uroce_qp *qp, const struct uroce_sqe *sqe, bool ack_req, struct uroce_packet_desc *d)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	const bool last = req->offset + 1 == sqe->psn_count;
	const uint8_t place = (last ? UROCE_OPF_LAST : 0) | (req->offset == 0 ? UROCE_OPF_FIRST : 0);
	const uint8_t opcode = qp->opcode_base + data_opcodes[sqe->opcode][place];

	*d = (struct uroce_packet_desc){
		.path = &qp->path,
		.bth = UROCE_BTH_TO_PEER(qp, opcode, req->psn, ack_req ? UROCE_BTH_ACKREQ : 0),
		.srqn = sqe->remote_srqn, .imm = sqe->imm,
		.va = sqe->remote_addr, .rkey = sqe->rkey, .dma_len = sqe->length,
	};
	/* R31: only the last packet of a message that uses a receive WQE may be solicited (post.c) */
	if (last && (sqe->flags & IBV_SEND_SOLICITED))
		d->bth.flags = UROCE_BTH_SE;
}

/* @return a payload that is copied and is in one piece; NULL: it is not, or its key is invalid */
static __rte_always_inline const uint8_t *
one_piece(const struct uroce_qp *qp, const struct uroce_slice *slice)
{
	const struct uroce_mr_key *key;
	uint64_t addr;

	if (slice->num_sge != 1 || slice->length == 0 || !uroce_packet_copies(&qp->path, slice))
		return NULL;
	addr = slice->sge->addr + slice->offset;
	key = uroce_key_lookup(&qp->dev->mrs, slice->sge->lkey, qp->sq.pd, &qp->windows, addr, slice->length, 0);
	return likely(key != NULL) ? uroce_mr_va(key, addr) : NULL;
}

static __rte_always_inline int
data_packets(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_sqe *sqe, struct uroce_burst burst,
	     struct rte_mbuf **frames)
{
	const uint32_t done = uroce_requester_of(qp)->offset * qp->mtu_bytes;
	const struct uroce_slice slice = {
		.sge = sqe->sge, .num_sge = sqe->num_sge, .offset = done,
		.length = RTE_MIN(sqe->length - done, qp->mtu_bytes),
		/* a UC WQE completes at once, and then the application may change the memory */
		.copy = qp->transport == UROCE_TRANSPORT_UC,
	};
	const uint8_t *bytes = NULL;
	int n;

	if (sqe->flags & IBV_SEND_INLINE)
		bytes = (const uint8_t *)sqe->sge + done;
	else if (burst.count == 1)
		bytes = one_piece(qp, &slice);
	if (bytes != NULL) {
		struct uroce_packet_desc d;	/* stays in registers */

		describe(qp, sqe, burst.ack_req, &d);
		d.bytes = bytes;
		d.length = slice.length;
		n = uroce_packet_build_inline(e, qp, &d, frames);
	} else {
		struct uroce_packet_desc d;

		describe(qp, sqe, burst.ack_req, &d);
		d.slice = &slice;
		n = uroce_packets_build(e, qp, &d, frames, burst.count);
	}
	if (likely(n > 0))
		uroce_count(e, UROCE_SENT_BYTES, (uint64_t)n * slice.length);
	return n;
}

int
uroce_data_packets(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_sqe *sqe,
		   struct uroce_burst burst, struct rte_mbuf **frames)
{
	return data_packets(e, qp, sqe, burst, frames);
}

struct uroce_burst
uroce_requester_long_burst(const struct uroce_qp *qp, uint32_t left, uint32_t window, unsigned int room)
{
	const struct uroce_requester *req = uroce_requester_of(qp);
	uint32_t since, n;

	since = RTE_MIN(req->since_ack_req + 1, (uint32_t)UROCE_ACK_REQ_PACKETS);
	n = RTE_MIN(left, RTE_MIN(window - RTE_MIN(window, 1u), UROCE_ACK_REQ_PACKETS - since));
	if (n == 0 || uroce_pacer_will_wait(qp))
		return (struct uroce_burst){ .count = 1, .ack_req = true };
	n = RTE_MIN(n, room);
	if (n < UROCE_RUN_PACKETS || req->offset == 0 || req->psn != req->max_psn || uroce_qp_is_rated(qp) ||
	    qp->transport == UROCE_TRANSPORT_XRC)
		n = 1;
	return (struct uroce_burst){ .count = n };
}

static void
resent(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn, uint32_t psns, const char *why)
{
	uroce_count(e, UROCE_RETRANSMITTED_PACKETS, 1);
	uroce_qp_history_count(&qp->history, UROCE_QP_RETRANSMITTED, 1);
	uroce_trace_retransmit(qp->dev->index, qp->ibv.qp_num, psn, psns, why);
}

/* Retransmit one packet of a SEND or WRITE, an atomic, or a request for `psns` responses of a READ.
 * @return as uroce_packet_build() */
static int
send_again(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t psn, uint32_t psns,
	   struct rte_mbuf **out)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	uint32_t next_psn = req->psn, next_offset = req->offset;
	int ret;

	/* build it as the next packet, then restore the position of the current pass */
	req->psn = psn;
	req->offset = uroce_psn_distance(psn, sqe->first_psn);
	if (uroce_is_rd_atomic(sqe->opcode))
		ret = rd_atomic_request(e, qp, sqe, psns, out);
	else
		ret = uroce_data_packets(e, qp, sqe, (struct uroce_burst){ .count = 1, .ack_req = true }, out);
	req->parts |= req->offset + psns != sqe->psn_count;
	req->psn = next_psn;
	req->offset = next_offset;
	if (ret < 0)
		return ret;
	resent(e, qp, psn, psns, "missing");
	if (req->rtt_timed && uroce_psn_distance(req->rtt_psn, psn) < psns)
		req->rtt_timed = false;
	return 0;
}

/* Send the next missing packet, probe or ASK. @return 1: sent; 0: nothing to send; or as uroce_packet_build() */
static int
recover_next(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **out)
{
	struct uroce_resend next;
	int ret;

	switch (uroce_recovery_next(qp, &next)) {
	case UROCE_RESEND_NOTHING:
		return 0;
	case UROCE_RESEND_ASK:
		ret = uroce_sack_ask(e, qp, out);
		break;
	default:
		ret = send_again(e, qp, next.sqe, next.psn, next.count, out);
	}
	if (ret != 0)
		return ret;
	uroce_recovery_sent(qp, &next);
	return 1;
}

/* Send missing packets, probes and ASKs, up to `room`. @return the number of frames */
static __rte_noinline unsigned int
recover(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames, unsigned int room)
{
	unsigned int n = 0;
	int ret = 1;

	if (uroce_requester_waits(uroce_requester_of(qp)->state) ||
	    (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD))
		return 0;
	while (n < room && ret > 0) {
		ret = recover_next(e, qp, &frames[n]);
		n += ret > 0;
	}
	if (unlikely(ret == -EACCES))	/* go back: the WQE fails once it is the oldest */
		uroce_requester_on(e, qp, UROCE_ON_UNREADABLE);
	return n;
}

/* Account for `psns` more PSNs sent from the current WQE. */
static void
advance(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t psns)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	if (uroce_psn_diff(req->psn, req->max_psn) < 0) {
		resent(e, qp, req->psn, psns, "gone back");
	} else if (!req->rtt_timed && req->since_ack_req == 0) {
		req->rtt_timed = true;
		req->rtt_psn = req->psn;
		req->rtt_sent_ns = e->now_ns;
	}
	req->psn = uroce_psn_add(req->psn, psns);
	/* not uroce_psn_diff(): a READ may take half the PSN space at once */
	if (uroce_psn_distance(req->psn, req->unacked) > uroce_psn_distance(req->max_psn, req->unacked))
		req->max_psn = req->psn;
	req->offset += psns;
	if (req->offset == sqe->psn_count) {
		req->rd_atomics += uroce_is_rd_atomic(sqe->opcode);
		req->next++;
		req->offset = 0;
	}
	if (req->timer.deadline_ns == 0)
		uroce_retry_arm(e, qp);
}

/* Does the QP's state allow to send from the next WQE? In SQD the QP finishes started WQEs, but starts none. */
static bool
may_send(const struct uroce_qp *qp)
{
	const struct uroce_requester *req = uroce_requester_of(qp);

	/* pairs with the release in uroce_post_send() */
	if (uroce_requester_waits(req->state) || req->next == __atomic_load_n(&qp->sq.tail, __ATOMIC_ACQUIRE))
		return false;
	return qp->state == IBV_QPS_RTS || (qp->state == IBV_QPS_SQD && req->next != req->started);
}

/* Check a WQE before any packet of it is sent. */
static enum ibv_wc_status
wqe_status(const struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	/* R39 would never allow the WQE to start */
	if (uroce_is_rd_atomic(sqe->opcode) && qp->attr.max_rd_atomic == 0)
		return IBV_WC_LOC_QP_OP_ERR;
	return sqe->posted_status;
}

/* Fail a WQE that was invalid when it was posted, or whose keys are invalid, once all WQEs before it are complete.
 * @return false: they are not */
static bool
fail_wqe(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_sqe *sqe, enum ibv_wc_status status)
{
	sqe->posted_status = (uint8_t)status;
	if (uroce_requester_of(qp)->next != qp->sq.head)
		return false;
	uroce_qp_fail_send(e, qp, status);
	return true;
}

/* Execute a bind or local invalidation; it completes after all WQEs before it. @return false: it has to wait, or has
 * failed */
static bool
local_wqe(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_sqe *sqe)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	enum ibv_wc_status status;

	if (req->next != req->started) {	/* executed in an earlier pass */
		req->next++;
		return true;
	}
	if ((sqe->flags & IBV_SEND_FENCE) && req->rd_atomics > 0)
		return false;
	if (!uroce_local_execute(e, qp, sqe, &status))
		return false;
	if (status != IBV_WC_SUCCESS) {
		fail_wqe(e, qp, sqe, status);
		return false;
	}
	sqe->first_psn = req->psn;
	sqe->psn_count = 0;
	req->next++;
	req->started++;
	req->locals++;
	uroce_completer_locals(e, qp);
	return true;
}

/* Prefetch the key of the WQE after the next, and the region of the next WQE's key. With many regions they are in no
 * cache. */
static inline void
prefetch_keys(const struct uroce_qp *qp, uint32_t i)
{
	/* pairs with the release in uroce_post_send() */
	uint32_t ahead = __atomic_load_n(&qp->sq.tail, __ATOMIC_ACQUIRE) - i;
	const struct uroce_sqe *sqe;

	if (ahead > 2) {
		sqe = uroce_sqe_at(&qp->sq, i + 2);
		if (sqe->num_sge != 0)
			uroce_key_prefetch(&qp->dev->mrs, sqe->sge[0].lkey);
	}
	if (ahead > 1) {
		sqe = uroce_sqe_at(&qp->sq, i + 1);
		if (sqe->num_sge != 0 && sqe->length >= UROCE_ZERO_COPY_BYTES)
			uroce_key_prefetch_region(&qp->dev->mrs, sqe->sge[0].lkey);
	}
}

#define NOT_ASKED UINT32_MAX	/* uroce_budget_room() has not been called in this turn */

/* Does the budget leave room for a packet of the WQE? Otherwise the turn is over. It counts only long payloads. */
static inline bool
has_budget(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t *budget)
{
	if (sqe->length < UROCE_BUDGET_BYTES)
		return true;
	if (*budget == NOT_ASKED)
		*budget = uroce_budget_room(e, qp);
	if (likely(*budget != 0))
		return true;
	uroce_budget_wait(e, qp);
	return false;
}

unsigned int
uroce_requester_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames, unsigned int room)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	uint32_t window = uroce_window(req), budget = NOT_ASKED;
	unsigned int n = 0;

	if (unlikely(req->recovery != NULL)) {
		n = recover(e, qp, frames, room);
		if (req->recovery != NULL)
			window = uroce_recovery_window(qp);
	}
	/* after several retries: the peer may not have buffers for a whole window */
	if (unlikely(req->retries_left + UROCE_RETRIES_AT_FULL_WINDOW < qp->retry_cnt))
		window = UROCE_RETRY_WINDOW;
	while (n < room) {
		uint32_t outstanding = uroce_psn_distance(req->psn, req->unacked);
		enum ibv_wc_status status;
		struct uroce_burst burst;
		struct uroce_sqe *sqe;
		uint32_t psns;
		int ret;

		if (!may_send(qp) || outstanding >= window)
			break;
		sqe = uroce_sqe_at(&qp->sq, req->next);	/* after may_send(): an XRC target has no send queue */
		status = wqe_status(qp, sqe);
		if (unlikely(status != IBV_WC_SUCCESS)) {
			fail_wqe(e, qp, sqe, status);
			break;
		}
		if (unlikely(uroce_wr_is(sqe->opcode, UROCE_WR_LOCALS))) {
			if (!local_wqe(e, qp, sqe))
				break;
			continue;
		}
		if (!has_budget(e, qp, sqe, &budget))
			break;
		if (req->offset == 0) {
			if (!start_wqe(e, qp, sqe, outstanding))
				break;
			prefetch_keys(qp, req->next);
		}
		if (uroce_is_rd_atomic(sqe->opcode)) {
			psns = sqe->psn_count - req->offset;
			ret = rd_atomic_request(e, qp, sqe, psns, &frames[n]);
			n += ret == 0;
		} else {
			burst = uroce_requester_burst(qp, sqe, RTE_MIN(window - outstanding, budget), room - n);
			ret = data_packets(e, qp, sqe, burst, &frames[n]);
			psns = (uint32_t)ret;
			if (likely(ret > 0)) {
				req->since_ack_req = burst.ack_req ? 0 : req->since_ack_req + psns;
				n += psns;
			}
		}
		if (unlikely(ret < 0)) {
			if (ret == -EACCES)
				fail_wqe(e, qp, sqe, IBV_WC_LOC_PROT_ERR);
			break;
		}
		advance(e, qp, sqe, psns);
		if (budget != NOT_ASKED)
			budget -= RTE_MIN(budget, psns);
	}
	if (budget != NOT_ASKED || unlikely(qp->listed & UROCE_QP_GRANTED))
		uroce_budget_sent(e, qp);
	return n;
}
