/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Functions for QPs of all transports: turns to send, WQEs, and the transition to the error state. On the engine's
 * thread.
 *
 *	state.h		the state of a QP's requester and responder
 *	turns.h		the lists of QPs that get a turn to send
 *	send.c		completes, flushes and fails send WQEs
 *	recv.c		takes receive WQEs, from the QP's queue or an SRQ; completes, flushes and fails them
 *	failure.c	marks a QP as failed, raises its events, traces why
 *	errors.c	counts completions with an error
 */

#ifndef UROCE_TRANSPORT_QP_QP_H
#define UROCE_TRANSPORT_QP_QP_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "base/trace.h"
#include "transport/engine.h"
#include "uroce_config.h"
#include "uroce_verbs.h"
#include "transport/qp/state.h"
#include "verbs/qp/qp.h"
#include "verbs/srq/srq.h"
#include "wire/packet.h"
#include "wire/psn.h"


/* recv.c: receive WQEs, from the QP's queue or an SRQ */
/** Move one WQE from the SRQ to the empty receive queue of the QP. @return false: the QP has no SRQ, or it is empty */
bool uroce_recv_take_shared(struct uroce_qp *qp);
/** Complete the oldest receive WQE. @return false: the CQ has overrun (R43), and the QP has failed */
bool uroce_qp_complete_recv(struct uroce_engine *e, struct uroce_qp *qp, struct ibv_wc *wc, bool solicited);

void uroce_qp_flush_recvs(struct uroce_engine *e, struct uroce_qp *qp);
/** Complete the oldest receive WQE with an error, because its memory is not writable, and fail the QP. */
void uroce_qp_fail_recv(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status);

/* send.c */
/** Remove the oldest send WQE from the queue, with a completion if it is signaled or has failed (R42). */
void uroce_qp_complete_send(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status);
void uroce_qp_flush_sends(struct uroce_engine *e, struct uroce_qp *qp);
/** To be called before the application may reuse the buffers of requests that the peer may not have read. */
static inline void
uroce_qp_revoke(struct uroce_qp *qp)
{
	const struct uroce_port_ops *port = qp->dev->ops.port;

	if (port != NULL && port->revoke != NULL)
		port->revoke(qp);
}
/** Fail the oldest send WQE and the QP; all other WQEs are flushed (R41). */
void uroce_qp_fail_send(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status);
/** UC and UD: fail the oldest send WQE, flush the others, and move the QP to SQE, in which it only receives. */
void uroce_qp_fail_sends(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status);

/* errors.c: count a completion with an error status */
void uroce_count_send_error(struct uroce_engine *e, enum ibv_wc_status status) __rte_cold;
void uroce_count_recv_error(struct uroce_engine *e, enum ibv_wc_status status) __rte_cold;

/* failure.c */
/** Trace a change of state, and the cause of a failure. */
void uroce_qp_trace(const struct uroce_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to);
#define UROCE_NO_EVENT (-1)
/** Move the QP to the error state, unless it is in it. After the caller has returned, the engine flushes all WQEs and
 * raises the event. @param event	enum ibv_event_type, or UROCE_NO_EVENT */
void uroce_qp_fail(struct uroce_engine *e, struct uroce_qp *qp, int event);
/** R43: a full CQ has lost a completion of the QP: fail the QP. */
void uroce_qp_overrun(struct uroce_engine *e, struct uroce_qp *qp);
/** The peer's first request has arrived at a QP in RTR: raise IBV_EVENT_COMM_EST, once. */
void uroce_qp_established(struct uroce_qp *qp);
/** A QP with an SRQ has entered the error state: raise IBV_EVENT_QP_LAST_WQE_REACHED. */
void uroce_qp_last_wqe(struct uroce_qp *qp);
void uroce_qp_event(struct uroce_qp *qp, enum ibv_event_type type);
/** In SQD: raise IBV_EVENT_SQ_DRAINED once all started WQEs are complete, if the application requested it. */
void uroce_qp_drained(struct uroce_qp *qp);

static inline void
uroce_count(struct uroce_engine *e, enum uroce_engine_counter c, uint64_t n)
{
	/* one writer; readers on other threads see whole values */
	__atomic_store_n(&e->counters[c], e->counters[c] + n, __ATOMIC_RELAXED);
}

static inline void
uroce_count_verdict(struct uroce_engine *e, enum uroce_verdict v)
{
	__atomic_store_n(&e->verdicts[v], e->verdicts[v] + 1, __ATOMIC_RELAXED);
}

/** R21: the receive WQE of the current message, which uses it until its last packet. @return NULL: no WQE is posted */
static inline const struct uroce_rqe *
uroce_recv_take(struct uroce_qp *qp)
{
	if (!qp->recv_taken) {
		/* pairs with the release in uroce_post_recv() */
		if (unlikely(qp->rq.head == __atomic_load_n(&qp->rq.tail, __ATOMIC_ACQUIRE)) &&
		    !uroce_recv_take_shared(qp))
			return NULL;
		qp->recv_taken = true;
	}
	return uroce_rqe_at(&qp->rq, qp->rq.head);
}

