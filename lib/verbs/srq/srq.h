/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Shared receive queues: a ring that any thread posts to, and from which the workers of its QPs take the oldest
 * WQE.
 */

#ifndef UROCE_VERBS_SRQ_SRQ_H
#define UROCE_VERBS_SRQ_SRQ_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rte_common.h>
#include <rte_spinlock.h>

#include "uroce_config.h"
#include "verbs/cq/cq.h"
#include "verbs/device/device.h"
#include "base/event_queue.h"
#include "verbs/qp/qp.h"

struct uroce_srq {
	struct ibv_srq ibv;	/* mutex: one control call at a time */
	struct uroce_device *dev;
	/* XRC: constant */
	struct uroce_xrcd *xrcd;	/* NULL: a basic SRQ */
	struct uroce_xrc_domain *domain;
	struct uroce_cq *cq;	/* for completions of its receives */
	uint32_t number;	/* 24 bits */
	uint32_t refs;		/* atomic: QPs (R47); of an XRC SRQ always 0 */
	struct uroce_event_refs events;	/* under the lock of the context's event queue */
	TAILQ_ENTRY(uroce_srq) link;	/* dev->srq_list, under dev->lock */
	/* ring, mask and capacity: control, with posters and takers kept out; wq.head: takers */
	struct uroce_wq wq;
	/* takers: workers, under take_lock */
	rte_spinlock_t take_lock __rte_cache_aligned;	/* after wq.lock, where both are held */
	uint32_t tail_seen;	/* wq.tail as last read by a taker */
	uint32_t limit;		/* raise IBV_EVENT_SRQ_LIMIT_REACHED below this number of WQEs; 0: not armed */
};

static inline struct uroce_srq *
uroce_srq_of(struct ibv_srq *srq)
{
	return (struct uroce_srq *)srq;
}

/**
 * Take the oldest receive WQE and copy it to `to`, which has room for max_sge entries. The engine's thread.
 * @return false: there is none
 */
bool uroce_srq_take(struct uroce_srq *srq, struct uroce_rqe *to);

/** Raise IBV_EVENT_SRQ_LIMIT_REACHED. Any thread. */
void uroce_srq_limit_reached(struct uroce_srq *srq);

/** The XRC SRQ of this number, or NULL. Worker, within a poll. */
static inline struct uroce_srq *
uroce_srq_lookup(const struct uroce_device *dev, uint32_t number)
{
	/* pairs with the release in uroce_srq_xrc_init() */
	struct uroce_srq *srq = __atomic_load_n(
		&dev->srqs.srqs[uroce_slots_index(UROCE_LOG2_MAX_SRQ, 24, number & 0xffffff)], __ATOMIC_ACQUIRE);

	return srq != NULL && srq->number == number ? srq : NULL;
}

/* srq_xrc.c */
/** Create the device's table of XRC SRQs. @return 0 or -errno */
int uroce_srqs_init(struct uroce_device *dev);
void uroce_srqs_fini(struct uroce_device *dev);
/** Add an SRQ to an XRC domain, with a number by which peers address it. @return 0 or ENOMEM */
int uroce_srq_xrc_init(struct uroce_srq *srq, struct ibv_xrcd *xrcd, struct ibv_cq *cq);
/** Make the SRQ unreachable, and remove it from the target QPs. A message that had taken a WQE of it loses the WQE. */
void uroce_srq_xrc_fini(struct uroce_srq *srq);

/** Count a QP that takes from the SRQ: attach before its first WQE, detach after its last. */
void uroce_srq_attach(struct uroce_srq *srq);
void uroce_srq_detach(struct uroce_srq *srq);

#endif /* UROCE_VERBS_SRQ_SRQ_H */
