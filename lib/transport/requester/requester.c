/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The requester: cuts send WQEs into packets while window, fence and peer allow (R39), and goes back to any
 * PSN by walking the WQEs again: no copies of packets are kept. On the QP's worker.
 */

#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_debug.h>

#include "transport/packet/packet.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"
#include "uroce_config.h"

void
uroce_requester_reset(struct uroce_qp *qp, uint32_t psn)
{
	struct uroce_requester *req = &qp->req;

	uroce_recovery_end(qp->engine, qp);
	uroce_rtt_reset(qp);
	uroce_wheel_disarm(&req->timer);
	req->peer = UROCE_PEER_UNKNOWN;
	req->doubts = 0;
	req->marked = false;
	req->parts = false;
	req->timed_out = false;
	req->went_back = psn;
	req->next = req->started = qp->sq.head;
	req->offset = 0;
	req->psn = req->max_psn = req->unacked = psn;
	req->since_ack_req = 0;
	req->rd_atomics = 0;
	req->locals = 0;
	req->retries_left = qp->retry_cnt;
	req->rnr_retries_left = qp->rnr_retry;
	req->rnr_wait = false;
	req->gap_retried = false;
	req->ssn = req->lsn = 0;
	req->credited = false;
}

/* R30: has a message that takes a receive WQE the peer's credit for it, or is it the one more that may ask? The
 * oldest always may, whatever the peer counts: nothing else would tell of new credits. */
static bool
has_credit(const struct uroce_qp *qp, uint8_t wr_opcode)
{
	const struct uroce_requester *req = &qp->req;

	return req->next != req->started || req->next == qp->sq.head || !uroce_wr_is(wr_opcode, UROCE_WR_RECEIVES) ||
	       uroce_psn_diff(req->ssn, req->lsn) <= 0;
}

/* R39, and half the PSN space at most (R11). */
static bool
may_start(const struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t outstanding)
{
	const struct uroce_requester *req = &qp->req;

	if ((sqe->flags & IBV_SEND_FENCE) && req->rd_atomics > 0)
		return false;
	if (unlikely(req->credited) && !has_credit(qp, sqe->opcode))
		return false;
	if (!uroce_is_rd_atomic(sqe->opcode))
		return true;
	return req->rd_atomics < qp->attr.max_rd_atomic &&
	       outstanding + sqe->psn_count <= UROCE_PSN_HALF;
}

/* Give the WQE its PSNs when its first packet is about to leave. False: it has to wait. */
static bool
start_wqe(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_sqe *sqe, uint32_t outstanding)
{
	struct uroce_requester *req = &qp->req;

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

/* What an XRC request has before its other extension headers. */
static void
put_xrceth(const struct uroce_qp *qp, const struct uroce_sqe *sqe, struct uroce_frame *f)
{
	struct uroce_xrceth *xrceth = (struct uroce_xrceth *)f->ext;

	if (likely(qp->transport != UROCE_TRANSPORT_XRC))
		return;
	xrceth->reserved = 0;
	uroce_put24(xrceth->srq, sqe->remote_srqn);
	f->ext += sizeof(*xrceth);
}

/* Of so many responses, from req.offset on. */
static int
read_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t psns,
	     struct rte_mbuf **out)
{
	uint32_t done = qp->req.offset * qp->mtu_bytes;
	bool rest = qp->req.offset + psns == sqe->psn_count;
	struct uroce_frame f;
	int ret = uroce_frame_begin(e, qp, qp->opcode_base + UROCE_RC_READ_REQUEST, 0, true, qp->req.psn,
				    NULL, NULL, &f);

	if (ret != 0)
		return ret;
	put_xrceth(qp, sqe, &f);
	uroce_reth_write(f.ext, sqe->remote_addr + done, sqe->rkey, rest ? sqe->length - done : psns * qp->mtu_bytes);
	*out = uroce_frame_end(e, &f);
	return 0;
}

static int
atomic_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
	       struct rte_mbuf **out)
{
	bool cas = sqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	struct uroce_atomiceth *eth;
	struct uroce_frame f;
	int ret = uroce_frame_begin(e, qp, qp->opcode_base + (cas ? UROCE_RC_CMP_SWAP : UROCE_RC_FETCH_ADD), 0,
				    true, qp->req.psn, NULL, NULL, &f);

	if (ret != 0)
		return ret;
	put_xrceth(qp, sqe, &f);
	eth = (struct uroce_atomiceth *)f.ext;
	eth->va = rte_cpu_to_be_64(sqe->remote_addr);
	eth->rkey = rte_cpu_to_be_32(sqe->rkey);
	eth->swap_add = rte_cpu_to_be_64(cas ? sqe->swap : sqe->compare_add);
	eth->compare = rte_cpu_to_be_64(cas ? sqe->compare_add : 0);
	*out = uroce_frame_end(e, &f);
	return 0;
}

