/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Doorbells without atomic operations: a ring of QPs that the thread of a thread domain fills, and the engine of its
 * QPs empties. The ring has an entry for each call that posts, so that no thread has to know whether a QP is in it.
 */

#ifndef UROCE_VERBS_QP_BELLS_H
#define UROCE_VERBS_QP_BELLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "uroce_config.h"

struct uroce_engine;
struct uroce_qp;

struct uroce_bells {
	struct uroce_engine *engine;	/* constant */
	LIST_ENTRY(uroce_bells) link;	/* of the engine; in its turn */
	/* poster */
	uint32_t head __rte_cache_aligned;	/* poster: release; engine: acquire */
	uint32_t tail_seen;		/* tail as last read by the poster */
	uint32_t tail __rte_cache_aligned;	/* engine: release; poster: acquire */
	struct uroce_qp *qps[UROCE_BELLS] __rte_cache_aligned;
};

LIST_HEAD(uroce_bells_list, uroce_bells);

/** Add a QP. The thread of the thread domain. @return false: the ring is full */
static inline bool
uroce_bells_push(struct uroce_bells *b, struct uroce_qp *qp)
{
	if (unlikely(b->head - b->tail_seen == UROCE_BELLS)) {
		/* pairs with the release in uroce_bells_pop() */
		b->tail_seen = __atomic_load_n(&b->tail, __ATOMIC_ACQUIRE);
		if (b->head - b->tail_seen == UROCE_BELLS)
			return false;
	}
	b->qps[b->head % UROCE_BELLS] = qp;
	/* pairs with the acquire in uroce_bells_pop(): the engine sees the QP, and its WQEs */
	__atomic_store_n(&b->head, b->head + 1, __ATOMIC_RELEASE);
	return true;
}

static inline bool
uroce_bells_is_empty(const struct uroce_bells *b)
{
	return __atomic_load_n(&b->head, __ATOMIC_RELAXED) == b->tail;
}

/** Remove a QP, the oldest. On the engine's thread. @return NULL: the ring is empty */
static inline struct uroce_qp *
uroce_bells_pop(struct uroce_bells *b)
{
	struct uroce_qp *qp;

	/* pairs with the release in uroce_bells_push() */
	if (__atomic_load_n(&b->head, __ATOMIC_ACQUIRE) == b->tail)
		return NULL;
	qp = b->qps[b->tail % UROCE_BELLS];
	/* pairs with the acquire in uroce_bells_push(): the entry has been read */
	__atomic_store_n(&b->tail, b->tail + 1, __ATOMIC_RELEASE);
	return qp;
}

#endif /* UROCE_VERBS_QP_BELLS_H */
