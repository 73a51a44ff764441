/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The lists of QPs that get a turn to send: in this call of uroce_engine_send(), in the next, or when their budget has
 * room. On the engine's thread.
 */

#ifndef UROCE_TRANSPORT_QP_TURNS_H
#define UROCE_TRANSPORT_QP_TURNS_H

#include <rte_branch_prediction.h>

#include "transport/engine.h"
#include "transport/qp/state.h"
#include "verbs/qp/qp.h"

/** The budget of packets in flight to the QP's peer. */
static inline struct uroce_budget *
uroce_budget_of(struct uroce_engine *e, const struct uroce_qp *qp)
{
	return &e->budgets[uroce_requester_of(qp)->budget];
}

/* The list in which the QP waits: for the next call of uroce_engine_send(), or for its budget. */
static inline struct uroce_qp_list *
uroce_qp_wait_list(struct uroce_engine *e, struct uroce_qp *qp)
{
	return qp->listed & UROCE_QP_LATER ? &e->later : &uroce_budget_of(e, qp)->waiting;
}

/** Give the QP a turn in this call of uroce_engine_send(), or in the next if none runs. */
static inline void
uroce_qp_activate(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (qp->listed & UROCE_QP_ACTIVE)
		return;
	if (unlikely(qp->listed & (UROCE_QP_LATER | UROCE_QP_WAITING)))
		TAILQ_REMOVE(uroce_qp_wait_list(e, qp), qp, active_link);
	qp->listed = (qp->listed & ~(UROCE_QP_LATER | UROCE_QP_WAITING)) | UROCE_QP_ACTIVE;
	TAILQ_INSERT_TAIL(&e->active, qp, active_link);
}

/** Give the QP a turn to send requests, unless it waits for its budget, which will give it one. */
static inline void
uroce_qp_activate_requests(struct uroce_engine *e, struct uroce_qp *qp)
{
	if ((qp->listed & UROCE_QP_WAITING) == 0)
		uroce_qp_activate(e, qp);
}

/** Give the QP a turn in the next call of uroce_engine_send(), not in this one. */
static inline void
uroce_qp_activate_later(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (qp->listed & (UROCE_QP_ACTIVE | UROCE_QP_LATER | UROCE_QP_WAITING))
		return;
	qp->listed |= UROCE_QP_LATER;
	TAILQ_INSERT_TAIL(&e->later, qp, active_link);
}

/** Remove the QP from the lists. */
static inline void
uroce_qp_deactivate(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (qp->listed & UROCE_QP_ACTIVE)
		TAILQ_REMOVE(&e->active, qp, active_link);
	else if (unlikely(qp->listed & (UROCE_QP_LATER | UROCE_QP_WAITING)))
		TAILQ_REMOVE(uroce_qp_wait_list(e, qp), qp, active_link);
	qp->listed &= ~(UROCE_QP_ACTIVE | UROCE_QP_LATER | UROCE_QP_WAITING);
}

/** Give the QP the next turn, because its turn ended early. */
static inline void
uroce_qp_activate_next(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (qp->listed & UROCE_QP_ACTIVE)
		return;
	uroce_qp_deactivate(e, qp);	/* it may wait */
	qp->listed |= UROCE_QP_ACTIVE;
	TAILQ_INSERT_HEAD(&e->active, qp, active_link);
}

#endif /* UROCE_TRANSPORT_QP_TURNS_H */
