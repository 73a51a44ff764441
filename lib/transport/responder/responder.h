/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The responder: executes the peer's requests and answers them. On the engine's thread.
 *
 *	responder.c	checks and executes a request (R10); decides on NAKs and RNR NAKs; detects and closes gaps
 *	duplicate.c	answers duplicates of executed requests: acknowledges them, or replays READs and atomics
 *	gap.c		state tables for missing packets: the NAK that was sent (R12), and whether the peer goes back N
 *	reorder.c	the reorder buffer: keeps out-of-order requests until the requests before them have arrived
 *	response.c	sends the owed answers: READ and atomic responses, ACKs, NAKs, SACKs
 *	placement.c	executes FLUSH and ATOMIC_WRITE and builds their responses
 *	ack.c		decides when an ACK leaves: at once, at the end of the burst, in the next round, or with the reply
 */

#ifndef UROCE_TRANSPORT_RESPONDER_RESPONDER_H
#define UROCE_TRANSPORT_RESPONDER_RESPONDER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "transport/engine.h"
#include "transport/qp/qp.h"
#include "transport/responder/gap.h"
#include "transport/responder/reorder.h"
#include "transport/qp/state.h"
#include "verbs/qp/qp.h"
#include "wire/packet.h"
#include "wire/psn.h"

/* responder.c */
enum uroce_verdict uroce_responder_receive(struct uroce_engine *e, struct uroce_qp *qp,
					   const struct uroce_packet *p);
/** Process an ASK: the peer requests a SACK, and understands SACKs. */
enum uroce_verdict uroce_responder_ask(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
void uroce_responder_reset(struct uroce_qp *qp);
/** Check (R10) and execute a request with the expected PSN. @return UROCE_OK, or the verdict, which the caller
 * answers */
enum uroce_verdict uroce_responder_execute(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);

/* duplicate.c */
/** Process a request before the expected PSN. */
enum uroce_verdict uroce_duplicate_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);

/* placement.c */
/** Check and execute a request. @return UROCE_OK, or the verdict of the failed check */
enum uroce_verdict uroce_flush_receive(struct uroce_qp *qp, const struct uroce_packet *p);
enum uroce_verdict uroce_atomic_write_receive(struct uroce_engine *e, struct uroce_qp *qp,
					      const struct uroce_packet *p);
/** @return as uroce_packet_build(), or -EAGAIN: the FLUSH is not done yet */
int uroce_placement_response(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_rd_atomic *r,
			     struct rte_mbuf **out);

/* response.c */
/** Send the owed answers. @return the number of frames */
unsigned int uroce_response_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames,
				 unsigned int room);
/** Send the owed ACK, NAK or SACK. @return 0; -ENOBUFS: it is still owed */
int uroce_response_acknowledge(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **out);
bool uroce_response_pending(const struct uroce_qp *qp);
/** Is the next frame that the responder would send an ACK or a NAK? */
bool uroce_response_is_ack(struct uroce_qp *qp);
/** Drop an owed ACK: a later READ or atomic response acknowledges the same requests. */
void uroce_response_supersede_ack(struct uroce_qp *qp);
void uroce_response_nak(struct uroce_engine *e, struct uroce_qp *qp, uint8_t syndrome, uint32_t psn);

