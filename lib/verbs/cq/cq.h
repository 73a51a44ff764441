/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Completion queues: a ring of work completions, written by the workers of its QPs, read by any thread.
 */

#ifndef UROCE_VERBS_CQ_CQ_H
#define UROCE_VERBS_CQ_CQ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>
#include <rte_common.h>
#include <rte_spinlock.h>

#include "verbs/device/device.h"
#include "base/event_queue.h"
#include "base/timer_wheel.h"

/* req_notify state */
enum uroce_cq_arm {
	UROCE_CQ_UNARMED,
	UROCE_CQ_ARMED_SOLICITED,
	UROCE_CQ_ARMED,
};

/* A ring of entries, replaced as a whole (cq_resize.c). Index i is at i & mask. */
struct uroce_cq_ring {
	struct ibv_wc *wcs;		/* mask + 1 entries */
	uint64_t *stamps;		/* mask + 1, ns of the engine's clock; NULL: not requested */
	uint32_t mask;
	uint32_t capacity;		/* ibv.cqe: the ring may be larger */
};

/* Where the QPs of a CQ belong, if the application drives the workers (lib/port/driven.c). */
struct uroce_cq_place {
	bool fixed;		/* atomic: on the workers that the program has named */
	struct uroce_engine *wanted;	/* atomic: of the thread that polls the CQ; NULL: unknown */
	uint64_t thread;	/* atomic: that has polled the CQ last and found nothing; 0: none */
	uint32_t polls;		/* atomic: consecutive empty polls by this thread */
};

/* Event moderation (cq_moderation.c). */
struct uroce_cq_moderation {
	rte_spinlock_t lock;
	uint16_t count;			/* completions that raise an event; 0: only the period counts */
	uint16_t period_us;		/* from the first completion to the event, at most; 0: no limit */
	uint32_t pending;		/* completions since the last event, while armed */
	uint64_t deadline_ns;		/* end of the period that the first pending completion began */
	struct uroce_timer timer;	/* in the wheel of timer_engine, that engine's thread only */
	struct uroce_engine *timer_engine;	/* NULL: no timer is in a wheel */
};

struct uroce_cq {
	union {
		struct ibv_cq ibv;
		struct ibv_cq_ex ex;	/* of a CQ that was created with ibv_create_cq_ex(3) */
	};
	bool has_stamps;	/* constant */
	uint32_t comp_vector;	/* index of the worker of the QPs that send to it. Constant */
	struct ibv_pd *parent;	/* the parent domain that allocates its ring; NULL: none. Constant */
	/* control, under ibv.mutex */
	uint32_t refs;		/* QPs, send and receive queues (R47) */
	uint32_t producer_refs;	/* of QPs of `producer`; perhaps not all of them, if shared */
	struct uroce_engine *producer;	/* engine of all QPs, unless shared; others: relaxed read */
	struct uroce_event_refs comp_events;	/* under the lock of the channel's event queue */
	struct uroce_event_refs async_events;	/* under the lock of the context's event queue */
	struct uroce_cq_moderation moderation;
	struct uroce_cq_place place;
	TAILQ_ENTRY(uroce_cq) link;	/* dev->cqs, under dev->lock */
	/* producers: engines; under push_lock once there are several */
	rte_spinlock_t push_lock __rte_cache_aligned;
	bool shared;		/* control: rw with the first producer kept out; engines: relaxed read */
	bool overrun;		/* R43: nothing more is accepted. producer: release; consumer: acquire */
	bool ignore_overrun;	/* constant */
	bool has_channel;	/* constant */
	bool moderated;		/* control: rw under moderation.lock; engines: relaxed read */
	uint32_t tail;		/* producer: release; consumer: acquire */
	uint32_t head_seen;	/* head as last read by a producer */
	uint32_t arm;		/* enum uroce_cq_arm; atomic exchange on both sides */
	struct uroce_cq_ring put;	/* the producers' copy */
	/* consumers: any thread, under poll_lock */
	rte_spinlock_t poll_lock __rte_cache_aligned;
	bool single_threaded;	/* constant: without poll_lock */
	uint32_t head;		/* consumer: release; producer: acquire */
	uint32_t next;		/* between start_poll and end_poll: index after the entry being read */
	uintptr_t reader;	/* atomic: the thread between start_poll and end_poll, its pthread_self(); 0: none */
	struct uroce_cq_ring get;	/* the consumers' copy */
	uint64_t wall_offset_ns;	/* between start_poll and end_poll: wall clock minus device clock */
};

/* A completion channel. Its event records are pointers to CQs. */
struct uroce_comp_channel {
	struct ibv_comp_channel ibv;	/* refcnt: number of CQs, under the context's mutex */
	struct uroce_event_queue events;
};

static inline struct uroce_cq *
uroce_cq_of(struct ibv_cq *cq)
{
	return (struct uroce_cq *)cq;
}

