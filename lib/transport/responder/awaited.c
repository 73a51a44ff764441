/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Acknowledgements that wait for the application's answer. Who is sent WRITEs and looks at memory for them polls no CQ
 * meanwhile, so that another thread has to receive them for him. But once he has answered he polls until his own WRITE
 * is acknowledged: where that acknowledgement leaves behind the peer's next WRITE, he receives both himself. So it is
 * held back where the application has answered soon again and again. Of engines that a thread drives for programs which
 * poll only now and then. On the engine's thread.
 */

#include <rte_branch_prediction.h>

#include "transport/responder/responder.h"
#include "uroce_config.h"

static bool
is_late(const struct uroce_engine *e, const struct uroce_qp *qp)
{
	return (uint32_t)e->now_ns - qp->written_ns > e->await_ns;
}

/* It does not wait for the application any more. What becomes of it is the caller's. */
static void
forget(struct uroce_engine *e, struct uroce_qp *qp)
{
	for (unsigned int i = 0; i < e->awaited_count; i++) {
		if (e->awaited[i] != qp)
			continue;
		e->awaited[i] = e->awaited[--e->awaited_count];
		break;
	}
	qp->awaited = false;
	qp->listed &= ~UROCE_QP_HELD;
}

void
uroce_awaited_remove(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (qp->awaited)
		forget(e, qp);
	qp->unanswered = false;
	qp->answers = 0;
}

/* The end of a WRITE, and it takes no receive, as all SENDs do: who waits for it looks at memory. */
static bool
tells_nobody(const struct uroce_packet *p)
{
	return (p->info->flags & (UROCE_OPF_LAST | UROCE_OPF_RECV)) == UROCE_OPF_LAST;
}

bool
uroce_awaited_add(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	const bool sends_on = qp->unanswered;

	if (p == NULL || !tells_nobody(p)) {
		/* who asks again has waited enough; and what is posted after a SEND may be its answer */
		if (qp->awaited)
			forget(e, qp);
		if (p != NULL && (p->info->flags & UROCE_OPF_RECV))
			qp->unanswered = false;
		return false;
	}
	if (sends_on)
		qp->answers /= 2;
	qp->unanswered = true;
	qp->written_ns = (uint32_t)e->now_ns;
	if (qp->awaited)
		forget(e, qp);
	if (sends_on || qp->answers < UROCE_ANSWERS || (qp->listed & UROCE_QP_HELD) ||
	    e->awaited_count == UROCE_AWAITED_ACKS)
		return false;
	qp->awaited = true;
	qp->listed |= UROCE_QP_HELD;
	e->awaited[e->awaited_count++] = qp;
	return true;
}

/* In one burst with the answer: the peer, who waits for both, receives them together. */
void
uroce_awaited_post(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (!qp->unanswered)
		return;
	if (is_late(e, qp))
		qp->answers /= 2;
	else if (qp->answers < UROCE_ANSWERS_MAX)
		qp->answers++;
	qp->unanswered = false;
	if (qp->awaited)
		forget(e, qp);
}

void
uroce_awaited_expire(struct uroce_engine *e)
{
	for (unsigned int i = e->awaited_count; i-- > 0;) {
		struct uroce_qp *qp = e->awaited[i];

		if (!is_late(e, qp))
			continue;
		qp->answers /= 2;
		qp->unanswered = false;	/* it is counted now */
		forget(e, qp);
		uroce_qp_activate(e, qp);
	}
}

void
uroce_awaited_release(struct uroce_engine *e, struct uroce_qp *qp)
{
	forget(e, qp);
	uroce_held_add(e, qp);
}

void
uroce_engine_release_awaited(struct uroce_engine *e)
{
	while (e->awaited_count != 0)
		uroce_awaited_release(e, e->awaited[0]);
}
