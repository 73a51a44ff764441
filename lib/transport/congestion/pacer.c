/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Assigns a rate to a QP at its first CNP, and releases it when it reaches the link's speed. The credit of the rate
 * limits requests, datagrams and responses, but not acknowledgements. On the engine's thread.
 */

#include "transport/congestion/pacer.h"

#include <assert.h>
#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_malloc.h>

#include "transport/congestion/congestion.h"
#include "transport/qp/qp.h"
#include "transport/qp/turns.h"
#include "uroce.h"
#include "verbs/device/congestion.h"

static_assert((int64_t)UROCE_CONGESTION_MAX_RATE * 1000000 <= INT64_MAX / (int64_t)UROCE_BACKOFF_BURST_NS,
	      "a burst's credit");

int
uroce_pacer_init(struct uroce_pacer *pacer, uint32_t rates, int numa_node, uint64_t now_ns)
{
	pacer->rates = rte_zmalloc_socket("uroce_rates", rates * sizeof(pacer->rates[0]), RTE_CACHE_LINE_SIZE, numa_node);
	if (pacer->rates == NULL)
		return -ENOMEM;
	SLIST_INIT(&pacer->free);
	for (uint32_t i = rates; i-- > 0;)
		SLIST_INSERT_HEAD(&pacer->free, &pacer->rates[i], free);
	uroce_wheel_init(&pacer->wheel, now_ns);
	return 0;
}

void
uroce_pacer_fini(struct uroce_pacer *pacer)
{
	rte_free(pacer->rates);
}

static void
fire(struct uroce_timer *t, void *arg)
{
	struct uroce_rate *rate = container_of(t, struct uroce_rate, timer);

	uroce_qp_activate(arg, rate->qp);
}

void
uroce_pacer_expire(struct uroce_engine *e)
{
	uroce_wheel_expire(&e->pacer.wheel, e->now_ns, fire, e);
}

/* Add the credit that the current rate has earned until until_ns. */
static void
earn(struct uroce_rate *rate, uint64_t until_ns)
{
	uint64_t most = rate->dcqcn.current_bps * UROCE_BACKOFF_BURST_NS, earned;

	if (until_ns <= rate->earned_ns)
		return;
	if (__builtin_mul_overflow(rate->dcqcn.current_bps, until_ns - rate->earned_ns, &earned) ||
	    earned > INT64_MAX / 2)
		earned = INT64_MAX / 2;
	rate->earned_ns = until_ns;
	rate->credit = RTE_MIN(rate->credit + (int64_t)earned, (int64_t)most);
}

/* Do the due steps of the rate, and add the credit that each rate has earned in its interval. */
static void
advance(struct uroce_rate *rate, const struct uroce_congestion *conf, uint64_t now_ns)
{
	struct uroce_dcqcn *d = &rate->dcqcn;
	uint64_t due_ns;

	if (unlikely(now_ns > rate->earned_ns + UROCE_BACKOFF_ASLEEP_NS))
		uroce_dcqcn_skip(d, now_ns - rate->earned_ns);
	while ((due_ns = uroce_dcqcn_due(d)) <= now_ns) {
		earn(rate, due_ns);
		uroce_dcqcn_step(d, conf, due_ns);
	}
	earn(rate, now_ns);
}

/* @return NULL: none is free */
static struct uroce_rate *
lend(struct uroce_engine *e)
{
	struct uroce_rate *rate = SLIST_FIRST(&e->pacer.free);

	if (rate == NULL)
		return NULL;
	SLIST_REMOVE_HEAD(&e->pacer.free, free);
	/* an empty wheel may be far behind the time: advance it first, which is cheap while it is empty */
	if (e->rated++ == 0)
		uroce_pacer_expire(e);
	return rate;
}