/* What is answered by responses. */
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

int
uroce_data_packet(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, bool ack_req, bool copy,
		  struct rte_mbuf **out)
{
	struct uroce_requester *req = &qp->req;
	bool last = req->offset + 1 == sqe->psn_count;
	uint32_t done = req->offset * qp->mtu_bytes;
	uint8_t opcode = qp->opcode_base + data_opcodes[sqe->opcode][(last ? UROCE_OPF_LAST : 0) |
								     (req->offset == 0 ? UROCE_OPF_FIRST : 0)];
	const struct uroce_opcode_info *info = &uroce_opcodes[opcode];
	/* R31: a solicited event is asked for by the last packet only, of what takes a receive WQE (post.c) */
	uint8_t flags = last && (sqe->flags & IBV_SEND_SOLICITED) ? UROCE_BTH_SE : 0;
	uint8_t imm = info->ext[UROCE_EXT_IMMDT] | info->ext[UROCE_EXT_IETH];
	struct uroce_slice slice = {
		.sge = sqe->sge, .num_sge = sqe->num_sge, .offset = done,
		.length = RTE_MIN(sqe->length - done, qp->mtu_bytes), .copy = copy,
	};
	const uint8_t *inline_data = sqe->flags & IBV_SEND_INLINE ? (const uint8_t *)sqe->sge : NULL;
	struct uroce_frame f;
	int ret = uroce_frame_begin(e, qp, opcode, flags, ack_req, req->psn, &slice, inline_data, &f);

	if (ret != 0)
		return ret;
	put_xrceth(qp, sqe, &f);
	if (info->ext[UROCE_EXT_RETH] != 0)
		uroce_reth_write((uint8_t *)f.bth + info->ext[UROCE_EXT_RETH], sqe->remote_addr, sqe->rkey,
				 sqe->length);
	if (imm != 0)
		((struct uroce_immdt *)((uint8_t *)f.bth + imm))->imm = sqe->imm;
	uroce_count(e, UROCE_SENT_BYTES, slice.length);
	*out = uroce_frame_end(e, &f);
	return 0;
}

/* … of an acknowledged one: the last asks for it, the one that fills the window, the one that takes the last of a
 * rate's credit (what comes then may be a timeout away), and one in so many. */
static int
data_packet(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, bool window_full,
	    struct rte_mbuf **out)
{
	struct uroce_requester *req = &qp->req;
	bool ack_req = req->offset + 1 == sqe->psn_count || window_full ||
		       req->since_ack_req + 1 >= UROCE_ACK_REQ_PACKETS || uroce_pacer_will_wait(qp);
	int ret = 0;

	if (uroce_tx_inline_fits(qp, sqe)) {
		*out = uroce_tx_inline_packet(e, qp, sqe, ack_req);
		if (unlikely(*out == NULL))
			ret = -ENOBUFS;
	} else {
		ret = uroce_data_packet(e, qp, sqe, ack_req, false, out);
	}
	if (ret == 0)
		req->since_ack_req = ack_req ? 0 : req->since_ack_req + 1;
	return ret;
}

static void
resent(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn, uint32_t psns, const char *why)
{
	uroce_count(e, UROCE_RETRANSMITTED_PACKETS, 1);
	uroce_qp_history_count(&qp->history, UROCE_QP_RETRANSMITTED, 1);
	uroce_trace_retransmit(qp->dev->index, qp->ibv.qp_num, psn, psns, why);
}

int
uroce_requester_again(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t psn,
		      uint32_t psns, struct rte_mbuf **out)
{
	struct uroce_requester *req = &qp->req;
	uint32_t next_psn = req->psn, next_offset = req->offset;
	int ret;

	/* as if that were the next one; the pass that is under way goes on afterwards */
	req->psn = psn;
	req->offset = uroce_psn_distance(psn, sqe->first_psn);
	if (uroce_is_rd_atomic(sqe->opcode))
		ret = rd_atomic_request(e, qp, sqe, psns, out);
	else
		ret = uroce_data_packet(e, qp, sqe, true, false, out);
	req->parts |= req->offset + psns != sqe->psn_count;
	req->psn = next_psn;
	req->offset = next_offset;
	if (ret != 0)
		return ret;
	resent(e, qp, psn, psns, "missing");
	if (req->rtt_timed && uroce_psn_distance(req->rtt_psn, psn) < psns)
		req->rtt_timed = false;
	return 0;
}