static inline struct uroce_cq *
uroce_cq_of_ex(struct ibv_cq_ex *ex)
{
	return container_of(ex, struct uroce_cq, ex);
}

static inline struct uroce_comp_channel *
uroce_comp_channel_of(struct ibv_comp_channel *channel)
{
	return (struct uroce_comp_channel *)channel;
}

static inline bool
uroce_cq_is_empty(const struct uroce_cq *cq)
{
	return __atomic_load_n(&cq->tail, __ATOMIC_RELAXED) == __atomic_load_n(&cq->head, __ATOMIC_RELAXED);
}

/* Is the CQ empty? This takes no lock. If polling a CQ drives the workers (poll_progress), it polls them first. */
static inline bool
uroce_cq_has_nothing(struct uroce_cq *cq)
{
	struct uroce_device *dev;

	if (!uroce_cq_is_empty(cq))
		return false;
	dev = uroce_device_of(cq->ibv.context);
	if (!dev->poll_progress)
		return true;
	dev->ops.worker->poll(dev, cq);
	return uroce_cq_is_empty(cq);
}

/** @return the engine of all QPs of the CQ; NULL: there are QPs of several engines, or has not been a QP yet. Any
 * thread */
static inline struct uroce_engine *
uroce_cq_producer(const struct uroce_cq *cq)
{
	return __atomic_load_n(&cq->shared, __ATOMIC_RELAXED) ? NULL
							       : __atomic_load_n(&cq->producer, __ATOMIC_RELAXED);
}

static inline void
uroce_cq_poll_lock(struct uroce_cq *cq)
{
	if (!cq->single_threaded)
		rte_spinlock_lock(&cq->poll_lock);
}

static inline void
uroce_cq_poll_unlock(struct uroce_cq *cq)
{
	if (!cq->single_threaded)
		rte_spinlock_unlock(&cq->poll_lock);
}

/**
 * Add a completion. The engine's thread. Notifies the channel if the CQ is armed for it.
 * @param solicited	also notify a CQ that is armed for solicited events only, as every error does
 * @return true, or false when the CQ is full (R43): the CQ is in error from now on, the event is queued,
 *	and the caller puts its QP into the error state
 */
bool uroce_cq_push(struct uroce_cq *cq, struct uroce_engine *engine, const struct ibv_wc *wc,
		   bool solicited);

/** Count a QP of this engine as a producer of the CQ; NULL: QPs of any engine. Not between engine_enter and
 * engine_exit. */
void uroce_cq_attach(struct uroce_cq *cq, struct uroce_engine *engine);
/** Drop the count of uroce_cq_attach(), after the last push of the QP, whose engine is this one now. */
void uroce_cq_detach(struct uroce_cq *cq, struct uroce_engine *engine);
/** The QP has pushed for the last time, and its engine may be freed before uroce_cq_detach(cq, NULL). */
void uroce_cq_forget_engine(struct uroce_cq *cq, const struct uroce_engine *engine);

/** A QP with `refs` counts moves to another engine. Under ibv.mutex, in the turns of both engines. */
void uroce_cq_moved(struct uroce_cq *cq, uint32_t refs, struct uroce_engine *from, struct uroce_engine *to);

/** cq_forget.c: remove the completions of a QP that pushes no more. Control thread. Waits for another thread between
 * start_poll and end_poll; the caller itself may be there. */
void uroce_cq_forget_qp(struct uroce_cq *cq, uint32_t qpn);

/* cq.c */
/** Check the attributes and create a CQ. @return NULL and errno */
struct uroce_cq *uroce_cq_create(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr);
/** @param pd a parent domain, or NULL. @return 0 or ENOMEM */
int uroce_cq_ring_init(const struct uroce_device *dev, struct ibv_pd *pd, struct uroce_cq_ring *ring, uint32_t capacity,
		       bool stamps);

/* cq_moderation.c */
/** Count a completion that the CQ is armed for, and raise the event if it is due. The engine's thread. */
void uroce_cq_moderate(struct uroce_cq *cq, struct uroce_engine *engine);
/** The timer has fired and is no longer in the wheel. The engine's thread. */
void uroce_cq_timeout(struct uroce_timer *timer, struct uroce_engine *engine);
/** Move the CQ's timer to another engine, if it is in the wheel of `from`. In the turns of both engines. */
void uroce_cq_moderation_move(struct uroce_cq *cq, struct uroce_engine *from, struct uroce_engine *to);
/** Remove the CQ's timer from its wheel. Control thread, when no engine pushes any more. */
void uroce_cq_moderation_fini(struct uroce_cq *cq);

/* channel.c: queue a completion event; before a CQ is destroyed, drop its events and wait for acknowledgements. */
void uroce_cq_notify(struct uroce_cq *cq);
void uroce_cq_forget_comp_events(struct uroce_cq *cq);

#endif /* UROCE_VERBS_CQ_CQ_H */
