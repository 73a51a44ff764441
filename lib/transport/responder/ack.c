/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Decides when each ACK leaves. On the engine's thread.
 *
 *	decision	of which ACK					leaves
 *	at once		one that reports a gap (and each NAK and SACK);	in the QP's turn
 *			one that a READ response or a lack of mbufs
 *			has delayed
 *	end of burst	one for a burst of more packets than		ahead of all messages
 *			UROCE_ACK_DEFER_PACKETS, for throughput
 *	next round	any other: the application may reply first	after the messages of the next round
 *	with the reply	one for a WRITE, if the application has		just ahead of the reply, in one burst with
 *			replied to WRITEs soon, and another thread	it; after acks.reply_ns in the QP's turn
 *			polls for it
 *
 * A message leaves after every ACK that was owed when the application posted the message, if completions show the order
 * to the peer. They do if the ACK is for a request that completed a receive, or if the message completes one. So the
 * peer gets the completion of its SEND before the reply. These ACKs leave just before the message, in the same burst.
 */

#include <assert.h>
#include <errno.h>

#include <rte_branch_prediction.h>

#include "transport/qp/turns.h"
#include "transport/responder/responder.h"
#include "uroce_config.h"

static_assert((UROCE_ACK_RING_SIZE & (UROCE_ACK_RING_SIZE - 1)) == 0, "UROCE_ACK_RING_SIZE");

static inline struct uroce_qp **
slot(struct uroce_acks *a, uint32_t i)
{
	return &a->ring[i & (UROCE_ACK_RING_SIZE - 1)];
}

static void
defer(struct uroce_acks *a, struct uroce_qp *qp)
{
	if (qp->ack_place != UROCE_ACK_TURN)
		return;
	if (unlikely(a->tail - a->head == UROCE_ACK_RING_SIZE)) {
		TAILQ_INSERT_TAIL(&a->overflow, qp, ack_link);
		qp->ack_place = UROCE_ACK_OVERFLOW;
		uroce_acks_due_all(a);
		a->lead = true;		/* the whole ring is sent at once, then this ACK */
		return;
	}
	qp->ack_place = UROCE_ACK_RING;
	*slot(a, a->tail++) = qp;
}

/* The application's reply to WRITEs. An application that polls memory for incoming WRITEs does not poll its CQ, so the
 * progress thread receives for it. After posting its own WRITE the application polls its CQ until the peer has
 * acknowledged that WRITE. If the ACK arrives in one burst with the peer's next WRITE, the application receives both
 * itself. So the responder holds back the ACK until the reply, for at most acks.reply_ns. It does so only on a QP whose
 * application has often replied in time, which qp->reply_score counts. */

static bool
is_late(const struct uroce_engine *e, const struct uroce_qp *qp)
{
	return (uint32_t)e->now_ns - qp->written_ns > e->acks.reply_ns;
}

static void
stop_waiting_for_reply(struct uroce_acks *a, struct uroce_qp *qp)
{
	if (qp->ack_place != UROCE_ACK_REPLY)
		return;
	for (unsigned int i = 0; i < a->reply_count; i++) {
		if (a->replies[i] != qp)
			continue;
		a->replies[i] = a->replies[--a->reply_count];
		break;
	}
	qp->ack_place = UROCE_ACK_TURN;
}

/* Is this the end of a WRITE that completes no receive, so that the application finds it by polling memory? */
static bool
is_silent_write(const struct uroce_packet *p)
{
	return (p->info->flags & (UROCE_OPF_LAST | UROCE_OPF_RECV)) == UROCE_OPF_LAST;
}

/* @param p	the request that requests the ACK; NULL: another reason. @return whether the ACK waits for the reply */
static bool
wait_for_reply(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	struct uroce_acks *a = &e->acks;
	const bool sends_on = qp->reply_pending;

	/* a duplicate or the next request has arrived: the earlier ACK must not wait any longer */
	stop_waiting_for_reply(a, qp);
	if (p == NULL || !is_silent_write(p)) {
		/* the next message may reply to this request, so it must not count as a reply to the WRITE */
		if (p != NULL && (p->info->flags & UROCE_OPF_RECV))
			qp->reply_pending = false;
		return false;
	}
	if (sends_on)
		qp->reply_score /= 2;
	qp->reply_pending = true;
	qp->written_ns = (uint32_t)e->now_ns;
	if (sends_on || qp->reply_score < UROCE_REPLY_SCORE || qp->ack_place != UROCE_ACK_TURN ||
	    a->reply_count == UROCE_ACK_REPLIES)
		return false;
	qp->ack_place = UROCE_ACK_REPLY;
	a->replies[a->reply_count++] = qp;
	return true;
}

