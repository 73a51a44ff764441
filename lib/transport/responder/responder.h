/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The responder: executes the peer's requests and answers them. On the engine's thread.
 *
 *	responder.c	checks and executes a request (R10); decides on a NAK, an RNR NAK for a SEND without a receive WQE
 *			included; starts and closes gaps
 *	duplicate.c	answers a request that was executed before: replays READs and atomics from what was kept of them
 *	reorder.c	the reorder buffer: keeps out-of-order requests until the requests before them have arrived
 *	response.c	sends what is owed: READ and atomic responses, ACKs, NAKs, SACKs
 *	placement.c	executes FLUSH and ATOMIC_WRITE and builds their responses
 *	held.c		delays a plain ACK until the QP's next message or the next round
 *	awaited.c	delays an ACK until the application has answered the request
 */

#ifndef UROCE_TRANSPORT_RESPONDER_RESPONDER_H
#define UROCE_TRANSPORT_RESPONDER_RESPONDER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "transport/engine.h"
#include "transport/qp/qp.h"
#include "transport/responder/reorder.h"
#include "verbs/qp/qp.h"
#include "wire/packet.h"

/* responder.c */
enum uroce_verdict uroce_responder_receive(struct uroce_engine *e, struct uroce_qp *qp,
					   const struct uroce_packet *p);
/** The peer asks what has come, and understands a SACK. */
enum uroce_verdict uroce_responder_ask(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
void uroce_responder_reset(struct uroce_qp *qp);
/** R10, of a request with the expected PSN. @return UROCE_OK, or why it was not executed: nothing is answered yet */
enum uroce_verdict uroce_responder_execute(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
enum uroce_verdict uroce_responder_executed(struct uroce_engine *e, struct uroce_qp *qp,
					    const struct uroce_packet *p, uint32_t psns);
/** R22: are there as many READs and atomics under way as may be? */
bool uroce_rd_atomic_full(const struct uroce_qp *qp);
/** The entry for a new one. */
struct uroce_rd_atomic *uroce_rd_atomic_add(struct uroce_responder *resp);

/* duplicate.c */
/** A request before the expected PSN. */
enum uroce_verdict uroce_duplicate_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);

/* placement.c */
enum uroce_verdict uroce_flush_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
enum uroce_verdict uroce_atomic_write_receive(struct uroce_engine *e, struct uroce_qp *qp,
					      const struct uroce_packet *p);
/** @return as uroce_frame_begin(), or -EAGAIN: the FLUSH is not done yet */
int uroce_placement_response(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_rd_atomic *r,
			     struct rte_mbuf **out);

/* response.c: both return how many frames they made. */
unsigned int uroce_response_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames,
				 unsigned int room);
/** Send the ACK, NAK or SACK that is owed. @return 0 or -ENOBUFS: it is still owed */
int uroce_response_acknowledge(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **out);
bool uroce_response_pending(const struct uroce_qp *qp);
/** Is what it would send next an acknowledgement or NAK? */
bool uroce_response_is_ack(struct uroce_qp *qp);
/** @param p	the request that asks for it; NULL: another reason */
void uroce_response_ack(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
/** An acknowledgement is owed that names what came early. */
void uroce_response_sack(struct uroce_engine *e, struct uroce_qp *qp);
/** A READ or atomic response that is to come acknowledges all before it. */
void uroce_response_supersede_ack(struct uroce_qp *qp);
void uroce_response_nak(struct uroce_engine *e, struct uroce_qp *qp, uint8_t syndrome, uint32_t psn);

/* held.c */
/** Defer a plain ACK to the next message or round. If the ring is full, all ACKs are due at once. */
void uroce_held_add(struct uroce_engine *e, struct uroce_qp *qp);
/** The slow part of uroce_acks_block(). */
bool uroce_held_blocks(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe);

static inline bool
uroce_held_any(const struct uroce_engine *e)
{
	return e->held_head != e->held_tail;
}

/** Must an owed ACK leave before the QP's next message, which may have been posted after the ACK became owed? Then the
 * turn ends here, and the engine sends the ACKs before it continues the turn. */
static inline bool
uroce_acks_block(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	if (likely(!uroce_held_any(e) && !qp->resp.ack_owed))
		return false;
	return uroce_held_blocks(e, qp, sqe);
}
void uroce_held_remove(struct uroce_engine *e, struct uroce_qp *qp);

/* awaited.c: only of an engine that awaits answers, but for the second. */
/** An acknowledgement is owed. @param p	the request that it is for; NULL: another reason
 * @return false: it does not wait for an answer */
bool uroce_awaited_add(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
void uroce_awaited_remove(struct uroce_engine *e, struct uroce_qp *qp);
/** Stop waiting for the answer: the ACK leaves like any other. */
void uroce_awaited_release(struct uroce_engine *e, struct uroce_qp *qp);
/** The application has posted something to the QP, which is about to have its turn. */
void uroce_awaited_post(struct uroce_engine *e, struct uroce_qp *qp);
/** Those who have waited for long do not wait any more. */
void uroce_awaited_expire(struct uroce_engine *e);

#endif /* UROCE_TRANSPORT_RESPONDER_RESPONDER_H */