static struct uroce_rate *
start(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_congestion *conf)
{
	struct uroce_rate *rate = lend(e);

	if (rate == NULL)
		return NULL;
	*rate = (struct uroce_rate){ .qp = qp, .earned_ns = e->now_ns };
	uroce_dcqcn_start(&rate->dcqcn, conf, __atomic_load_n(&qp->dev->link_mbps, __ATOMIC_RELAXED), e->now_ns);
	uroce_wheel_arm(&e->pacer.wheel, &rate->timer, e->now_ns + 1);
	qp->rate = rate;
	qp->listed |= UROCE_QP_RATED;
	return rate;
}

bool
uroce_pacer_cnp(struct uroce_engine *e, struct uroce_qp *qp)
{
	const struct uroce_congestion *conf = uroce_congestion_of(qp->dev);
	struct uroce_rate *rate = qp->rate;

	if (rate == NULL)
		rate = start(e, qp, conf);
	if (rate == NULL)
		return false;
	advance(rate, conf, e->now_ns);
	uroce_dcqcn_cnp(&rate->dcqcn, conf, e->now_ns);
	return true;
}

void
uroce_pacer_release(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_rate *rate = qp->rate;

	if (rate == NULL)
		return;
	uroce_wheel_remove(&e->pacer.wheel, &rate->timer);
	qp->rate = NULL;
	qp->listed &= ~UROCE_QP_RATED;
	rate->qp = NULL;
	SLIST_INSERT_HEAD(&e->pacer.free, rate, free);
	e->rated--;
}

void
uroce_pacer_move(struct uroce_engine *from, struct uroce_engine *to, struct uroce_qp *qp)
{
	const struct uroce_rate *old = qp->rate;
	struct uroce_rate *rate;

	if (old == NULL)
		return;
	rate = lend(to);
	if (rate != NULL) {
		*rate = (struct uroce_rate){
			.qp = qp, .earned_ns = old->earned_ns, .credit = old->credit, .dcqcn = old->dcqcn,
		};
		if (old->timer.deadline_ns != 0) /* 0: it has fired, and given the QP a turn */
			uroce_wheel_arm(&to->pacer.wheel, &rate->timer, old->timer.deadline_ns);
	}
	uroce_pacer_release(from, qp);
	qp->rate = rate;
	if (rate != NULL)
		qp->listed |= UROCE_QP_RATED;
}

/* Arm the timer for the time at which the QP has credit again, at most UROCE_BACKOFF_LOOK_NS ahead. */
static void
arm(struct uroce_engine *e, struct uroce_rate *rate)
{
	uint64_t wait_ns = UROCE_BACKOFF_LOOK_NS;

	if (rate->credit <= 0) {
		uint64_t earned_ns = (uint64_t)-rate->credit / rate->dcqcn.current_bps + 1;

		wait_ns = RTE_MIN(wait_ns, earned_ns);
	}
	uroce_wheel_arm(&e->pacer.wheel, &rate->timer, e->now_ns + wait_ns);
}

void
uroce_pacer_spend(struct uroce_qp *qp, const struct rte_mbuf *m)
{
	uint32_t bytes = m->pkt_len + UROCE_BACKOFF_FRAME_BYTES;
	struct uroce_rate *rate = qp->rate;

	rate->credit -= (int64_t)bytes * 8 * UROCE_CREDIT_PER_BIT;
	uroce_dcqcn_sent(&rate->dcqcn, uroce_congestion_of(qp->dev), bytes);
}

bool
uroce_pacer_begin(struct uroce_engine *e, struct uroce_qp *qp)
{
	const struct uroce_congestion *conf = uroce_congestion_of(qp->dev);
	struct uroce_rate *rate = qp->rate;

	advance(rate, conf, e->now_ns);
	if (!conf->off && !uroce_dcqcn_is_line(&rate->dcqcn))
		return true;
	uroce_pacer_release(e, qp);
	return false;
}

void
uroce_pacer_end(struct uroce_engine *e, struct uroce_qp *qp)
{
	arm(e, qp->rate);
}
