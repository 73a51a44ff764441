/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds out whether the peer keeps out-of-order packets. The requester retransmits one packet; the answer either
 * acknowledges packets behind it, which were not retransmitted, or requests the next one. Also sends probes, which
 * request an answer before the transport timeout. On the engine's thread.
 */

#include "transport/qp/turns.h"
#include "transport/requester/requester.h"
#include "uroce_config.h"

#define DOUBTS_OF_UNKNOWN 2	/* consecutive doubts after which an unknown peer is plain */
#define DOUBTS_OF_KEEPS 3	/* consecutive doubts after which a peer of class keeps is unknown */
#define PLAIN_TRIES 16		/* one NAK in this number tests a plain peer again */
#define PROBE_MAX_SHIFT 20	/* limit of the doublings of the probe delay */

/* Retransmit the packet with this PSN, and classify the peer by its answer. */
static void
begin_probe(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_recovery *rec, uint32_t psn,
	    enum uroce_probe_state next)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	const struct uroce_sqe *sqe = uroce_recovery_wqe(qp, psn);
	uint32_t outstanding = uroce_psn_distance(req->max_psn, req->unacked);
	uint32_t back = uroce_psn_distance(req->went_back, req->unacked);

	rec->probe_state = UROCE_PROBE_DUE;
	rec->probe_next = next;
	rec->probe_psn = psn;
	rec->probe_end = uroce_psn_add(psn, 1);
	if (sqe->opcode == IBV_WR_RDMA_READ)
		rec->probe_end = uroce_psn_add(sqe->first_psn, sqe->psn_count);
	rec->probe_max = req->max_psn;
	/* packets behind it may have been sent twice: an answer that acknowledges them may be to the second time */
	if (next == UROCE_PROBE_NAK && back > uroce_psn_distance(psn, req->unacked) && back <= outstanding)
		rec->probe_next = UROCE_PROBE_REPEATED;
	uroce_qp_activate(e, qp);
}

/* Only a peer that has identified itself as uroce understands an ASK. */
static bool
can_ask(const struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	return qp->transport == UROCE_TRANSPORT_RC && req->marked && req->peer >= UROCE_PEER_KEEPS;
}

bool
uroce_peer_probe_nak(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	struct uroce_recovery *rec = req->recovery;

	if (rec != NULL && rec->probe_state == UROCE_PROBE_DUE && rec->probe_psn == psn)
		return true;	/* the network has duplicated the NAK */
	if (req->peer == UROCE_PEER_PLAIN && ++req->doubts % PLAIN_TRIES != 0)
		return false;
	rec = uroce_recovery_begin(e, qp);
	if (rec == NULL)
		return false;
	/* charge no retry if a missing response delays progress, rather than this packet */
	if (psn == req->unacked) {
		if (!uroce_retry_charge(e, qp))
			return true;
		uroce_retry_arm(e, qp);
	}
	rec->ask = can_ask(qp);
	if (req->peer == UROCE_PEER_SACKS)
		uroce_recovery_missing(qp, psn);
	else
		begin_probe(e, qp, rec, psn, UROCE_PROBE_NAK);
	uroce_qp_activate(e, qp);
	return true;
}

/* The peer has requested the next packet: count a doubt about the peer's class, which may change it. */
static void
doubt(struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	req->doubts++;
	if (req->peer == UROCE_PEER_UNKNOWN && req->doubts >= DOUBTS_OF_UNKNOWN) {
		req->peer = UROCE_PEER_PLAIN;
		req->doubts = 0;
		uroce_window_limit(qp);
	} else if (req->peer == UROCE_PEER_KEEPS && req->doubts >= DOUBTS_OF_KEEPS) {
		req->peer = UROCE_PEER_UNKNOWN;
		req->doubts = 0;
	}
}

/* The answer to a probe acknowledges only the oldest packet. Either the packets behind it were lost, or the answer is
 * to the first transmission, and more answers follow. So probe with the newest packet, which a peer that lacks packets
 * answers with a NAK. */
static void
send_newest(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_recovery *rec)
{
	uint32_t psn = uroce_psn_add(uroce_requester_of(qp)->max_psn, UROCE_PSN_MASK);
	const struct uroce_sqe *sqe = uroce_recovery_wqe(qp, psn);

	if (sqe->opcode == IBV_WR_RDMA_READ) {
		if (sqe->psn_count > UROCE_WINDOW_PACKETS)
			return;		/* the response is too long to request twice: wait for the next probe */
		psn = sqe->first_psn;
	}
	begin_probe(e, qp, rec, psn, UROCE_PROBE_NEWEST);
}

