/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_modify_cq(3): an armed CQ raises its event after a number of completions, or a time after the first of them.
 * Completions count while the CQ is armed for them. The timer belongs to the engine that pushed the first one. It
 * stays armed when the count is reached, and is ignored when it fires.
 */

#include <errno.h>

#include <rte_common.h>
#include <rte_spinlock.h>

#include "uroce.h"
#include "uroce_config.h"
#include "verbs/cq/cq.h"
#include "verbs/device/device.h"

static const struct uroce_device_ops *
ops_of(struct uroce_cq *cq)
{
	return &uroce_device_of(cq->ibv.context)->ops;
}

/* Raise the event if the CQ is still armed. */
static void
fire(struct uroce_cq *cq)
{
	if (__atomic_exchange_n(&cq->arm, UROCE_CQ_UNARMED, __ATOMIC_RELAXED) != UROCE_CQ_UNARMED)
		uroce_cq_notify(cq);
}

/* Is the event due after a new completion? Under the lock. */
static bool
is_due(const struct uroce_cq_moderation *m)
{
	return (m->count != 0 && m->pending >= m->count) || (m->count == 0 && m->period_us == 0);
}

/* Begin a period with the first completion since the last event. A timer that is already in a wheel finds the new
 * deadline when it fires. Under the lock. */
static void
start_period(struct uroce_cq *cq, struct uroce_engine *engine)
{
	struct uroce_cq_moderation *m = &cq->moderation;

	m->deadline_ns = ops_of(cq)->transport->engine_now(engine) + m->period_us * UINT64_C(1000);
	if (m->timer_engine != NULL)
		return;
	m->timer_engine = engine;
	ops_of(cq)->transport->timer_arm(engine, &m->timer, m->deadline_ns);
}

void
uroce_cq_moderate(struct uroce_cq *cq, struct uroce_engine *engine)
{
	struct uroce_cq_moderation *m = &cq->moderation;
	bool due;

	rte_spinlock_lock(&m->lock);
	m->pending++;
	due = is_due(m);
	if (due)
		m->pending = 0;
	else if (m->pending == 1 && m->period_us != 0)
		start_period(cq, engine);
	rte_spinlock_unlock(&m->lock);
	if (due)
		fire(cq);
}

/* timer_engine stays set until this function has finished with the CQ, so the CQ's destruction waits for it. */
void
uroce_cq_timeout(struct uroce_timer *timer, struct uroce_engine *engine)
{
	struct uroce_cq *cq = container_of(timer, struct uroce_cq, moderation.timer);
	struct uroce_cq_moderation *m = &cq->moderation;
	bool due;

	rte_spinlock_lock(&m->lock);
	due = m->pending != 0 && m->period_us != 0 && ops_of(cq)->transport->engine_now(engine) >= m->deadline_ns;
	if (due)
		m->pending = 0;
	rte_spinlock_unlock(&m->lock);
	if (due)
		fire(cq);
	rte_spinlock_lock(&m->lock);
	/* completions that are pending now came after the last event and have a later deadline */
	if (m->pending != 0 && m->period_us != 0)
		ops_of(cq)->transport->timer_arm(engine, timer, m->deadline_ns);
	else
		m->timer_engine = NULL;
	rte_spinlock_unlock(&m->lock);
}

int
uroce_modify_cq(struct ibv_cq *ibv, struct ibv_modify_cq_attr *attr)
{
	struct uroce_cq *cq = uroce_cq_of(ibv);
	struct uroce_cq_moderation *m = &cq->moderation;
	bool due;

	if ((attr->attr_mask & ~IBV_CQ_ATTR_MODERATE) != 0)
		return EINVAL;
	if (attr->attr_mask == 0)
		return 0;
	rte_spinlock_lock(&m->lock);
	m->count = attr->moderate.cq_count;
	m->period_us = attr->moderate.cq_period;
	__atomic_store_n(&cq->moderated, m->count != 0 || m->period_us != 0, __ATOMIC_RELAXED);
	/* Raise the event for pending completions now, because only an engine can begin a new period. */
	due = m->pending != 0;
	m->pending = 0;
	rte_spinlock_unlock(&m->lock);
	if (due)
		fire(cq);
	return 0;
}

void
uroce_cq_moderation_move(struct uroce_cq *cq, struct uroce_engine *from, struct uroce_engine *to)
{
	struct uroce_cq_moderation *m = &cq->moderation;

	rte_spinlock_lock(&m->lock);
	if (m->timer_engine == from) {
		ops_of(cq)->transport->timer_remove(from, &m->timer);
		ops_of(cq)->transport->timer_arm(to, &m->timer, m->deadline_ns);
		m->timer_engine = to;
	}
	rte_spinlock_unlock(&m->lock);
}

void
uroce_cq_moderation_fini(struct uroce_cq *cq)
{
	struct uroce_cq_moderation *m = &cq->moderation;
	struct uroce_engine *engine;

	rte_spinlock_lock(&m->lock);
	engine = m->timer_engine;
	rte_spinlock_unlock(&m->lock);
	if (engine == NULL)
		return;
	ops_of(cq)->worker->engine_enter(engine);
	ops_of(cq)->transport->timer_remove(engine, &m->timer);
	ops_of(cq)->worker->engine_exit(engine);
}
