/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Moves a QP to the worker of the thread that polls its CQ, before the application posts to it. driven.c notes which
 * thread polls a CQ. Any thread of the application.
 */

#include "port/driven.h"
#include "port/worker/worker.h"
#include "uroce.h"
#include "verbs/cq/cq.h"
#include "verbs/qp/qp.h"

/* @return the engine to which the QP is to move: that of the thread that polls one of its CQs */
static struct uroce_engine *
wanted(const struct uroce_qp *qp)
{
	const struct uroce_cq *send = uroce_cq_of(qp->ibv.send_cq), *recv = uroce_cq_of(qp->ibv.recv_cq);
	struct uroce_engine *e = NULL;

	if (send != NULL)
		e = __atomic_load_n(&send->place.wanted, __ATOMIC_RELAXED);
	if (e == NULL && recv != NULL && (send == NULL || !__atomic_load_n(&send->place.fixed, __ATOMIC_RELAXED)))
		e = __atomic_load_n(&recv->place.wanted, __ATOMIC_RELAXED);
	return e;
}

static void
give_up(struct uroce_cq *cq, struct uroce_engine *e)
{
	if (cq != NULL)
		(void)__atomic_compare_exchange_n(&cq->place.wanted, &e, NULL, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void
uroce_driven_settle(struct ibv_qp *ibv)
{
	struct uroce_qp *qp = uroce_qp_of(ibv);
	struct uroce_engine *e = wanted(qp);

	if (likely(e == NULL || e == uroce_qp_engine(qp)))
		return;
	if (uroce_qp_move(ibv, uroce_worker_of(e)) != 0) {
		/* since a restart the port is without the worker */
		give_up(uroce_cq_of(qp->ibv.send_cq), e);
		give_up(uroce_cq_of(qp->ibv.recv_cq), e);
	}
}