/* The kinds of answers to a probe. "The packet" is the retransmitted one, or all responses of a READ. */
enum probe_event {
	NAK_BEFORE,	/* a sequence NAK that does not acknowledge the packet */
	BEFORE,		/* another answer that does not acknowledge the packet */
	RESPONSE,	/* the packet's own response: wait for the next answer */
	FAILURE,	/* an RNR NAK, or a NAK that fails the request: the QP goes back N or fails anyway */
	BEYOND,		/* acknowledges packets behind the packet, which were not retransmitted */
	ALL,		/* acknowledges the packet, and none had been sent behind it */
	NAK_NEXT,	/* a sequence NAK with the PSN behind the packet */
	ACK_NEXT,	/* acknowledges the packet, and none behind it */
	PROBE_EVENTS
};

enum probe_action {
	NOTHING,
	KEEPS,			/* the peer keeps out-of-order packets */
	BACK,			/* go back N */
	BACK_UNLESS_KEEPS,	/* as BACK, unless the peer keeps packets: then two consecutive packets were lost */
	DOUBT_BACK,		/* count a doubt, then as BACK */
	DOUBT_BACK_UNLESS_KEEPS,	/* count a doubt, then as BACK_UNLESS_KEEPS */
	SEND_NEWEST,		/* probe again with the newest packet, unless the peer understands an ASK */
};

struct probe_step {
	uint8_t next;		/* enum uroce_probe_state */
	uint8_t action;
};

#define STAY(state) { UROCE_PROBE_##state, NOTHING }
#define END(action) { UROCE_PROBE_NONE, action }

static const struct probe_step probe_steps[UROCE_PROBE_STATES][PROBE_EVENTS] = {
	[UROCE_PROBE_NAK] = {
		[NAK_BEFORE] = STAY(NAK), [BEFORE] = STAY(NAK), [RESPONSE] = STAY(NAK), [FAILURE] = END(NOTHING),
		[BEYOND] = END(KEEPS), [ALL] = END(NOTHING), [NAK_NEXT] = END(DOUBT_BACK_UNLESS_KEEPS),
		[ACK_NEXT] = END(DOUBT_BACK),
	},
	[UROCE_PROBE_REPEATED] = {
		[NAK_BEFORE] = STAY(REPEATED), [BEFORE] = STAY(REPEATED), [RESPONSE] = STAY(REPEATED),
		[FAILURE] = END(NOTHING), [BEYOND] = END(NOTHING), [ALL] = END(NOTHING),
		[NAK_NEXT] = END(BACK_UNLESS_KEEPS), [ACK_NEXT] = END(BACK),
	},
	[UROCE_PROBE_IDLE] = {
		[NAK_BEFORE] = STAY(IDLE), [BEFORE] = STAY(IDLE), [RESPONSE] = STAY(IDLE), [FAILURE] = END(NOTHING),
		[BEYOND] = END(NOTHING), [ALL] = END(NOTHING), [NAK_NEXT] = END(BACK_UNLESS_KEEPS),
		[ACK_NEXT] = END(SEND_NEWEST),
	},
	[UROCE_PROBE_NEWEST] = {
		[NAK_BEFORE] = END(BACK_UNLESS_KEEPS), [BEFORE] = STAY(NEWEST), [RESPONSE] = STAY(NEWEST),
		[FAILURE] = END(NOTHING), [BEYOND] = END(NOTHING), [ALL] = END(NOTHING),
		[NAK_NEXT] = END(BACK_UNLESS_KEEPS), [ACK_NEXT] = END(BACK),
	},
};

static enum probe_event
probe_event(const struct uroce_qp *qp, uint32_t psn, enum uroce_answer answer)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	const struct uroce_recovery *rec = req->recovery;
	uint32_t to = uroce_psn_distance(psn, req->unacked);
	uint32_t end = uroce_psn_distance(rec->probe_end, req->unacked);

	if (to < end)
		return answer == UROCE_ANSWER_NAK ? NAK_BEFORE : BEFORE;
	if (to == end && answer == UROCE_ANSWER_RESPONSE)
		return RESPONSE;
	if (answer == UROCE_ANSWER_RNR_NAK || answer == UROCE_ANSWER_REFUSAL)
		return FAILURE;
	if (to > end)
		return BEYOND;
	if (rec->probe_end == rec->probe_max)
		return ALL;
	return answer == UROCE_ANSWER_NAK ? NAK_NEXT : ACK_NEXT;
}

/* @return whether to go back N */
static bool
act(struct uroce_engine *e, struct uroce_qp *qp, enum probe_action action)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	if ((action == DOUBT_BACK || action == DOUBT_BACK_UNLESS_KEEPS) && req->peer != UROCE_PEER_PLAIN)
		doubt(qp);
	switch (action) {
	case KEEPS:
		req->peer = RTE_MAX(req->peer, (uint8_t)UROCE_PEER_KEEPS);
		req->doubts = 0;
		return false;
	case BACK:
	case DOUBT_BACK:
		return true;
	case BACK_UNLESS_KEEPS:
	case DOUBT_BACK_UNLESS_KEEPS:
		return req->peer < UROCE_PEER_KEEPS;
	case SEND_NEWEST:
		if (!can_ask(qp))
			send_newest(e, qp, req->recovery);
		return false;
	default:
		return false;
	}
}

