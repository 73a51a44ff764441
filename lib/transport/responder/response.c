/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends the responder's answers in the order of the requests: READ and atomic responses first, then one ACK or NAK for
 * all later requests. On the engine's thread.
 */

#include <errno.h>

#include <rte_branch_prediction.h>

#include "transport/packet/packet.h"
#include "transport/packet/tx_inline.h"
#include "transport/qp/turns.h"
#include "transport/responder/responder.h"
#include "uroce_config.h"
#include "wire/sack.h"

/* The response replaces only a plain ACK; a NAK or a SACK stays owed. */
void
uroce_response_supersede_ack(struct uroce_qp *qp)
{
	struct uroce_responder *resp = uroce_responder_of(qp);

	uroce_response_forget_asked(resp);
	resp->ack_behind_nak = false;
	if ((resp->ack_syndrome & UROCE_AETH_CLASS_MASK) == UROCE_AETH_ACK && !resp->sack_owed)
		resp->ack_owed = false;
}

bool
uroce_response_pending(const struct uroce_qp *qp)
{
	struct uroce_responder *resp = uroce_responder_of(qp);

	return (resp->ack_owed && !uroce_ack_is_deferred(qp)) || resp->resource_head != resp->resource_tail;
}

bool
uroce_response_is_ack(struct uroce_qp *qp)
{
	struct uroce_responder *resp = uroce_responder_of(qp);

	if (!resp->ack_owed || uroce_ack_is_deferred(qp))
		return false;
	for (; resp->resource_head != resp->resource_tail; resp->resource_head++) {
		const struct uroce_rd_atomic *r = &resp->resources[resp->resource_head & resp->resource_mask];

		if (r->next != r->end)
			return false;
	}
	return true;
}

void
uroce_response_nak(struct uroce_engine *e, struct uroce_qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct uroce_responder *resp = uroce_responder_of(qp);

	resp->ack_syndrome = syndrome;
	resp->ack_psn = psn;
	resp->ack_owed = true;
	resp->ack_behind_nak = false;
	uroce_qp_activate(e, qp);
}

/* Number of the message's first response, and of its last one plus 1: a restarted READ is a message of its own. */
static inline uint32_t
message_start(const struct uroce_rd_atomic *r)
{
	return r->restart ? r->start : 0;
}

static inline uint32_t
message_end(const struct uroce_rd_atomic *r)
{
	return r->restart ? r->end : r->psn_count;
}

static uint8_t
read_response_opcode(const struct uroce_rd_atomic *r)
{
	bool first = r->next == message_start(r);
	bool last = r->next + 1 == message_end(r);

	if (first)
		return last ? UROCE_RC_READ_RESPONSE_ONLY : UROCE_RC_READ_RESPONSE_FIRST;
	return last ? UROCE_RC_READ_RESPONSE_LAST : UROCE_RC_READ_RESPONSE_MIDDLE;
}

/* The opcode of a response in the bitmap `again`. Each run of these responses is a message of its own. */
static uint8_t
read_response_again_opcode(const struct uroce_rd_atomic *r, uint32_t offset)
{
	bool first = r->restart ? !r->again_goes_on : offset == 0;
	bool last = r->restart ? (r->again >> (offset - r->again_base) & 3) == 1 : offset + 1 == r->psn_count;

	if (first)
		return last ? UROCE_RC_READ_RESPONSE_ONLY : UROCE_RC_READ_RESPONSE_FIRST;
	return last ? UROCE_RC_READ_RESPONSE_LAST : UROCE_RC_READ_RESPONSE_MIDDLE;
}

/* @return the number of responses to send from r->next on that differ only in PSN and payload, in the middle of a
 * message */
static inline unsigned int
alike_responses(const struct uroce_rd_atomic *r, unsigned int room)
{
	const uint32_t n = RTE_MIN(room, RTE_MIN(r->end, message_end(r) - 1) - r->next);

	return r->next != message_start(r) && r->again == 0 && n >= UROCE_RUN_PACKETS ? n : 1;
}

/* @return as uroce_packets_build() */
static int
read_responses(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_rd_atomic *r,
	       struct rte_mbuf **frames, unsigned int room)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	uint32_t offset = likely(r->again == 0) ? r->next : r->again_base + (uint32_t)__builtin_ctzll(r->again);
	uint32_t done = offset * qp->mtu_bytes;
	uint8_t opcode = likely(r->again == 0) ? read_response_opcode(r) : read_response_again_opcode(r, offset);
	/* the entry covers the whole message; uroce_packets_build() looks up only the slice */
	struct ibv_sge sge = { .addr = r->addr, .length = r->length, .lkey = r->rkey };
	const struct uroce_slice slice = {
		.sge = &sge, .num_sge = 1, .offset = done,
		.length = RTE_MIN(r->length - done, qp->mtu_bytes), .access = IBV_ACCESS_REMOTE_READ,
		.pd = uroce_read_pd(qp, r),
		/* if a frame with an ICRC references the memory, a write to the memory before the frame leaves makes
		 * the ICRC wrong */
		.copy = !r->by_reference || resp->read_again, .only_stable = true,
	};
	const struct uroce_packet_desc d = {
		.path = &qp->path, .slice = &slice,
		.bth = UROCE_BTH_TO_PEER(qp, qp->opcode_base + opcode, uroce_psn_add(r->first_psn, offset), 0),
		.syndrome = UROCE_AETH_ACK | resp->credits, .msn = r->msn,
	};
	int n = uroce_packets_build(e, qp, &d, frames, alike_responses(r, room));

	if (likely(n > 0))
		uroce_count(e, UROCE_SENT_BYTES, (uint64_t)n * slice.length);
	return n;
}

