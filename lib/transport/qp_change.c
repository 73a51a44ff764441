/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Applies a change of a QP's state to its transport, by a table of effects for each pair of states. The verbs layer
 * calls it when the application modifies the QP, the engine when the QP has failed. On the engine's thread.
 */

#include "transport/qp_change.h"

#include "base/rcu.h"
#include "transport/congestion/congestion.h"
#include "transport/qp/qp.h"
#include "transport/qp/turns.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"

#define STATES (IBV_QPS_ERR + 1)
#define EFFECT(e) UROCE_EFFECT_##e

#define TO_RESET (EFFECT(LEAVE_TURNS) | EFFECT(FORGET_ACKS) | EFFECT(RELEASE_RATE) | EFFECT(RESET_REQUESTER) | \
		  EFFECT(RESET_RESPONDER) | EFFECT(RESET_HISTORY) | EFFECT(TURN))
#define TO_RTR (EFFECT(RESET_RESPONDER) | EFFECT(TURN))
#define TO_SQD (EFFECT(TELL_DRAINED) | EFFECT(TURN))
#define STOP (EFFECT(STOP_REQUESTER) | EFFECT(RESET_RESPONDER) | EFFECT(FLUSH))
#define TO_ERR (STOP | EFFECT(TELL_LAST_WQE))

/* Transitions that R45 does not allow have no effects: the verbs layer has refused them. */
static const uint16_t effects[STATES][STATES] = {	/* [from][to] */
	[IBV_QPS_RESET] = {
		[IBV_QPS_RESET] = TO_RESET, [IBV_QPS_INIT] = EFFECT(TURN), [IBV_QPS_ERR] = TO_ERR,
	},
	[IBV_QPS_INIT] = {
		[IBV_QPS_RESET] = TO_RESET, [IBV_QPS_INIT] = EFFECT(TURN), [IBV_QPS_RTR] = TO_RTR,
		[IBV_QPS_ERR] = TO_ERR,
	},
	[IBV_QPS_RTR] = {
		[IBV_QPS_RESET] = TO_RESET, [IBV_QPS_RTS] = EFFECT(RESET_REQUESTER) | EFFECT(TURN),
		[IBV_QPS_ERR] = TO_ERR,
	},
	[IBV_QPS_RTS] = {
		[IBV_QPS_RESET] = TO_RESET, [IBV_QPS_RTS] = EFFECT(TURN), [IBV_QPS_SQD] = TO_SQD,
		[IBV_QPS_ERR] = TO_ERR,
	},
	[IBV_QPS_SQD] = {
		[IBV_QPS_RESET] = TO_RESET, [IBV_QPS_RTS] = EFFECT(TURN), [IBV_QPS_SQD] = TO_SQD,
		[IBV_QPS_ERR] = TO_ERR,
	},
	[IBV_QPS_SQE] = {
		[IBV_QPS_RESET] = TO_RESET, [IBV_QPS_RTS] = EFFECT(MEND_HISTORY) | EFFECT(TURN),
		[IBV_QPS_ERR] = TO_ERR,
	},
	[IBV_QPS_ERR] = {
		[IBV_QPS_RESET] = TO_RESET, [IBV_QPS_ERR] = STOP,
	},
};

unsigned int
uroce_qp_effects(enum ibv_qp_state from, enum ibv_qp_state to)
{
	return effects[from][to];
}

static void
stop_requester(struct uroce_engine *e, struct uroce_qp *qp)
{
	uroce_wheel_disarm(&uroce_requester_of(qp)->timer);
	uroce_requester_on(e, qp, UROCE_ON_STOP);
	uroce_budget_leave(e, qp);
}