static inline void
uroce_recv_immediate(const struct uroce_packet *p, struct ibv_wc *wc)
{
	if (p->info->ext[UROCE_EXT_IMMDT] != 0) {
		wc->wc_flags |= IBV_WC_WITH_IMM;
		wc->imm_data = ((const struct uroce_immdt *)uroce_packet_ext(p, UROCE_EXT_IMMDT))->imm;
	}
}

/** @return the protection domain of receive WQEs' memory */
static inline const struct ibv_pd *
uroce_recv_pd(const struct uroce_qp *qp)
{
	return likely(qp->recv_srq == NULL) ? qp->rq.pd : qp->recv_srq->wq.pd;
}

/** @return the protection domain of a READ; NULL: none. A READ of an XRC target has the domain of its SRQ, and none
 * after the SRQ was destroyed. */
static inline const struct ibv_pd *
uroce_read_pd(const struct uroce_qp *qp, const struct uroce_rd_atomic *r)
{
	const struct uroce_srq *srq;

	if (likely(qp->sq.pd != NULL))
		return qp->sq.pd;
	srq = uroce_srq_lookup(qp->dev, r->srqn);
	return srq != NULL ? srq->wq.pd : NULL;
}

/** @return the protection domain for the peer's keys */
static inline const struct ibv_pd *
uroce_rkey_pd(const struct uroce_qp *qp)
{
	/* an XRC target has no domain: use that of the request's SRQ */
	return likely(qp->sq.pd != NULL) ? qp->sq.pd : qp->recv_srq->wq.pd;
}

static inline uint32_t
uroce_message_packets(const struct uroce_qp *qp, uint32_t length)
{
	/* the path MTU is a power of two */
	return length == 0 ? 1 : (uint32_t)(((uint64_t)length + qp->mtu_bytes - 1) >> __builtin_ctz(qp->mtu_bytes));
}

/** Flush all WQEs of a QP in the error state. */
static inline void
uroce_qp_flush(struct uroce_engine *e, struct uroce_qp *qp)
{
	uroce_qp_flush_sends(e, qp);
	uroce_qp_flush_recvs(e, qp);
}

/* Sets of work requests' opcodes. */
#define UROCE_WR_ATOMICS (1u << IBV_WR_ATOMIC_CMP_AND_SWP | 1u << IBV_WR_ATOMIC_FETCH_AND_ADD)
#define UROCE_WR_SENDS (1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM | 1u << IBV_WR_SEND_WITH_INV)
/* opcodes whose message uses a receive WQE of the peer */
#define UROCE_WR_RECEIVES (UROCE_WR_SENDS | 1u << IBV_WR_RDMA_WRITE_WITH_IMM)
#define UROCE_WR_PLACEMENTS (1u << IBV_WR_FLUSH | 1u << IBV_WR_ATOMIC_WRITE)
#define UROCE_WR_LOCALS (1u << IBV_WR_BIND_MW | 1u << IBV_WR_LOCAL_INV)
/* opcodes with one request packet and one response packet */
#define UROCE_WR_SINGLES (UROCE_WR_ATOMICS | UROCE_WR_PLACEMENTS)
/* opcodes whose requests are answered by responses, not by ACKs (R37) */
#define UROCE_WR_RD_ATOMICS (UROCE_WR_SINGLES | 1u << IBV_WR_RDMA_READ)

static inline bool
uroce_wr_is(uint8_t wr_opcode, uint32_t set)
{
	return (set >> wr_opcode & 1) != 0;
}

static inline bool
uroce_is_atomic(uint8_t wr_opcode)
{
	return uroce_wr_is(wr_opcode, UROCE_WR_ATOMICS);
}

static inline bool
uroce_is_rd_atomic(uint8_t wr_opcode)
{
	return uroce_wr_is(wr_opcode, UROCE_WR_RD_ATOMICS);
}

/* R14: does the payload have the length that the packet's place in the message requires? */
static inline bool
uroce_payload_fits(const struct uroce_qp *qp, const struct uroce_packet *p)
{
	if (!(p->info->flags & UROCE_OPF_PAYLOAD))
		return p->payload_bytes == 0;
	if (!(p->info->flags & UROCE_OPF_LAST))
		return p->payload_bytes == qp->mtu_bytes;
	if (!(p->info->flags & UROCE_OPF_FIRST) && p->payload_bytes == 0)
		return false;
	return p->payload_bytes <= qp->mtu_bytes;
}

/* R16: is DMALen at most 2^31 bytes, and the sum of the packets' payloads? */
static inline bool
uroce_dma_length_fits(const struct uroce_responder *resp, const struct uroce_packet *p)
{
	uint64_t placed = (uint64_t)resp->offset + p->payload_bytes;

	if (resp->length > UROCE_MAX_MSG_BYTES)
		return false;
	return p->info->flags & UROCE_OPF_LAST ? placed == resp->length : placed < resp->length;
}

#endif /* UROCE_TRANSPORT_QP_QP_H */