/* Account for `psns` more PSNs sent from the current WQE. */
static void
advance(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t psns)
{
	struct uroce_requester *req = &qp->req;

	if (uroce_psn_diff(req->psn, req->max_psn) < 0) {
		resent(e, qp, req->psn, psns, "gone back");
	} else if (!req->rtt_timed && req->since_ack_req == 0) {
		req->rtt_timed = true;
		req->rtt_psn = req->psn;
		req->rtt_sent_ns = e->now_ns;
	}
	req->psn = uroce_psn_add(req->psn, psns);
	/* not by uroce_psn_diff(): a READ may take half the space at once */
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

/* The middle of a message, as far as its packets can be made in one go. @return how many frames */
static unsigned int
send_run(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t window,
	 struct rte_mbuf **frames, unsigned int room)
{
	struct uroce_requester *req = &qp->req;
	unsigned int n;

	if (uroce_is_rd_atomic(sqe->opcode))
		return 0;
	n = uroce_tx_bulk_request(e, qp, sqe, window, frames, room);
	if (n == 0)
		return 0;
	req->psn = req->max_psn = uroce_psn_add(req->psn, n);
	req->offset += n;
	req->since_ack_req += n;
	if (req->timer.deadline_ns == 0)
		uroce_retry_arm(e, qp);
	return n;
}

/* SQD ends what has begun, and begins nothing. */
static bool
may_send(const struct uroce_qp *qp)
{
	const struct uroce_requester *req = &qp->req;

	/* pairs with the release in uroce_post_send() */
	if (req->rnr_wait || req->next == __atomic_load_n(&qp->sq.tail, __ATOMIC_ACQUIRE))
		return false;
	return qp->state == IBV_QPS_RTS || (qp->state == IBV_QPS_SQD && req->next != req->started);
}

/* What is wrong with a WQE before anything of it is sent. */
static enum ibv_wc_status
wqe_status(const struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	/* it would wait for ever */
	if (uroce_is_rd_atomic(sqe->opcode) && qp->attr.max_rd_atomic == 0)
		return IBV_WC_LOC_QP_OP_ERR;
	return sqe->posted_status;
}

/* A WQE that was wrong when posted, or whose memory is, fails when all before it is done. */
static bool
fail_wqe(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_sqe *sqe, enum ibv_wc_status status)
{
	sqe->posted_status = (uint8_t)status;
	if (qp->req.next != qp->sq.head)
		return false;
	uroce_qp_fail_send(e, qp, status);
	return true;
}

/* Done when its turn comes, and complete when all before it is. False: it has to wait, or has failed. */
static bool
local_wqe(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_sqe *sqe)
{
	struct uroce_requester *req = &qp->req;
	enum ibv_wc_status status;

	if (req->next != req->started) {	/* in an earlier pass */
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

/* Where the next WQEs' data are: with many regions that is in no cache. The key of the one after the next comes while
 * this one and the next are sent, then of the next one what its key leads to. */
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

unsigned int
uroce_requester_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames, unsigned int room)
{
	struct uroce_requester *req = &qp->req;
	uint32_t window = UROCE_WINDOW_PACKETS;
	unsigned int n = 0, run;

	if (unlikely(req->recovery != NULL)) {
		n = uroce_recovery_send(e, qp, frames, room);
		if (req->recovery != NULL)
			window = uroce_recovery_window(qp);
	}
	/* the peer may lack buffers for a whole window */
	if (unlikely(req->retries_left + UROCE_RETRIES_AT_FULL_WINDOW < qp->retry_cnt))
		window = UROCE_RETRY_WINDOW;
	while (n < room) {
		uint32_t outstanding = uroce_psn_distance(req->psn, req->unacked);
		enum ibv_wc_status status;
		struct uroce_sqe *sqe;
		uint32_t psns = 1;
		int ret;

		if (!may_send(qp) || outstanding >= window)
			break;
		sqe = uroce_sqe_at(&qp->sq, req->next);	/* an XRC target has none at all */
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
		if (req->offset == 0) {
			if (!start_wqe(e, qp, sqe, outstanding))
				break;
			prefetch_keys(qp, req->next);
		} else {
			run = send_run(e, qp, sqe, window - RTE_MIN(window, outstanding), frames + n, room - n);
			n += run;
			if (run != 0)
				continue;
		}
		if (uroce_is_rd_atomic(sqe->opcode)) {
			psns = sqe->psn_count - req->offset;
			ret = rd_atomic_request(e, qp, sqe, psns, &frames[n]);
		} else {
			ret = data_packet(e, qp, sqe, outstanding + 1 == window, &frames[n]);
		}
		if (unlikely(ret != 0)) {
			if (ret == -EACCES)
				fail_wqe(e, qp, sqe, IBV_WC_LOC_PROT_ERR);
			break;
		}
		advance(e, qp, sqe, psns);
		n++;
	}
	return n;
}
