/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Defers plain ACKs until the application's answer or the next round: a ring of QPs in the order in which the ACKs
 * became owed. The ACK of a request that completed a receive leaves in the answer's burst, ahead of it, on any QP of
 * the engine: the peer gets its send completion before the answer's receive completion. The ACK of a WRITE leaves
 * behind the WRITE that answers it, since the peer does not wait for that ACK. On the engine's thread.
 */

#include <errno.h>

#include <rte_branch_prediction.h>

#include "transport/responder/responder.h"
#include "uroce_config.h"

static_assert((UROCE_HELD_ACKS & (UROCE_HELD_ACKS - 1)) == 0, "UROCE_HELD_ACKS");

static inline struct uroce_qp **
slot(struct uroce_engine *e, uint32_t i)
{
	return &e->held[i & (UROCE_HELD_ACKS - 1)];
}

void
uroce_held_add(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (qp->listed & UROCE_QP_HELD)
		return;
	if (unlikely(e->held_tail - e->held_head == UROCE_HELD_ACKS)) {
		TAILQ_INSERT_TAIL(&e->held_beyond, qp, held_link);
		qp->listed |= UROCE_QP_HELD;
		e->held_due = e->held_tail;
		e->acks_lead = true;	/* the ring empties at once, and this ACK leaves behind it */
		return;
	}
	qp->listed |= UROCE_QP_HELD;
	*slot(e, e->held_tail++) = qp;
}

bool
uroce_held_blocks(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	if (!e->acks_lead && !uroce_wr_is(sqe->opcode, UROCE_WR_RECEIVES))
		return false;
	if (qp->awaited)
		uroce_awaited_release(e, qp);
	e->acks_first = uroce_held_any(e);
	/* if only this QP's ACK is left, it waits for a READ response or an mbuf, and so does the message */
	return e->acks_first || qp->resp.ack_owed;
}

void
uroce_held_remove(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (!(qp->listed & UROCE_QP_HELD))
		return;
	qp->listed &= ~UROCE_QP_HELD;
	for (uint32_t i = e->held_head; i != e->held_tail; i++) {
		if (*slot(e, i) != qp)
			continue;
		*slot(e, i) = NULL;
		return;
	}
	TAILQ_REMOVE(&e->held_beyond, qp, held_link);
}

/* The first QP beyond the ring moves into the slot that is free now, and is as due as those before it. */
static void
take_beyond(struct uroce_engine *e)
{
	struct uroce_qp *qp = TAILQ_FIRST(&e->held_beyond);

	TAILQ_REMOVE(&e->held_beyond, qp, held_link);
	*slot(e, e->held_tail++) = qp;
	e->held_due = e->held_tail;
}

/* @return how many frames, 0 or 1; or -ENOBUFS: the QP still owes its ACK */
static inline int
send_ack(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frame)
{
	int sent = 0;

	qp->listed &= ~UROCE_QP_HELD;
	if (likely(uroce_response_is_ack(qp))) {
		sent = uroce_response_acknowledge(e, qp, frame) == 0;
		if (unlikely(sent == 0)) {
			qp->listed |= UROCE_QP_HELD;
			return -ENOBUFS;
		}
	}
	/* a READ response goes before the ACK: the QP's turn is for both */
	if (unlikely(uroce_response_pending(qp)))
		uroce_qp_activate(e, qp);
	return sent;
}

unsigned int
uroce_engine_send_due(struct uroce_engine *e, struct rte_mbuf **frames, unsigned int n)
{
	unsigned int sent = 0;

	while (sent < n && uroce_engine_has_due(e)) {
		struct uroce_qp *qp = *slot(e, e->held_head);
		int ret = likely(qp != NULL) ? send_ack(e, qp, frames + sent) : 0;

		if (unlikely(ret < 0)) {
			e->acks_lead = true;	/* no message passes the ACK until there is an mbuf for it */
			return sent;
		}
		sent += (unsigned int)ret;
		e->held_head++;
		if (unlikely(!TAILQ_EMPTY(&e->held_beyond)))
			take_beyond(e);
	}
	if (!uroce_held_any(e))
		e->acks_lead = false;
	return sent;
}
