/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What a QP's change of state does to its transport. On the engine's thread.
 */

#ifndef UROCE_TRANSPORT_QP_CHANGE_H
#define UROCE_TRANSPORT_QP_CHANGE_H

#include <rte_branch_prediction.h>

#include "transport/engine.h"

/* The effects, each once and in this order. */
enum uroce_qp_effect {
	UROCE_EFFECT_LEAVE_TURNS = 1 << 0,	/* it gets no turn until it is activated */
	UROCE_EFFECT_FORGET_ACKS = 1 << 1,	/* deferred ACKs */
	UROCE_EFFECT_RELEASE_RATE = 1 << 2,
	UROCE_EFFECT_RESET_REQUESTER = 1 << 3,	/* from the first PSN on; timer and recovery end */
	UROCE_EFFECT_STOP_REQUESTER = 1 << 4,	/* timer and recovery end */
	UROCE_EFFECT_RESET_RESPONDER = 1 << 5,	/* the reorder buffer too */
	UROCE_EFFECT_RESET_HISTORY = 1 << 6,
	UROCE_EFFECT_MEND_HISTORY = 1 << 7,	/* the failure that led to SQE is over */
	UROCE_EFFECT_FLUSH = 1 << 8,		/* all WQEs */
	UROCE_EFFECT_TELL_DRAINED = 1 << 9,	/* IBV_EVENT_SQ_DRAINED, if nothing is outstanding */
	UROCE_EFFECT_TELL_LAST_WQE = 1 << 10,	/* IBV_EVENT_QP_LAST_WQE_REACHED */
	UROCE_EFFECT_TURN = 1 << 11,		/* the QP gets a turn */
};

/** @return enum uroce_qp_effect of a change between states, the same state included */
unsigned int uroce_qp_effects(enum ibv_qp_state from, enum ibv_qp_state to);

/** Give back all that the engine holds for the QP. */
void uroce_qp_leave(struct uroce_engine *e, struct uroce_qp *qp);

/** The slow part of uroce_qp_end_failed(). */
void uroce_qp_end_all_failed(struct uroce_engine *e) __rte_cold;

/** Flush the QPs that failed in what the engine has just called. */
static inline void
uroce_qp_end_failed(struct uroce_engine *e)
{
	if (unlikely(e->failed != NULL))
		uroce_qp_end_all_failed(e);
}

#endif /* UROCE_TRANSPORT_QP_CHANGE_H */