static void
apply(struct uroce_engine *e, struct uroce_qp *qp, unsigned int effect)
{
	if (effect & EFFECT(STOP_REQUESTER))
		uroce_qp_revoke(qp);
	if (effect & EFFECT(LEAVE_TURNS))
		uroce_qp_deactivate(e, qp);
	if (effect & EFFECT(FORGET_ACKS))
		uroce_acks_forget(e, qp);
	if (effect & EFFECT(RELEASE_RATE))
		uroce_pacer_release(e, qp);
	if (effect & EFFECT(RESET_REQUESTER))
		uroce_requester_reset(qp, qp->state == IBV_QPS_RESET ? 0 : qp->attr.sq_psn);
	if (effect & EFFECT(STOP_REQUESTER))
		stop_requester(e, qp);
	if (effect & EFFECT(RESET_RESPONDER))
		uroce_responder_reset(qp);
	if (effect & EFFECT(RESET_HISTORY))
		uroce_qp_history_reset(&qp->history);
	if (effect & EFFECT(MEND_HISTORY))
		uroce_qp_history_mended(&qp->history);
	if (effect & EFFECT(FLUSH))
		uroce_qp_flush(e, qp);
	if (effect & EFFECT(TELL_DRAINED))
		uroce_qp_drained(qp);
	if (effect & EFFECT(TELL_LAST_WQE))
		uroce_qp_last_wqe(qp);
	if (effect & EFFECT(TURN))
		uroce_qp_activate(e, qp);
}

/* Either the flush sees a WQE that is being posted, or the posting thread sees the new state and rings the doorbell:
 * pairs with the light barrier in uroce_post_recv(). The heavy one is here: moves to ERR are rarer than posts. */
static void
fence(const struct uroce_qp *qp)
{
	if (qp->state == IBV_QPS_ERR)
		uroce_rcu_barrier_heavy();
}

void
uroce_engine_qp_changed(struct uroce_qp *qp, enum ibv_qp_state from, int attr_mask)
{
	struct uroce_engine *e = qp->engine;
	enum ibv_qp_state to = qp->attr.qp_state;

	if (!(attr_mask & IBV_QP_STATE))
		return;
	if (to == IBV_QPS_ERR)
		uroce_qp_history_failed(&qp->history, UROCE_CAUSE_MODIFIED, IBV_WC_SUCCESS, UROCE_OK, e->now_ns);
	uroce_qp_trace(qp, from, to);
	__atomic_store_n(&qp->state, to, __ATOMIC_RELAXED);
	fence(qp);
	apply(e, qp, uroce_qp_effects(from, to));
}

void
uroce_engine_qp_query(const struct uroce_qp *qp, struct ibv_qp_attr *attr)
{
	const struct uroce_requester *req = uroce_requester_of(qp);

	/* before RTR and RTS, attr has the PSNs that the application has set */
	if (qp->state >= IBV_QPS_RTR)
		attr->rq_psn = uroce_responder_of(qp)->psn & UROCE_PSN_MASK;
	if (qp->state >= IBV_QPS_RTS)
		attr->sq_psn = req->psn & UROCE_PSN_MASK;
	attr->sq_draining = qp->state == IBV_QPS_SQD && qp->sq.head != req->started;
}

void
uroce_qp_end_all_failed(struct uroce_engine *e)
{
	struct uroce_qp *qp;

	while ((qp = e->failed) != NULL) {
		e->failed = qp->failed_next;
		fence(qp); /* failure.c has set the state */
		apply(e, qp, TO_ERR);
		if (qp->failed_event != UROCE_NO_EVENT)
			uroce_qp_event(qp, (enum ibv_event_type)qp->failed_event);
	}
}

void
uroce_qp_leave(struct uroce_engine *e, struct uroce_qp *qp)
{
	uroce_qp_revoke(qp);
	uroce_qp_deactivate(e, qp);
	uroce_acks_forget(e, qp);
	uroce_requester_on(e, qp, UROCE_ON_STOP);
	uroce_budget_leave(e, qp);
	uroce_pacer_release(e, qp);
	uroce_wheel_remove(&e->wheel, &uroce_requester_of(qp)->timer);
	uroce_reorder_drop(e, qp);
}
