/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Acknowledgements that wait for the worker's next round. In between the application has its turn, and what it answers
 * leaves first: a peer that waits for an answer does not wait for the acknowledgement before it. A ring of QPs in the
 * order in which they became owed. On the engine's thread.
 */

#include <rte_branch_prediction.h>

#include "transport/internal.h"
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
		uroce_qp_activate(e, qp);
		return;
	}
	qp->listed |= UROCE_QP_HELD;
	*slot(e, e->held_tail++) = qp;
}

void
uroce_held_remove(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (!(qp->listed & UROCE_QP_HELD))
		return;
	qp->listed &= ~UROCE_QP_HELD;
	for (uint32_t i = e->held_head; i != e->held_tail; i++) {
		if (*slot(e, i) == qp)
			*slot(e, i) = NULL;
	}
}

unsigned int
uroce_engine_send_held(struct uroce_engine *e, struct rte_mbuf **frames, unsigned int n)
{
	unsigned int sent = 0;

	while (sent < n && uroce_engine_has_due(e)) {
		struct uroce_qp *qp = *slot(e, e->held_head++);

		if (unlikely(qp == NULL))
			continue;
		qp->listed &= ~UROCE_QP_HELD;
		if (likely(uroce_response_is_ack(qp)))
			sent += uroce_response_send(e, qp, frames + sent, 1);
		/* a READ response goes before it, or there was no mbuf: the QP's turn is for that */
		if (unlikely(uroce_response_pending(qp)))
			uroce_qp_activate(e, qp);
	}
	return sent;
}

void
uroce_engine_requeue_held(struct uroce_engine *e)
{
	while (uroce_engine_has_due(e)) {
		struct uroce_qp *qp = *slot(e, e->held_head++);

		if (qp == NULL)
			continue;
		qp->listed &= ~UROCE_QP_HELD;
		if (uroce_response_pending(qp))
			uroce_qp_activate(e, qp);
	}
}
