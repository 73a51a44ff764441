/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The doorbell of a QP: any thread rings it after it has posted, and the QP's engine answers it with a turn.
 */

#include "transport/doorbell.h"

#include "transport/qp/qp.h"
#include "transport/qp/turns.h"
#include "transport/responder/responder.h"

void
uroce_engine_doorbell(struct uroce_qp *qp)
{
	struct uroce_engine *e;
	struct uroce_qp *head;

	/* Sequentially consistent: either the engine sees the WQE that was posted before, or this thread sees that the
	 * engine has taken the QP, and rings again. Pairs with answer(). */
	if (__atomic_exchange_n(&qp->sq.rung, 1, __ATOMIC_SEQ_CST) != 0)
		return;
	/* only now: the QP does not move while its doorbell is being rung (uroce_doorbell_hold()) */
	e = uroce_qp_engine(qp);
	head = __atomic_load_n(&e->doorbells, __ATOMIC_RELAXED);
	/* Pairs with the acquire in uroce_doorbells_take_all(). Sequentially consistent, since a poster then reads
	 * uroce_worker.sleep: pairs with the fence in uroce_worker_sleep(). */
	do {
		qp->sq.doorbell_next = head;
	} while (!__atomic_compare_exchange_n(&e->doorbells, &head, qp, true, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
}

/* Give a turn to a QP to which the application has posted. */
static inline void
activate_posted(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (unlikely(e->acks.reply_ns != 0))
		uroce_acks_posted(e, qp);
	uroce_qp_activate_requests(e, qp);
}

static inline void
attend(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (unlikely(qp->state == IBV_QPS_ERR))
		uroce_qp_flush(e, qp);
	else
		activate_posted(e, qp);
}

static inline void
answer(struct uroce_engine *e, struct uroce_qp *qp)
{
	/* pairs with the exchange in uroce_engine_doorbell() */
	__atomic_exchange_n(&qp->sq.rung, 0, __ATOMIC_SEQ_CST);
	attend(e, qp);
}

/* Answer the doorbells of a thread domain. A QP may have moved to another engine meanwhile, whose thread may sleep. */
static inline void
bells_answer(struct uroce_engine *e, struct uroce_bells *bells)
{
	struct uroce_qp *qp;

	while ((qp = uroce_bells_pop(bells)) != NULL) {
		if (likely(uroce_qp_engine(qp) == e)) {
			attend(e, qp);
		} else {
			uroce_engine_doorbell(qp);
			qp->dev->ops.worker->wake(qp->dev);
		}
	}
}

void
uroce_bells_add(struct uroce_bells *bells)
{
	LIST_INSERT_HEAD(&bells->engine->bells, bells, link);
}

void
uroce_bells_take(struct uroce_bells *bells)
{
	bells_answer(bells->engine, bells);
}

void
uroce_bells_del(struct uroce_bells *bells)
{
	uroce_bells_take(bells);
	LIST_REMOVE(bells, link);
}

void
uroce_doorbells_take_all(struct uroce_engine *e)
{
	struct uroce_qp *qp, *next;
	struct uroce_bells *bells;

	LIST_FOREACH(bells, &e->bells, link)
		bells_answer(e, bells);
	if (!uroce_engine_has_doorbells(e))
		return;
	/* pairs with the exchange in uroce_engine_doorbell() */
	for (qp = __atomic_exchange_n(&e->doorbells, NULL, __ATOMIC_ACQUIRE); qp != NULL; qp = next) {
		next = qp->sq.doorbell_next;
		answer(e, qp);
	}
}

bool
uroce_doorbell_hold(struct uroce_qp *qp)
{
	uroce_doorbells_take(qp->engine);
	/* Pairs with the exchange in uroce_engine_doorbell(). A thread that has rung puts the QP onto the stack of its
	 * engine next. */
	return __atomic_exchange_n(&qp->sq.rung, 1, __ATOMIC_SEQ_CST) == 0;
}

void
uroce_doorbell_release(struct uroce_qp *qp)
{
	answer(qp->engine, qp);
}
