/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Applies a change of a QP's state to its transport. On the engine's thread.
 */

#ifndef UROCE_TRANSPORT_QP_CHANGE_H
#define UROCE_TRANSPORT_QP_CHANGE_H

#include <rte_branch_prediction.h>

#include "transport/engine.h"

/* The effects, applied in this order. */
enum uroce_qp_effect {
	UROCE_EFFECT_LEAVE_TURNS = 1 << 0,	/* remove the QP from the lists of turns */
	UROCE_EFFECT_FORGET_ACKS = 1 << 1,	/* drop its deferred ACK */
	UROCE_EFFECT_RELEASE_RATE = 1 << 2,	/* stop pacing the QP */
	UROCE_EFFECT_RESET_REQUESTER = 1 << 3,	/* start at the first PSN; stop timer and recovery */
	UROCE_EFFECT_STOP_REQUESTER = 1 << 4,	/* stop timer and recovery */
	UROCE_EFFECT_RESET_RESPONDER = 1 << 5,	/* start at the first PSN; drop the reorder buffer */
	UROCE_EFFECT_RESET_HISTORY = 1 << 6,	/* clear the QP's counters and the cause of a failure */
	UROCE_EFFECT_MEND_HISTORY = 1 << 7,	/* clear the cause of the failure that led to SQE */
	UROCE_EFFECT_FLUSH = 1 << 8,		/* flush all WQEs */
	UROCE_EFFECT_TELL_DRAINED = 1 << 9,	/* raise IBV_EVENT_SQ_DRAINED, if no WQE is outstanding */
	UROCE_EFFECT_TELL_LAST_WQE = 1 << 10,	/* raise IBV_EVENT_QP_LAST_WQE_REACHED, if the QP has an SRQ */
	UROCE_EFFECT_TURN = 1 << 11,		/* give the QP a turn */
};

/** @return the effects (enum uroce_qp_effect) of a transition; from and to may be the same state */
unsigned int uroce_qp_effects(enum ibv_qp_state from, enum ibv_qp_state to);

/** Remove the QP from all lists and timers of the engine, and release its recovery record, rate and reorder buffer. */
void uroce_qp_leave(struct uroce_engine *e, struct uroce_qp *qp);

/** The slow part of uroce_qp_end_failed(). */
void uroce_qp_end_all_failed(struct uroce_engine *e) __rte_cold;

/** Flush the QPs that have failed in the call from which the engine has just returned. */
static inline void
uroce_qp_end_failed(struct uroce_engine *e)
{
	if (unlikely(e->failed != NULL))
		uroce_qp_end_all_failed(e);
}

#endif /* UROCE_TRANSPORT_QP_CHANGE_H */