bool
uroce_peer_probe_answered(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn, enum uroce_answer answer)
{
	struct uroce_recovery *rec = uroce_requester_of(qp)->recovery;
	struct probe_step step;

	if (rec->probe_state == UROCE_PROBE_NONE || rec->probe_state == UROCE_PROBE_DUE)
		return false;
	step = probe_steps[rec->probe_state][probe_event(qp, psn, answer)];
	rec->probe_state = step.next;
	return act(e, qp, step.action);
}

/* May a probe retransmit the oldest packet? Not a long READ: the peer may be slow, and each probe would request all of
 * it again. */
static bool
may_repeat(const struct uroce_qp *qp)
{
	const struct uroce_requester *req = uroce_requester_of(qp);
	const struct uroce_sqe *sqe = uroce_recovery_wqe(qp, req->unacked);

	return req->psn != req->unacked &&
	       sqe->psn_count - uroce_psn_distance(req->unacked, sqe->first_psn) <= UROCE_WINDOW_PACKETS;
}

/* The time of the last answer, at which the timer was started. */
static uint64_t
waits_since(const struct uroce_qp *qp)
{
	return uroce_requester_of(qp)->timeout_ns - (4096ull << qp->timeout);
}

uint32_t
uroce_peer_silence(struct uroce_engine *e, const struct uroce_qp *qp)
{
	struct uroce_budget *b = uroce_budget_of(e, qp);

	if (b->silence_ns != 0 && e->now_ns >= b->forget_ns)
		b->silence_ns = 0;
	return b->silence_ns;
}

void
uroce_peer_silence_move(struct uroce_engine *from, struct uroce_engine *to, const struct uroce_qp *qp)
{
	const struct uroce_budget *b = uroce_budget_of(from, qp);
	struct uroce_budget *of_new = uroce_budget_of(to, qp);

	if (b->silence_ns <= of_new->silence_ns)
		return;
	of_new->silence_ns = b->silence_ns;
	of_new->forget_ns = b->forget_ns;
}

/* Is the answer to a probe for a lost packet? Such an answer acknowledges one packet, a round trip after the probe. */
static bool
is_repair(struct uroce_engine *e, const struct uroce_qp *qp, uint32_t n)
{
	const struct uroce_requester *req = uroce_requester_of(qp);
	uint64_t took_ns = e->now_ns - uroce_budget_of(e, qp)->probed_ns;

	return n == 1 && took_ns >= req->srtt_ns / 2 && took_ns <= 2ull * req->srtt_ns + 4ull * req->rttvar_ns;
}

void
uroce_peer_probe_ended(struct uroce_engine *e, struct uroce_qp *qp, uint32_t n)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	struct uroce_budget *b = uroce_budget_of(e, qp);
	uint64_t silence_ns = RTE_MIN(e->now_ns - waits_since(qp), UROCE_PROBE_INITIAL_NS);

	qp->listed &= ~UROCE_QP_SILENT;
	if (is_repair(e, qp, n) || silence_ns < uroce_peer_silence(e, qp))
		return;
	b->silence_ns = (uint32_t)silence_ns;
	b->forget_ns = e->now_ns + UROCE_PROBE_FORGET_NS;
	req->probe_ns = RTE_MAX(req->probe_ns, b->silence_ns);
}

/* Has another QP sent a probe to this peer while this one waited? Then let it wait once more: probably the peer is only
 * slow. */
static bool
is_probed(struct uroce_engine *e, const struct uroce_qp *qp)
{
	return uroce_requester_of(qp)->probes == 0 && uroce_budget_of(e, qp)->probed_ns > waits_since(qp);
}

void
uroce_peer_probe_stalled(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	const bool probed = is_probed(e, qp);
	struct uroce_recovery *rec;

	req->probes += req->probes < PROBE_MAX_SHIFT;
	uroce_wheel_arm(&e->wheel, &req->timer,
			RTE_MIN(e->now_ns + ((uint64_t)req->probe_ns << req->probes), req->timeout_ns));
	qp->listed |= UROCE_QP_SILENT;
	if (uroce_budget_counts(qp))
		uroce_budget_update(e, qp);
	rec = probed ? NULL : uroce_recovery_begin(e, qp);
	if (rec == NULL)
		return;
	uroce_budget_of(e, qp)->probed_ns = e->now_ns;
	uroce_count(e, UROCE_PROBES, 1);
	uroce_qp_history_count(&qp->history, UROCE_QP_PROBES, 1);
	uroce_trace_probe(qp->dev->index, qp->ibv.qp_num, req->unacked);
	uroce_recovery_forget_requests(qp);
	rec->ask = can_ask(qp);
	if (req->peer == UROCE_PEER_SACKS)
		req->went_back = req->unacked;	/* end going back: the SACK will report on all packets sent so far */
	else if (rec->probe_state != UROCE_PROBE_DUE && may_repeat(qp))
		begin_probe(e, qp, rec, req->unacked, UROCE_PROBE_IDLE);
	uroce_qp_activate(e, qp);
}