/* ack.c */
/** Owe an ACK. @param p	the request that requests it; NULL: another reason */
void uroce_ack_owe(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
/** Owe a SACK, which reports the packets in the reorder buffer, if the peer understands SACKs. */
void uroce_ack_owe_sack(struct uroce_engine *e, struct uroce_qp *qp);
/** Do not defer the owed ACK of a QP that moves to another engine: it leaves in the QP's turn. */
void uroce_acks_leave(struct uroce_engine *e, struct uroce_qp *qp);
/** Drop the owed ACK of a QP that is reset or leaves the engine. */
void uroce_acks_forget(struct uroce_engine *e, struct uroce_qp *qp);
/** The application has posted to the QP, which gets a turn next. Call this only if acks.reply_ns is set. */
void uroce_acks_posted(struct uroce_engine *e, struct uroce_qp *qp);
/** Let ACKs that have waited acks.reply_ns for a reply leave in their QPs' turns. */
void uroce_acks_expire(struct uroce_engine *e);
/** @return the time at which the next ACK has to leave; UINT64_MAX: none is deferred */
uint64_t uroce_acks_deadline(const struct uroce_engine *e);
/** The slow part of uroce_acks_block(). */
bool uroce_acks_block_slow(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe);

static inline bool
uroce_acks_any(const struct uroce_engine *e)
{
	return e->acks.head != e->acks.tail;
}

/** Is an ACK due in this round? */
static inline bool
uroce_acks_are_due(const struct uroce_engine *e)
{
	return e->acks.head != e->acks.due;
}

/** Make every ACK in the ring due in this round. */
static inline void
uroce_acks_due_all(struct uroce_acks *a)
{
	a->due = a->next = a->tail;
}

/** Make every deferred ACK due in this round, including those that wait for a reply. */
void uroce_acks_due_now(struct uroce_engine *e);
/** Send due ACKs. @return the number of frames; less than n: no more are due, or there is no mbuf */
unsigned int uroce_acks_send(struct uroce_engine *e, struct rte_mbuf **frames, unsigned int n);

/** Does the ACK for a request that completed a receive wait for READ responses, or for an mbuf? The response to a later
 * READ may replace the ACK. */
static inline bool
uroce_recv_ack_waits(const struct uroce_responder *resp)
{
	return unlikely(resp->recv_unacked) && (resp->ack_owed || resp->resource_head != resp->resource_tail);
}

/** Must an owed ACK leave before the QP's next message, which may have been posted after the ACK became owed? Then the
 * turn ends, and the engine sends the ACKs before it continues the turn. */
static inline bool
uroce_acks_block(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	struct uroce_responder *resp = uroce_responder_of(qp);

	if (likely(!uroce_acks_any(e) && !resp->ack_owed && e->acks.reply_count == 0 &&
		   !uroce_recv_ack_waits(resp)))
		return false;
	return uroce_acks_block_slow(e, qp, sqe);
}

/** R22: are max_dest_rd_atomic READs and atomics in progress? Replays do not count, because the peer may have received
 * the first response. */
static inline bool
uroce_rd_atomic_full(const struct uroce_qp *qp)
{
	const struct uroce_responder *resp = uroce_responder_of(qp);
	uint32_t unanswered = 0;

	for (uint32_t i = resp->resource_head; i != resp->resource_tail; i++)
		unanswered += !resp->resources[i & resp->resource_mask].answered;
	return unanswered >= qp->attr.max_dest_rd_atomic;
}

/** @return the ring's entry for a new READ, atomic, FLUSH or ATOMIC_WRITE, which replaces the oldest. If a replay of
 * the oldest was pending, the peer requests it again. */
static inline struct uroce_rd_atomic *
uroce_rd_atomic_add(struct uroce_responder *resp)
{
	struct uroce_rd_atomic *r = &resp->resources[resp->resource_tail++ & resp->resource_mask];

	if (resp->resource_tail - resp->resource_head > resp->resource_mask + 1)
		resp->resource_head = resp->resource_tail - (resp->resource_mask + 1);
	return r;
}

/** uroce_transport_ops.qp_rd_atomics: install a ring, and copy the entries of the previous one to it. @return the
 * previous ring */
void *uroce_responder_take_ring(struct uroce_qp *qp, void *ring, uint32_t entries);

/** Is the owed answer the NAK of a duplicate READ? It has an old PSN, so it acknowledges no later request. */
static inline bool
uroce_response_is_replay_nak(const struct uroce_responder *resp)
{
	return resp->ack_owed && (resp->ack_syndrome & UROCE_AETH_CLASS_MASK) == UROCE_AETH_NAK &&
	       resp->ack_syndrome != UROCE_AETH_SEQUENCE_NAK && resp->nak_state != UROCE_STATE_CLOSING;
}

/** Is the owed answer a plain ACK, without an error or a gap? */
static inline bool
uroce_response_is_plain_ack(const struct uroce_responder *resp)
{
	return (resp->ack_syndrome & UROCE_AETH_CLASS_MASK) == UROCE_AETH_ACK && !resp->sack_owed &&
	       resp->reorder == NULL;
}

/** Is the QP's owed ACK deferred, so that the QP's turn does not send it? */
static inline bool
uroce_ack_is_deferred(const struct uroce_qp *qp)
{
	return qp->ack_place != UROCE_ACK_TURN && uroce_response_is_plain_ack(uroce_responder_of(qp));
}

/** Keep `asked` from falling behind the expected PSN: half the PSN space later it would compare as ahead. */
static inline void
uroce_response_forget_asked(struct uroce_responder *resp)
{
	if (unlikely(resp->selective) && uroce_psn_diff(resp->asked, resp->psn) < 0)
		resp->asked = resp->psn;
}

#endif /* UROCE_TRANSPORT_RESPONDER_RESPONDER_H */