/* Send the result that was saved at the execution, also for a duplicate (R28). */
static int
atomic_response(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_rd_atomic *r,
		struct rte_mbuf **out)
{
	const struct uroce_packet_desc d = {
		.path = &qp->path,
		.bth = UROCE_BTH_TO_PEER(qp, qp->opcode_base + UROCE_RC_ATOMIC_ACKNOWLEDGE, r->first_psn, 0),
		.syndrome = UROCE_AETH_ACK | uroce_responder_of(qp)->credits, .msn = r->msn, .original = r->original,
	};

	return uroce_packets_build(e, qp, &d, out, 1);
}

/* @return as uroce_packets_build(), or -EAGAIN: a FLUSH is not done yet */
static int
responses(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_rd_atomic *r, struct rte_mbuf **frames,
	  unsigned int room)
{
	int ret;

	switch (r->op) {
	case UROCE_OP_READ_REQUEST:
		return read_responses(e, qp, r, frames, room);
	case UROCE_OP_FLUSH:
	case UROCE_OP_ATOMIC_WRITE:
		ret = uroce_placement_response(e, qp, r, frames);
		return ret == 0 ? 1 : ret;
	default:
		return atomic_response(e, qp, r, frames);
	}
}

/* Send a SACK instead of an ACK. It also reports the packets beyond the expected PSN. */
static int
acknowledge_early(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **out)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	struct uroce_sack sack;
	const uint32_t sack_bytes = UROCE_SACK_BYTES((uint32_t)uroce_reorder_sack(qp, &sack));
	const uint32_t psn = resp->psn;
	const struct uroce_packet_desc d = {
		.path = &qp->path, .bytes = (const uint8_t *)&sack, .length = sack_bytes,
		.bth = UROCE_BTH_TO_PEER(qp, UROCE_RC_SACK, psn, UROCE_BTH_MARK),
		.syndrome = UROCE_AETH_ACK | resp->credits, .msn = resp->msn,
	};
	int ret = uroce_packet_build(e, qp, &d, out);

	if (ret != 0)
		return ret;
	uroce_count(e, UROCE_SENT_SACKS, 1);
	uroce_qp_history_count(&qp->history, UROCE_QP_SACKS_SENT, 1);
	uroce_trace_sack_sent(qp->dev->index, qp->ibv.qp_num, psn);
	resp->ack_owed = resp->sack_owed = resp->recv_unacked = false;
	return 0;
}

static void
count_answer(struct uroce_engine *e, struct uroce_qp *qp, uint8_t syndrome, uint32_t psn)
{
	uint8_t class = syndrome & UROCE_AETH_CLASS_MASK;

	if (likely(class == UROCE_AETH_ACK)) {
		uroce_count(e, UROCE_SENT_ACKS, 1);
	} else if (class == UROCE_AETH_NAK) {
		uroce_count(e, UROCE_SENT_NAKS, 1);
		uroce_qp_history_nak(&qp->history, UROCE_QP_NAKS_SENT, syndrome & UROCE_AETH_VALUE_MASK);
		uroce_trace_nak_sent(qp->dev->index, qp->ibv.qp_num, psn, syndrome);
	} else {
		uroce_count(e, UROCE_SENT_RNR_NAKS, 1);
		uroce_qp_history_count(&qp->history, UROCE_QP_RNR_NAKS_SENT, 1);
		uroce_trace_rnr_sent(qp->dev->index, qp->ibv.qp_num, psn, syndrome & UROCE_AETH_VALUE_MASK);
	}
}

/* The PSN of the ACK or NAK. */
static uint32_t
answered_psn(const struct uroce_responder *resp)
{
	if ((resp->ack_syndrome & UROCE_AETH_CLASS_MASK) == UROCE_AETH_ACK)
		return uroce_psn_add(resp->psn, UROCE_PSN_MASK);
	return resp->ack_syndrome == UROCE_AETH_SEQUENCE_NAK ? resp->psn : resp->ack_psn;
}

/* A NAK has left, and an ACK or a SACK became owed before it left: send it next. */
static void
owe_ack_after_nak(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_responder *resp = uroce_responder_of(qp);

	if (!resp->ack_behind_nak && !resp->selective)
		return;
	resp->ack_behind_nak = false;
	uroce_response_forget_asked(resp);
	resp->ack_syndrome = UROCE_AETH_ACK;
	resp->ack_owed = true;
	uroce_qp_activate(e, qp);
}