void
uroce_acks_posted(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (!qp->reply_pending)
		return;
	if (is_late(e, qp))
		qp->reply_score /= 2;
	else if (qp->reply_score < UROCE_REPLY_SCORE_MAX)
		qp->reply_score++;
	qp->reply_pending = false;
	stop_waiting_for_reply(&e->acks, qp);
}

void
uroce_acks_expire(struct uroce_engine *e)
{
	struct uroce_acks *a = &e->acks;

	for (unsigned int i = a->reply_count; i-- > 0;) {
		struct uroce_qp *qp = a->replies[i];

		if (!is_late(e, qp))
			continue;
		qp->reply_score /= 2;
		qp->reply_pending = false;
		stop_waiting_for_reply(a, qp);
		uroce_qp_activate(e, qp);
	}
}

static void
defer_reply(struct uroce_acks *a, struct uroce_qp *qp)
{
	stop_waiting_for_reply(a, qp);
	defer(a, qp);
}

void
uroce_acks_due_now(struct uroce_engine *e)
{
	struct uroce_acks *a = &e->acks;

	while (a->reply_count != 0)
		defer_reply(a, a->replies[0]);
	uroce_acks_due_all(a);
}

void
uroce_acks_round(struct uroce_engine *e)
{
	struct uroce_acks *a = &e->acks;

	/* ACKs that are still due found no room in the port in the last round */
	a->lead |= uroce_acks_are_due(e);
	if (a->packets > UROCE_ACK_DEFER_PACKETS) {
		uroce_acks_due_now(e);
		a->lead = true;
		return;
	}
	a->due = a->next;
	a->next = a->tail;
}

/* Does the caller use rounds (uroce_engine_heard())? Otherwise a deferred ACK would never leave. */
static inline bool
has_rounds(const struct uroce_engine *e)
{
	return e->heard_ns != UINT64_MAX;
}

void
uroce_ack_owe(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	struct uroce_acks *a = &e->acks;
	/* a READ response or a lack of mbufs has delayed an ACK that was due: send it in this round */
	const bool has_a_turn = resp->ack_owed && qp->ack_place == UROCE_ACK_TURN;

	uroce_response_forget_asked(resp);
	/* an owed NAK also acknowledges all requests before it, which may not be this one */
	if (!resp->ack_owed)
		resp->ack_syndrome = UROCE_AETH_ACK;
	else if (unlikely(uroce_response_is_replay_nak(resp)))
		resp->ack_behind_nak = true;
	resp->ack_owed = true;
	if (has_a_turn || !uroce_response_is_plain_ack(resp)) {
		uroce_qp_activate(e, qp);
	} else if (unlikely(!has_rounds(e))) {
		defer(a, qp);
		uroce_acks_due_all(a);
		a->lead = true;
	} else if (likely(a->reply_ns == 0) || !wait_for_reply(e, qp, p)) {
		defer(a, qp);
	}
}

void
uroce_ack_owe_sack(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_responder *resp = uroce_responder_of(qp);

	if (!resp->selective)
		return;
	resp->sack_owed = true;
	uroce_ack_owe(e, qp, NULL);
}

/* Does the next WQE wait for an ACK of its QP, or for the READ response that replaces the ACK? It waits only for
 * answers that were owed when it was first held back, and at most UROCE_HOLD_TURNS, so that a peer that keeps sending
 * or repeats READs does not starve it.
 * @param any	wait for any ACK; false: only for ACKs of requests that completed a receive */
static bool
waits_for_own_ack(struct uroce_qp *qp, bool any)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	const uint32_t wqe = uroce_requester_of(qp)->next;
	int16_t behind;

	if (!(any && resp->ack_owed) && !uroce_recv_ack_waits(resp))
		return false;
	if (!resp->holds_wqe || resp->held_wqe != wqe) {
		resp->holds_wqe = true;
		resp->held_turns = 0;
		resp->held_wqe = wqe;
		resp->held_resource = (uint16_t)(any && resp->ack_owed ? resp->resource_tail : resp->recv_resource);
	}
	if (unlikely(resp->held_turns == UROCE_HOLD_TURNS))
		return false;
	resp->held_turns++;
	/* a response acknowledges all requests before its READ */
	behind = (int16_t)(resp->resource_head - resp->held_resource);
	if (behind != 0)
		return behind < 0;
	if (resp->resource_head == resp->resource_tail)
		return resp->ack_owed;
	return resp->resources[resp->resource_head & resp->resource_mask].next == 0;
}

