/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Completion queues: a ring of work completions, written by the workers of its QPs, read by any thread.
 */

#ifndef UROCE_VERBS_CQ_H
#define UROCE_VERBS_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rte_common.h>
#include <rte_spinlock.h>

/* req_notify state */
enum uroce_cq_arm {
	UROCE_CQ_UNARMED,
	UROCE_CQ_ARMED_SOLICITED,
	UROCE_CQ_ARMED,
};

struct uroce_cq {
	struct ibv_cq ibv;
	struct ibv_wc *ring;	/* mask + 1 entries */
	uint32_t mask;
	uint32_t capacity;	/* ibv.cqe: the ring may be larger */
	uint32_t refs;		/* atomic: QPs (R47) */
	/* producers: workers, under push_lock (one worker's QPs never contend) */
	rte_spinlock_t push_lock __rte_cache_aligned;
	uint32_t tail;		/* producer: release; consumer: acquire */
	bool overrun;		/* R43: nothing more is accepted */
	uint32_t arm;		/* enum uroce_cq_arm; atomic exchange on both sides */
	/* consumers: any thread, under poll_lock */
	rte_spinlock_t poll_lock __rte_cache_aligned;
	uint32_t head;		/* consumer: release; producer: acquire */
};

static inline struct uroce_cq *
uroce_cq_of(struct ibv_cq *cq)
{
	return (struct uroce_cq *)cq;
}

/**
 * Add a completion. Worker. Notifies the channel if the CQ is armed for it.
 * @param solicited	a solicited event or an error: wakes who asked for solicited only
 * @return true, or false when the CQ is full (R43): the CQ is in error from now on, the event is queued,
 *	and the caller puts its QP into the error state
 */
bool uroce_cq_push(struct uroce_cq *cq, const struct ibv_wc *wc, bool solicited);

#endif /* UROCE_VERBS_CQ_H */
