/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Queue pairs: the object, its two work queues, and room for the state of its requester and responder, which
 * lib/transport defines. Fields are grouped by the thread that writes them.
 */

#ifndef UROCE_VERBS_QP_QP_H
#define UROCE_VERBS_QP_QP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>
#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_prefetch.h>
#include <rte_spinlock.h>

#include "mem/mw.h"
#include "verbs/device/device.h"
#include "verbs/cq/cq.h"
#include "verbs/qp/bells.h"
#include "verbs/qp/history.h"
#include "wire/headers.h"
#include "uroce_config.h"

/* A send WQE. The worker writes only the fields below `worker`. Scatter/gather entries or inline data follow. */
struct uroce_sqe {
	uint64_t wr_id;
	union {
		struct {		/* WRITE, READ, atomics */
			uint64_t remote_addr;
			uint64_t compare_add;
			uint64_t swap;
		};
		struct {		/* UD; the WQE holds a reference to the handle */
			struct uroce_ah *ah;
			uint32_t remote_qpn;
			uint32_t qkey;
		} ud;
		struct {		/* BIND_MW */
			uint64_t addr;
			uint64_t length;
			const struct uroce_mw *mw;
		} bind;
	};
	uint32_t rkey;			/* BIND_MW: the new one; LOCAL_INV: the old one */
	uint32_t imm;			/* network byte order; the rkey of SEND_WITH_INV; FLUSH: its FETH */
	uint32_t length;		/* of the message, bytes */
	uint8_t opcode;			/* enum ibv_wr_opcode */
	uint8_t flags;			/* enum ibv_send_flags; SIGNALED also for sq_sig_all */
	uint8_t num_sge;		/* 0 with IBV_SEND_INLINE */
	uint8_t posted_status;		/* enum ibv_wc_status of the completion, from the checks at posting */
	/* worker */
	union {
		struct {
			uint32_t first_psn;
			uint32_t psn_count;	/* one PSN for each packet, or for each response packet of a READ */
		};
		uint64_t grace;		/* BIND_MW, LOCAL_INV: token of the grace period that it waits for, or 0 */
	};
	/* poster */
	uint32_t bind_access;		/* BIND_MW: enum ibv_access_flags */
	union {
		uint32_t bind_lkey;	/* BIND_MW: of the region */
		uint32_t remote_srqn;	/* XRC: number of the peer's SRQ */
	};
	struct ibv_sge sge[];
};

static_assert(sizeof(struct uroce_sqe) == 64, "a send WQE's head is one cache line");

struct uroce_rqe {
	uint64_t wr_id;
	uint32_t length;		/* sum of its entries, bytes */
	uint32_t num_sge;
	struct ibv_sge sge[];
};

struct uroce_qp;

/* A work queue's ring. Indices run freely; entry i is at (i & mask) * stride. The fields that posters write share a
 * cache line with constant fields, because their readers need both. */
struct uroce_wq {
	uint8_t *ring;
	uint32_t mask;
	uint32_t stride;		/* bytes */
	uint32_t capacity;		/* max_send_wr or max_recv_wr granted, at most mask + 1 */
	uint8_t max_sge;
	bool single_threaded;		/* posted to in a thread domain: without lock. Constant */
	uint16_t max_inline;		/* bytes, send queue only */
	/* posters: any thread, under lock */
	rte_spinlock_t lock;
	uint32_t tail;			/* poster: release; worker: acquire */
	uint32_t head_seen;		/* head as last read by a poster */
	/* send queue only, any thread: the doorbell queue holds a QP once */
	uint32_t rung;			/* atomic exchange */
	struct uroce_qp *doorbell_next;
	struct uroce_bells *bells;	/* of the thread domain; NULL: none. Changed when the QP moves; atomic */
	const struct ibv_pd *pd;	/* the protection domain of its memory, no parent domain. Constant */
	/* worker */
	uint32_t head __rte_cache_aligned;	/* worker: release; poster: acquire. Oldest in use */
} __rte_cache_aligned;

static_assert(UROCE_MAX_SGE <= UINT8_MAX, "uroce_wq.max_sge");

static inline void
uroce_wq_lock(struct uroce_wq *wq)
{
	if (!wq->single_threaded)
		rte_spinlock_lock(&wq->lock);
}

/* A plain store: rte_spinlock_unlock() is an atomic exchange on x86, which costs as much as taking the lock. */
static inline void
uroce_wq_unlock(struct uroce_wq *wq)
{
	if (!wq->single_threaded) /* pairs with rte_spinlock_lock() */
		__atomic_store_n(&wq->lock.locked, 0, __ATOMIC_RELEASE);
}

static inline struct uroce_sqe *
uroce_sqe_at(const struct uroce_wq *wq, uint32_t i)
{
	return (struct uroce_sqe *)(wq->ring + (size_t)(i & wq->mask) * wq->stride);
}