bool
uroce_acks_block_slow(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	struct uroce_acks *a = &e->acks;
	const bool receives = uroce_wr_is(sqe->opcode, UROCE_WR_RECEIVES);
	const bool any = receives || a->lead, waits = waits_for_own_ack(qp, any);

	if (!any && !waits)
		return false;
	while (receives && a->reply_count != 0)
		defer_reply(a, a->replies[0]);
	if (qp->ack_place == UROCE_ACK_REPLY)
		defer_reply(a, qp);
	a->blocked = uroce_acks_any(e);
	/* if only this QP's ACK is left, it waits for a READ response or an mbuf, and so does the message */
	return a->blocked || waits;
}

void
uroce_acks_leave(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_acks *a = &e->acks;

	stop_waiting_for_reply(a, qp);
	if (qp->ack_place == UROCE_ACK_OVERFLOW)
		TAILQ_REMOVE(&a->overflow, qp, ack_link);
	for (uint32_t i = a->head; qp->ack_place == UROCE_ACK_RING && i != a->tail; i++) {
		if (*slot(a, i) != qp)
			continue;
		*slot(a, i) = NULL;
		break;
	}
	qp->ack_place = UROCE_ACK_TURN;
}

void
uroce_acks_forget(struct uroce_engine *e, struct uroce_qp *qp)
{
	uroce_acks_leave(e, qp);
	qp->reply_pending = false;
	qp->reply_score = 0;
}

/* Move the first QP of the overflow list to the free slot. Its ACK becomes due, as those before it. */
static void
take_overflow(struct uroce_acks *a)
{
	struct uroce_qp *qp = TAILQ_FIRST(&a->overflow);

	TAILQ_REMOVE(&a->overflow, qp, ack_link);
	qp->ack_place = UROCE_ACK_RING;
	*slot(a, a->tail++) = qp;
	uroce_acks_due_all(a);
}

/* @return the number of frames, 0 or 1; or -ENOBUFS: the QP still owes its ACK */
static inline int
send_ack(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frame)
{
	int sent = 0;

	qp->ack_place = UROCE_ACK_TURN;
	if (likely(uroce_response_is_ack(qp))) {
		if (unlikely(uroce_response_acknowledge(e, qp, frame) != 0)) {
			qp->ack_place = UROCE_ACK_RING;
			return -ENOBUFS;
		}
		sent = 1;
	}
	/* READ responses leave before the ACK: the QP's turn sends both */
	if (unlikely(uroce_response_pending(qp)))
		uroce_qp_activate(e, qp);
	return sent;
}

unsigned int
uroce_acks_send(struct uroce_engine *e, struct rte_mbuf **frames, unsigned int n)
{
	struct uroce_acks *a = &e->acks;
	unsigned int sent = 0;

	while (sent < n && uroce_acks_are_due(e)) {
		struct uroce_qp *qp = *slot(a, a->head);
		int ret = likely(qp != NULL) ? send_ack(e, qp, frames + sent) : 0;

		if (unlikely(ret < 0)) {
			a->lead = true;	/* no message leaves before the ACK, which waits for an mbuf */
			return sent;
		}
		sent += (unsigned int)ret;
		a->head++;
		if (unlikely(!TAILQ_EMPTY(&a->overflow)))
			take_overflow(a);
	}
	if (!uroce_acks_any(e))
		a->lead = false;
	return sent;
}

uint64_t
uroce_acks_deadline(const struct uroce_engine *e)
{
	const struct uroce_acks *a = &e->acks;
	uint64_t left_ns = UINT64_MAX;

	if (a->head != a->tail)
		return e->now_ns;
	for (uint32_t i = 0; i < a->reply_count; i++) {
		if (is_late(e, a->replies[i]))
			return e->now_ns;
		left_ns = RTE_MIN(left_ns, a->reply_ns + 1 - ((uint32_t)e->now_ns - a->replies[i]->written_ns));
	}
	return left_ns == UINT64_MAX ? UINT64_MAX : e->now_ns + left_ns;
}