int
uroce_response_acknowledge(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **out)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	uint8_t class = resp->ack_syndrome & UROCE_AETH_CLASS_MASK;
	bool sequence = resp->ack_syndrome == UROCE_AETH_SEQUENCE_NAK;
	uint32_t psn = answered_psn(resp);
	struct uroce_packet_desc d = {
		.path = &qp->path, .bth = UROCE_BTH_TO_PEER(qp, qp->opcode_base + UROCE_RC_ACKNOWLEDGE, psn, 0),
		.syndrome = class == UROCE_AETH_ACK ? UROCE_AETH_ACK | resp->credits : resp->ack_syndrome,
		.msn = resp->msn,
	};
	int ret;

	if (unlikely(resp->selective) && class == UROCE_AETH_ACK && (resp->reorder != NULL || resp->sack_owed))
		return acknowledge_early(e, qp, out);
	if (unlikely(sequence) && qp->transport == UROCE_TRANSPORT_RC && !qp->dev->go_back_n)
		d.bth.ack = UROCE_BTH_MARK;
	ret = uroce_packet_build_inline(e, qp, &d, out);
	if (unlikely(ret < 0))
		return ret;
	count_answer(e, qp, resp->ack_syndrome, psn);
	resp->recv_unacked &= resp->ack_behind_nak;
	resp->ack_owed = false;
	if (sequence)
		uroce_nak_on(resp, UROCE_ON_NAK_SENT);	/* R12: resp->psn may have advanced since */
	if (resp->nak_state == UROCE_STATE_CLOSING)
		uroce_qp_fail(e, qp, UROCE_NO_EVENT);
	else if (unlikely(resp->sack_owed || resp->ack_behind_nak))
		owe_ack_after_nak(e, qp);
	return 0;
}

/* Refuse the rest of an accepted READ, whose memory is not registered any more. */
static void
refuse_read(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_rd_atomic *r)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	uint32_t psn = uroce_psn_add(r->first_psn, r->next);
	bool told = resp->nak_state == UROCE_STATE_CLOSING;	/* a later request was refused, with its event */

	resp->resource_head = resp->resource_tail;
	uroce_nak_on(resp, UROCE_ON_FATAL);
	uroce_qp_history_failed(&qp->history, UROCE_CAUSE_REFUSED, IBV_WC_SUCCESS, UROCE_NAK_ACCESS, e->now_ns);
	uroce_response_nak(e, qp, uroce_verdicts[UROCE_NAK_ACCESS].syndrome, psn);
	if (!told)
		uroce_qp_event(qp, IBV_EVENT_QP_ACCESS_ERR);
}

/* Refuse a duplicate of an answered READ, whose memory is not registered any more. A peer that still needs the data
 * fails by the NAK. Otherwise the network has duplicated the request, and the peer drops the NAK. So this QP does not
 * fail. */
static void
refuse_replay(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_rd_atomic *r)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	uint32_t psn = uroce_psn_add(r->first_psn, r->next);
	const bool ack_owed = resp->ack_owed;

	r->next = r->end;
	r->again = 0;
	/* this NAK leaves before an owed ACK, and never replaces an owed NAK */
	if (ack_owed && (resp->ack_syndrome & UROCE_AETH_CLASS_MASK) != UROCE_AETH_ACK)
		return;
	uroce_response_nak(e, qp, uroce_verdicts[UROCE_NAK_ACCESS].syndrome, psn);
	resp->ack_behind_nak = ack_owed;
}

static void
sent(struct uroce_rd_atomic *r, unsigned int n)
{
	if (unlikely(r->again != 0)) {
		const uint32_t bit = (uint32_t)__builtin_ctzll(r->again);

		r->again_goes_on = (r->again >> bit & 3) == 3;
		r->again &= r->again - 1;
		r->answered |= r->again_base + bit + 1 == r->psn_count;	/* the peer may have received the others */
		return;
	}
	r->next += n;
	r->answered |= r->next == r->end;
}

unsigned int
uroce_response_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames, unsigned int room)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	unsigned int n = 0;
	int ret;

	while (n < room && resp->resource_head != resp->resource_tail) {
		struct uroce_rd_atomic *r = &resp->resources[resp->resource_head & resp->resource_mask];

		if (r->next == r->end && r->again == 0) {
			resp->resource_head++;
			continue;
		}
		ret = responses(e, qp, r, &frames[n], room - n);
		if (unlikely(ret == -EACCES && r->answered)) {
			refuse_replay(e, qp, r);
			continue;
		}
		if (unlikely(ret == -EACCES)) {
			refuse_read(e, qp, r);
			break;
		}
		if (unlikely(ret < 0))
			return n;
		sent(r, (unsigned int)ret);
		/* the response acknowledges all requests before its READ */
		if ((int32_t)(resp->resource_head - resp->recv_resource) >= 0)
			resp->recv_unacked = false;
		n += (unsigned int)ret;
	}
	if (n < room && resp->ack_owed && !uroce_ack_is_deferred(qp) && resp->resource_head == resp->resource_tail &&
	    uroce_response_acknowledge(e, qp, &frames[n]) == 0)
		n++;
	return n;
}