/* Prefetch a send WQE's head, and its first entries or inline data. */
static inline void
uroce_sqe_prefetch(const struct uroce_wq *wq, uint32_t i)
{
	const struct uroce_sqe *sqe = uroce_sqe_at(wq, i);

	rte_prefetch0(sqe);
	rte_prefetch0(sqe->sge);
}

static inline struct uroce_rqe *
uroce_rqe_at(const struct uroce_wq *wq, uint32_t i)
{
	return (struct uroce_rqe *)(wq->ring + (size_t)(i & wq->mask) * wq->stride);
}

static inline uint64_t
uroce_sge_bytes(const struct ibv_sge *sge, int num_sge)
{
	uint64_t bytes = 0;

	for (int i = 0; i < num_sge; i++)
		bytes += sge[i].length;
	return bytes;
}

/* Is entry `tail` free? Under the queue's lock. */
static inline bool
uroce_wq_has_room(struct uroce_wq *wq, uint32_t tail)
{
	if (likely(tail - wq->head_seen < wq->capacity))
		return true;
	/* pairs with the worker's release: it has finished the entries before head */
	wq->head_seen = __atomic_load_n(&wq->head, __ATOMIC_ACQUIRE);
	return tail - wq->head_seen < wq->capacity;
}

/* Sizes of structs that lib/transport defines; it asserts them. */
#define UROCE_QP_TRANSPORT_BYTES 224		/* the state of requester and responder */
#define UROCE_RD_ATOMIC_BYTES 80		/* an entry of the ring of READs and atomics that the responder keeps */

/* Flags: the places where a QP's engine lists it. */
enum uroce_qp_listed {
	UROCE_QP_ACTIVE = 1,		/* in the active list */
	UROCE_QP_RATED = 2,		/* congestion control paces it */
	UROCE_QP_WAITING = 4,		/* in the list of the QPs that wait for their budget */
	UROCE_QP_LATER = 8,		/* in the list of the next round */
	/* of the budget (lib/transport/requester/budget.c) */
	UROCE_QP_GRANTED = 16,		/* it has waited, and may send in its next turn */
	UROCE_QP_BULK = 32,		/* its packets count */
	UROCE_QP_SILENT = 64,		/* they do not count until the peer answers again */
};

/* Work requests that are being built (wr.c). Under sq.lock, from wr_start to wr_complete or wr_abort. */
struct uroce_wr {
	struct uroce_sqe *sqe;		/* the latest WQE; NULL: none, or a request was invalid */
	uint32_t tail;			/* index after the latest WQE */
	int16_t error;			/* errno; 16 bits leave room in the cache line for a larger struct ibv_qp_ex */
	uint8_t needs;
	bool binds;			/* one of the requests binds a window */
};

struct uroce_xrc_target;

struct uroce_qp {
	union {
		struct ibv_qp ibv;	/* mutex: one control call at a time */
		struct ibv_qp_ex ex;	/* of a QP that was created with ibv_create_qp_ex(3) */
	};
	struct uroce_wr wr;
	struct uroce_xrc_target *target;	/* XRC_RECV only. Constant */
	struct uroce_wq rq;		/* with an SRQ: one entry, for the WQE that a message has taken */
	struct ibv_qp_attr attr;	/* as set by modify; under engine_enter */
	struct ibv_qp_cap cap;		/* granted */
	struct uroce_event_refs events;	/* under the lock of the context's event queue */
	uint16_t mcast_groups;		/* number of groups that it is attached to; under dev->mcast.lock (R49) */
	bool mcast_block_self;		/* it does not receive its own multicasts; constant once it is in a group */
	TAILQ_ENTRY(uroce_qp) ack_link;	/* worker: QPs whose ACKs found the engine's ring full */
	struct uroce_qp *failed_next;	/* worker: next of the QPs that the engine has to flush */
	int failed_event;		/* worker: event to raise after the flush, or UROCE_NO_EVENT */
	uint32_t rd_atomics;		/* entries of the responder's ring of READs and atomics; under engine_enter */
	uint64_t cnp_ns;		/* worker: when the last CNP was sent for it */
	struct uroce_qp_history history;	/* worker */

	/* Packets use the fields from here on: uroce_qp_prefetch_constant(). First those that only modify changes. */
	struct uroce_device *dev __rte_cache_aligned;
	struct uroce_engine *engine;	/* set by qp_attach, changed only in the turns of both engines; see uroce_qp_engine() */
	struct uroce_mw_owner windows;	/* type 2 windows that are bound to it */
	uint32_t mtu_bytes;
	uint32_t state;			/* enum ibv_qp_state; worker: rw, posters: relaxed read */
	/* the worker's copies of fields of attr */
	uint32_t dest_qpn;
	uint16_t access;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t transport;		/* enum uroce_transport of its packets; constant */
	uint8_t opcode_base;		/* added to RC's opcodes: not 0 for XRC and UC; constant */
	bool sq_sig_all;		/* constant */
	struct uroce_rate *rate;	/* set by congestion control; NULL: no limit */
	struct uroce_path path;

