/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Shared receive queues: a ring that any thread posts to, and that the workers of its QPs take from, oldest first.
 */

#ifndef UROCE_VERBS_SRQ_H
#define UROCE_VERBS_SRQ_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rte_common.h>
#include <rte_spinlock.h>

#include "verbs/device.h"
#include "verbs/event_queue.h"
#include "verbs/qp.h"

struct uroce_srq {
	struct ibv_srq ibv;	/* mutex: one control call at a time */
	struct uroce_device *dev;
	uint32_t refs;		/* atomic: QPs (R47) */
	struct uroce_event_refs events;	/* under the lock of the device's event queue */
	/* ring, mask and capacity: control, with posters and takers kept out; wq.head: takers */
	struct uroce_wq wq;
	/* takers: workers, under take_lock */
	rte_spinlock_t take_lock __rte_cache_aligned;	/* after wq.lock, where both are held */
	uint32_t tail_seen;	/* wq.tail as last read by a taker */
	uint32_t limit;		/* IBV_EVENT_SRQ_LIMIT_REACHED below so many; 0: not armed */
};

static inline struct uroce_srq *
uroce_srq_of(struct ibv_srq *srq)
{
	return (struct uroce_srq *)srq;
}

/**
 * Take the oldest receive WQE: copy it to a place that has room for max_sge entries. Engine.
 * @return false: there is none
 */
bool uroce_srq_take(struct uroce_srq *srq, struct uroce_rqe *to);

/** Tell who waits for it that fewer WQEs than the limit are left. Any thread. */
void uroce_srq_limit_reached(struct uroce_srq *srq);

/** A QP that is going to take from the SRQ, and one that has taken its last. */
void uroce_srq_attach(struct uroce_srq *srq);
void uroce_srq_detach(struct uroce_srq *srq);

#endif /* UROCE_VERBS_SRQ_H */
