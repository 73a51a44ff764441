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

#include "verbs/device.h"
#include "verbs/event_queue.h"

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
	/* control, under ibv.mutex */
	uint32_t refs;		/* QPs, send and receive queues (R47) */
	struct uroce_engine *producer;	/* of the first QP */
	struct uroce_event_refs comp_events;	/* under the channel's lock */
	struct uroce_event_refs async_events;	/* under that of the device's event queue */
	/* producers: engines; under push_lock once there are several */
	rte_spinlock_t push_lock __rte_cache_aligned;
	bool shared;		/* control: rw with the first producer kept out; engines: relaxed read */
	bool overrun;		/* R43: nothing more is accepted. producer: release; consumer: acquire */
	uint32_t tail;		/* producer: release; consumer: acquire */
	uint32_t head_seen;	/* head as last read by a producer */
	uint32_t arm;		/* enum uroce_cq_arm; atomic exchange on both sides */
	/* consumers: any thread, under poll_lock */
	rte_spinlock_t poll_lock __rte_cache_aligned;
	uint32_t head;		/* consumer: release; producer: acquire */
};

/* A completion channel: the CQs' events are pointers to them. */
struct uroce_comp_channel {
	struct ibv_comp_channel ibv;	/* refcnt, the CQs, under the context's mutex */
	struct uroce_event_queue events;
};

static inline struct uroce_cq *
uroce_cq_of(struct ibv_cq *cq)
{
	return (struct uroce_cq *)cq;
}

static inline struct uroce_comp_channel *
uroce_comp_channel_of(struct ibv_comp_channel *channel)
{
	return (struct uroce_comp_channel *)channel;
}

/**
 * Add a completion. Engine. Notifies the channel if the CQ is armed for it.
 * @param solicited	a solicited event: wakes who asked for solicited only, as every error does
 * @return true, or false when the CQ is full (R43): the CQ is in error from now on, the event is queued,
 *	and the caller puts its QP into the error state
 */
bool uroce_cq_push(struct uroce_cq *cq, const struct ibv_wc *wc, bool solicited);

/** A QP of this engine is going to push to the CQ; not from between engine_enter and engine_exit. */
void uroce_cq_attach(struct uroce_cq *cq, struct uroce_engine *engine);
/** It has pushed its last. */
void uroce_cq_detach(struct uroce_cq *cq);

/* channel.c: queue a completion event; CQ goes away: forget its events, wait for acknowledgements. */
void uroce_cq_notify(struct uroce_cq *cq);
void uroce_cq_forget_comp_events(struct uroce_cq *cq);

#endif /* UROCE_VERBS_CQ_H */
