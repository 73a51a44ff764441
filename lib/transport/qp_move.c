/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Moves a QP from one engine to another, with all that the engine keeps for it. On the thread that runs both engines.
 */

#include <rte_debug.h>

#include "transport/congestion/congestion.h"
#include "transport/doorbell.h"
#include "transport/engine.h"
#include "transport/qp/qp.h"
#include "transport/qp/turns.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"

static void
move_timer(struct uroce_engine *from, struct uroce_engine *to, struct uroce_timer *timer)
{
	uint64_t deadline_ns = timer->deadline_ns;

	uroce_wheel_remove(&from->wheel, timer);
	if (deadline_ns != 0)
		uroce_wheel_arm(&to->wheel, timer, deadline_ns);
}

/* The QP gets a turn, in which a deferred ACK leaves. */
static void
move(struct uroce_qp *qp, struct uroce_engine *from, struct uroce_engine *to)
{
	const uint8_t silent = qp->listed & UROCE_QP_SILENT;

	uroce_acks_leave(from, qp);
	if (!uroce_recovery_move(from, to, qp))
		uroce_requester_on(from, qp, UROCE_ON_MOVED);
	uroce_budget_leave(from, qp);
	uroce_peer_silence_move(from, to, qp);
	uroce_pacer_move(from, to, qp);
	uroce_reorder_move(from, to, qp);
	move_timer(from, to, &uroce_requester_of(qp)->timer);
	uroce_qp_deactivate(from, qp);	/* last: going back N gives it a turn */
	qp->listed |= silent;
	__atomic_store_n(&qp->sq.bells, NULL, __ATOMIC_RELAXED);	/* its thread domain rings those of `from` */
	__atomic_store_n(&qp->engine, to, __ATOMIC_RELAXED);
}

bool
uroce_engine_qp_move(struct uroce_qp *qp, struct uroce_engine *to, uint64_t now_ns)
{
	struct uroce_engine *from = qp->engine;

	RTE_ASSERT(from != to && from->failed == NULL && to->failed == NULL);
	/* one clock for both: the QP's times must not be ahead of its engine's */
	from->now_ns = now_ns;
	to->now_ns = now_ns;
	if (!uroce_doorbell_hold(qp))
		return false;
	move(qp, from, to);
	uroce_doorbell_release(qp);
	return true;
}
