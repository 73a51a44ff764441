/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Paces QPs that have received CNPs: such a QP sends while its rate has credit, then waits in a timer wheel. A QP has a
 * rate from its first CNP until the rate reaches the link's speed; an engine has a fixed number of rates. On the
 * engine's thread.
 */

#ifndef UROCE_TRANSPORT_CONGESTION_PACER_H
#define UROCE_TRANSPORT_CONGESTION_PACER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "transport/congestion/dcqcn.h"
#include "base/timer_wheel.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"

#define UROCE_CREDIT_PER_BIT INT64_C(1000000000)	/* credit is a rate, in bit/s, times a time in ns */

struct uroce_engine;

struct uroce_rate {
	struct uroce_timer timer;	/* gives the QP a turn; armed while the QP has a rate */
	struct uroce_qp *qp;		/* NULL: free */
	SLIST_ENTRY(uroce_rate) free;
	uint64_t earned_ns;		/* time up to which credit has been added */
	int64_t credit;			/* in 1/UROCE_CREDIT_PER_BIT bit; the last frame makes it negative */
	struct uroce_dcqcn dcqcn;
};

struct uroce_pacer {
	SLIST_HEAD(, uroce_rate) free;
	struct uroce_rate *rates;
	struct uroce_wheel wheel;	/* timers of rates */
};

/** @return 0 or -ENOMEM */
int uroce_pacer_init(struct uroce_pacer *pacer, uint32_t rates, int numa_node, uint64_t now_ns);
/** Free the rates. No QP has one. */
void uroce_pacer_fini(struct uroce_pacer *pacer);

/** A CNP for the QP has arrived. @return false: all rates are taken, and this QP gets none */
bool uroce_pacer_cnp(struct uroce_engine *e, struct uroce_qp *qp);
/** A QP with a rate begins a turn. @return false: its rate has reached the link's speed and was released */
bool uroce_pacer_begin(struct uroce_engine *e, struct uroce_qp *qp);
/** Charge a frame to the QP's rate. */
void uroce_pacer_spend(struct uroce_qp *qp, const struct rte_mbuf *m);
/** The turn is over: arm the timer for the next one. */
void uroce_pacer_end(struct uroce_engine *e, struct uroce_qp *qp);
/** Give turns to the QPs whose timers are due. */
void uroce_pacer_expire(struct uroce_engine *e);
/** Release the QP's rate, if it has one. */
void uroce_pacer_release(struct uroce_engine *e, struct uroce_qp *qp);
/** Move the QP's rate to another engine, if it has one. If that engine has no free rate, release it. */
void uroce_pacer_move(struct uroce_engine *from, struct uroce_engine *to, struct uroce_qp *qp);

/** The same as qp->rate != NULL, but from a cache line that every turn of the QP reads. */
static inline bool
uroce_qp_is_rated(const struct uroce_qp *qp)
{
	return (qp->listed & UROCE_QP_RATED) != 0;
}

/** Has the QP used up its credit? Then its rate's timer gives it the next turn. */
static inline bool
uroce_pacer_waits(const struct uroce_qp *qp)
{
	return unlikely(uroce_qp_is_rated(qp)) && qp->rate->credit <= 0;
}

/** Will one more packet of the path MTU use up the QP's credit? */
static inline bool
uroce_pacer_will_wait(const struct uroce_qp *qp)
{
	return unlikely(uroce_qp_is_rated(qp)) &&
	       qp->rate->credit <= (int64_t)qp->mtu_bytes * 8 * UROCE_CREDIT_PER_BIT;
}

#endif /* UROCE_TRANSPORT_CONGESTION_PACER_H */