	struct uroce_wq sq;

	/* worker */
	TAILQ_ENTRY(uroce_qp) active_link __rte_cache_aligned;
	uint8_t listed;
	/* state of lib/transport/responder/ack.c, here because it fits into this cache line */
	uint8_t ack_place;		/* enum uroce_ack_place */
	bool recv_taken : 1;		/* rqe at rq.head is in use by a message */
	bool reply_pending : 1;		/* a WRITE has arrived, and the application has posted nothing since */
	uint8_t reply_score;		/* rises with each WRITE that the application replies to soon, else halves */
	uint32_t written_ns;		/* arrival of that WRITE, lower 32 bits */
	uint64_t transport_state[UROCE_QP_TRANSPORT_BYTES / sizeof(uint64_t)];	/* lib/transport/qp/state.h */
	/* The SRQ of the receive WQEs; NULL: the QP's own queue. XRC: the SRQ that the last request named; a control
	 * thread that destroys the SRQ sets this to NULL, in the worker's turn. */
	struct uroce_srq *recv_srq;
};

static_assert(sizeof(struct uroce_qp) <= UROCE_QP_BYTES,
	      UROCE_QP_BYTES_WHY);

/** Prefetch the fields of a QP that packets need and only modify changes: number, domain, CQs, and the first of the
 * others. */
static inline void
uroce_qp_prefetch_constant(const struct uroce_qp *qp)
{
	rte_prefetch0(&qp->ibv);
	rte_prefetch0(&qp->dev);
}

/** Prefetch the other fields that packets need, but no queue entries: the path's headers, and the worker's fields. */
static inline void
uroce_qp_prefetch_variable(const struct uroce_qp *qp)
{
	for (size_t at = offsetof(struct uroce_qp, dev) + RTE_CACHE_LINE_SIZE; at < sizeof(*qp);
	     at += RTE_CACHE_LINE_SIZE)
		rte_prefetch0((const uint8_t *)qp + at);
}

static inline struct uroce_qp *
uroce_qp_of(struct ibv_qp *qp)
{
	return (struct uroce_qp *)qp;
}

/** @return the QP's engine. Any thread; it stays the QP's engine while the calling thread runs it. */
static inline struct uroce_engine *
uroce_qp_engine(const struct uroce_qp *qp)
{
	return __atomic_load_n(&qp->engine, __ATOMIC_RELAXED);
}

/** Enter the QP's engine: until uroce_qp_exit() the calling thread runs it. Control threads, not recursive. */
void uroce_qp_enter(struct uroce_qp *qp);
void uroce_qp_exit(struct uroce_qp *qp);

/** @return the transport of a type of QP; UROCE_TRANSPORT_NONE: the type is not supported */
uint8_t uroce_qp_transport(enum ibv_qp_type type);

/** uroce_create_qp() with a given QPN: UROCE_GSI_QPN, or 0 to draw one. errno may also be EEXIST: the QPN is in use. */
struct ibv_qp *uroce_qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr *init_attr, uint32_t qpn);

/** Prefetch the entry that uroce_qp_lookup_unchecked() reads. */
static inline void
uroce_qp_lookup_prefetch(const struct uroce_device *dev, uint32_t qpn)
{
	rte_prefetch0(&dev->qps.qps[uroce_slots_index(dev->qps.log2, 24, qpn & 0xffffff)]);
}

/** The QP in the table's slot for this number, or NULL; its number may differ. Worker, within a poll. */
static inline struct uroce_qp *
uroce_qp_lookup_unchecked(const struct uroce_device *dev, uint32_t qpn)
{
	/* pairs with the release in publish() of qp.c */
	return __atomic_load_n(&dev->qps.qps[uroce_slots_index(dev->qps.log2, 24, qpn & 0xffffff)],
			       __ATOMIC_ACQUIRE);
}

/** The QP of this number, or NULL. Worker, within a poll. */
static inline struct uroce_qp *
uroce_qp_lookup(const struct uroce_device *dev, uint32_t qpn)
{
	struct uroce_qp *qp = uroce_qp_lookup_unchecked(dev, qpn);

	if (likely(qp != NULL && qp->ibv.qp_num == qpn))
		return qp;
	/* no QP in the table has this number; pairs with the release in publish() of qp.c */
	return qpn == UROCE_GSI_QPN ? __atomic_load_n(&dev->qps.gsi, __ATOMIC_ACQUIRE) : NULL;
}

/** Is the transition allowed, and does the mask have what it needs and nothing else? (R45)
 * @return 0 or EINVAL */
int uroce_qp_transition_check(enum ibv_qp_state from, enum ibv_qp_state to, enum ibv_qp_type type,
			      int attr_mask);

#endif /* UROCE_VERBS_QP_QP_H */
