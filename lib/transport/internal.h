/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What the files of lib/transport share. All of it runs on the engine's one thread.
 *
 *	engine.c	bursts in, bursts out, doorbells, timers: whose turn it is
 *	responder.c	requests of the peer: R10 as a pipeline
 *	duplicate.c	duplicate requests
 *	held.c		ACKs deferred until the next message or the next round
 *	awaited.c	ACKs deferred until the application's answer
 *	early.c		the reorder buffer for out-of-order requests
 *	response.c	the answers that are owed
 *	requester.c	send WQEs into request packets, and back from a PSN
 *	completer.c	answers of the peer: progress, retries, completions
 *	recovery.c	what is missing is sent again, and only that
 *	sack.c		which the peer says
 *	trial.c		... or shows
 *	rtt.c		round trips, and when to ask
 *	recv.c		receive WQEs, taken and completed
 *	uc_receive.c	unreliable connections: messages whole or not at all
 *	uc_send.c
 *	ud_receive.c	unreliable datagrams, with their GRH
 *	ud_send.c	to address handles
 *	failure.c	a QP's way into the error state
 *	errors.c	... and what is counted of requests that fail
 *	local.c		send WQEs that never leave: windows bound and invalidated
 *	placement.c	FLUSH and ATOMIC_WRITE, both ends
 *	congestion.c	CNPs for what comes marked
 *	dcqcn.c		the rate that CNPs make of it
 *	pacer.c		turns by a rate
 *	frame.c		headers, payload and ICRC of one packet
 *	small.c		... of a message of few bytes, in one go
 *	run.c		packets from the middle of a message, many in one go
 */

#ifndef UROCE_TRANSPORT_INTERNAL_H
#define UROCE_TRANSPORT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "base/trace.h"
#include "transport/early.h"
#include "transport/engine.h"
#include "uroce_config.h"
#include "uroce_planted.h"
#include "uroce_verbs.h"
#include "verbs/qp/qp.h"
#include "verbs/srq/srq.h"
#include "wire/packet.h"
#include "wire/psn.h"

/* Bytes of a message: a slice of a list of scatter/gather entries, as one side may access it. */
struct uroce_slice {
	const struct ibv_sge *sge;
	uint32_t num_sge;
	uint32_t offset;
	uint32_t length;
	uint32_t access;	/* enum ibv_access_flags that the keys must have */
	const struct ibv_pd *pd;	/* of the keys; NULL: the QP's */
	bool copy;		/* the memory may change before the frame leaves: copy it */
	bool only_stable;	/* reference the memory only if the region is stable */
};

/* frame.c: one packet in the making */
struct uroce_frame {
	struct rte_mbuf *head;
	struct rte_mbuf *tail;
	const struct uroce_path *path;
	uint32_t pad;			/* bytes, R4 */
	struct uroce_bth *bth;
	uint8_t *ext;			/* behind the BTH */
};

/** @return 0; -ENOBUFS: a pool is empty; -EACCES: a key of the slice does not allow it. `bytes` instead of a
 * slice is inline data. On error nothing is held. The BTH is written; extension headers are the caller's. */
int uroce_frame_begin_to(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_path *path,
			 uint32_t dest_qpn, uint8_t opcode, uint8_t bth_flags, bool ack_req, uint32_t psn,
			 const struct uroce_slice *slice, const uint8_t *bytes, struct uroce_frame *f);
/** Append pad and ICRC: the frame is ready for uroce_engine_send()'s caller. */
struct rte_mbuf *uroce_frame_end(struct uroce_engine *e, struct uroce_frame *f);

/** The same to the QP that this one is connected to. */
static inline int
uroce_frame_begin(struct uroce_engine *e, const struct uroce_qp *qp, uint8_t opcode, uint8_t bth_flags,
		  bool ack_req, uint32_t psn, const struct uroce_slice *slice, const uint8_t *bytes,
		  struct uroce_frame *f)
{
	return uroce_frame_begin_to(e, qp, &qp->path, qp->dest_qpn, opcode, bth_flags, ack_req, psn,
				    slice, bytes, f);
}

/** Copy a packet's payload to the slice. @return 0 or -EACCES: nothing was written */
int uroce_slice_scatter(const struct uroce_qp *qp, const struct uroce_slice *slice,
			const struct uroce_packet *packet);
/** The same from slice->length bytes. */
int uroce_slice_write(const struct uroce_qp *qp, const struct uroce_slice *slice, const uint8_t *bytes);

/* engine.c */
void uroce_qp_activate(struct uroce_engine *e, struct uroce_qp *qp);
/** Give the QP a turn in the next call of uroce_engine_send(), not in this one. */
void uroce_qp_activate_later(struct uroce_engine *e, struct uroce_qp *qp);
/** One turn, whatever its rate. @return how many frames it made */
unsigned int uroce_qp_turn(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames,
			   unsigned int room);

/* held.c */
/** Defer a plain ACK to the next message or round. If the ring is full, all ACKs are due at once. */
void uroce_held_add(struct uroce_engine *e, struct uroce_qp *qp);
/** The slow part of uroce_acks_block(). */
bool uroce_held_blocks(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe);

static inline bool
uroce_held_any(const struct uroce_engine *e)
{
	return e->held_head != e->held_tail;
}

/** Must an owed ACK leave before the QP's next message, which may have been posted after the ACK became owed? Then the
 * turn ends here, and the engine sends the ACKs before it continues the turn. */
static inline bool
uroce_acks_block(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	if (likely(!uroce_held_any(e) && !qp->resp.ack_owed))
		return false;
	return uroce_held_blocks(e, qp, sqe);
}
void uroce_held_remove(struct uroce_engine *e, struct uroce_qp *qp);

/* awaited.c: only of an engine that awaits answers, but for the second. */
/** An acknowledgement is owed. @param p	the request that it is for; NULL: another reason
 * @return false: it does not wait for an answer */
bool uroce_awaited_add(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
void uroce_awaited_remove(struct uroce_engine *e, struct uroce_qp *qp);
/** Stop waiting for the answer: the ACK leaves like any other. */
void uroce_awaited_release(struct uroce_engine *e, struct uroce_qp *qp);
/** The application has posted something to the QP, which is about to have its turn. */
void uroce_awaited_post(struct uroce_engine *e, struct uroce_qp *qp);
/** Those who have waited for long do not wait any more. */
void uroce_awaited_expire(struct uroce_engine *e);

/* congestion.c */
/** The network has marked a packet of which this has become. */
void uroce_congestion_marked(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p,
			     enum uroce_verdict verdict);

/* responder.c */
enum uroce_verdict uroce_responder_receive(struct uroce_engine *e, struct uroce_qp *qp,
					   const struct uroce_packet *p);
/** The peer asks what has come, and understands a SACK. */
enum uroce_verdict uroce_responder_ask(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
void uroce_responder_reset(struct uroce_qp *qp);
/** R10, of a request with the expected PSN. @return UROCE_OK, or why it was not executed: nothing is answered yet */
enum uroce_verdict uroce_responder_execute(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
enum uroce_verdict uroce_responder_executed(struct uroce_engine *e, struct uroce_qp *qp,
					    const struct uroce_packet *p, uint32_t psns);
/** R22: are there as many READs and atomics under way as may be? */
bool uroce_rd_atomic_full(const struct uroce_qp *qp);
/** The entry for a new one. */
struct uroce_rd_atomic *uroce_rd_atomic_add(struct uroce_responder *resp);

/* duplicate.c */
/** A request before the expected PSN. */
enum uroce_verdict uroce_duplicate_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
/** Planted: what executing it again does to memory and receives, not to the state of the responder. */
void uroce_duplicate_execute(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);

/* placement.c: FLUSH and ATOMIC_WRITE. Requests and responses return 0 or as uroce_frame_begin(); the responses also
 * -EAGAIN: it is not done yet. */
int uroce_flush_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
			struct rte_mbuf **out);
int uroce_atomic_write_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
			       struct rte_mbuf **out);
enum uroce_verdict uroce_flush_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
enum uroce_verdict uroce_atomic_write_receive(struct uroce_engine *e, struct uroce_qp *qp,
					      const struct uroce_packet *p);
int uroce_placement_response(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_rd_atomic *r,
			     struct rte_mbuf **out);

/* small.c */
/** Is the WQE, which has its PSNs, for uroce_small_packet()? */
static inline bool
uroce_is_small(const struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	return (sqe->flags & IBV_SEND_INLINE) && sqe->psn_count == 1 &&
	       (sqe->opcode == IBV_WR_RDMA_WRITE || sqe->opcode == IBV_WR_SEND) && sqe->length <= UROCE_SMALL_BYTES &&
	       qp->transport == UROCE_TRANSPORT_RC;
}
/** @return NULL: the pool is empty */
struct rte_mbuf *uroce_small_packet(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_sqe *sqe,
				    bool ack_req);

/* run.c: several packets that go without AckReq, or extension headers, and whose payloads are attached.
 * @return	how many; 0: nothing has changed, and they are to be made one by one */
/** Of a WQE from req.offset on, where a packet goes that is not the first. `window`: how many more may be unanswered */
unsigned int uroce_run_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
			       uint32_t window, struct rte_mbuf **frames, unsigned int room);
/** Make responses, from r->next on, of a READ whose responses reference the memory. */
unsigned int uroce_run_response(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_rd_atomic *r,
				struct rte_mbuf **frames, unsigned int room);

/* local.c */
/** Execute the WQE, which is the next one. @param status	unless IBV_WC_SUCCESS, nothing has changed
 * @return false: it is not complete yet, and the QP gets another turn in the next round */
bool uroce_local_execute(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_sqe *sqe,
			 enum ibv_wc_status *status);

/* response.c: both return how many frames they made. */
unsigned int uroce_response_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames,
				 unsigned int room);
bool uroce_response_pending(const struct uroce_qp *qp);
/** Is what it would send next an acknowledgement or NAK? */
bool uroce_response_is_ack(struct uroce_qp *qp);
/** @param p	the request that asks for it; NULL: another reason */
void uroce_response_ack(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
/** An acknowledgement is owed that names what came early. */
void uroce_response_sack(struct uroce_engine *e, struct uroce_qp *qp);
/** A READ or atomic response that is to come acknowledges all before it. */
void uroce_response_supersede_ack(struct uroce_qp *qp);
void uroce_response_nak(struct uroce_engine *e, struct uroce_qp *qp, uint8_t syndrome, uint32_t psn);

/* requester.c */
unsigned int uroce_requester_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames,
				  unsigned int room);
void uroce_requester_reset(struct uroce_qp *qp, uint32_t psn);
/** One packet of a SEND or WRITE, from req.offset of the WQE; what of it is copied, the application may change once
 * it has been cut. @return as uroce_frame_begin() */
int uroce_data_packet(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, bool ack_req,
		      bool copy, struct rte_mbuf **out);
/** Send again from a PSN that has been sent; or catch up with one that is ahead. */
void uroce_requester_seek(struct uroce_qp *qp, uint32_t psn);
/** Transport timeout from now on, if anything is outstanding. */
void uroce_requester_arm(struct uroce_engine *e, struct uroce_qp *qp);

/** One packet again: that of a SEND or WRITE, an atomic, or a READ of so many PSNs. @return as uroce_frame_begin() */
int uroce_requester_again(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t psn,
			  uint32_t psns, struct rte_mbuf **out);

/* What an answer of the peer is. */
enum uroce_answer {
	UROCE_ANSWER_ACK,
	UROCE_ANSWER_NAK,	/* PSN sequence error */
	UROCE_ANSWER_REFUSAL,	/* any other NAK: the request fails */
	UROCE_ANSWER_RNR_NAK,
	UROCE_ANSWER_RESPONSE,
};

/* recovery.c */
int uroce_recoveries_init(struct uroce_recoveries *r, int numa_node);
void uroce_recoveries_fini(struct uroce_recoveries *r);
/** The QP's, a new one if it has none. NULL: none is left, or the device or QP goes back N. */
struct uroce_recovery *uroce_recovery_begin(struct uroce_engine *e, struct uroce_qp *qp);
/** Forget everything, if there is anything. */
void uroce_recovery_end(struct uroce_engine *e, struct uroce_qp *qp);
/* The rest, but for the last, only while there is one. PSNs are from unacked to max_psn. */
/** The peer has n requests from psn on. */
void uroce_recovery_sacked(struct uroce_qp *qp, uint32_t psn, uint32_t n);
/** All before `expected` has been executed; responses before `answered` have come or are lost. */
void uroce_recovery_heard(struct uroce_qp *qp, uint32_t expected, uint32_t answered);
/** The peer has told all that it has before psn. */
void uroce_recovery_asked(struct uroce_qp *qp, uint32_t psn);
/** The peer has not got this one. */
void uroce_recovery_missing(struct uroce_qp *qp, uint32_t psn);
/** The peer may have forgotten what it has told: requests count as not heard of. */
void uroce_recovery_forget_requests(struct uroce_qp *qp);
/** A response is placed. False: it has been already, or is too far ahead to be remembered. */
bool uroce_recovery_place(struct uroce_qp *qp, uint32_t psn);
bool uroce_recovery_placed(struct uroce_qp *qp, uint32_t psn);
/** How far the oldest WQE is answered, from unacked on. */
uint32_t uroce_recovery_reached(struct uroce_qp *qp, const struct uroce_sqe *sqe);
/** unacked is about to become `to`. */
void uroce_recovery_passed(struct uroce_qp *qp, uint32_t to);
/** Nothing is known of what is beyond unacked. */
bool uroce_recovery_done(const struct uroce_qp *qp);
/** How many PSNs may be unanswered. */
uint32_t uroce_recovery_window(const struct uroce_qp *qp);
const struct uroce_sqe *uroce_recovery_wqe(const struct uroce_qp *qp, uint32_t psn);
/** What is missing, as far as there is room. @return frames */
unsigned int uroce_recovery_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames,
				 unsigned int room);

/* trial.c */
/** A sequence NAK names this PSN, which has been sent. @return false: go back N */
bool uroce_trial_nak(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn);
/** An answer says that all before psn has come. @return true: and that what came early was lost; go back N */
bool uroce_trial_answered(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn, enum uroce_answer answer);
/** There was no progress for a while. */
void uroce_trial_probe(struct uroce_engine *e, struct uroce_qp *qp);

/* sack.c */
int uroce_sack_ask(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **out);
enum uroce_verdict uroce_sack_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);

/* rtt.c */
void uroce_rtt_reset(struct uroce_qp *qp);
/** The packet whose round trip is measured has been answered. */
void uroce_rtt_measured(struct uroce_engine *e, struct uroce_qp *qp);

/* completer.c */
/** Charge a retry (R34). False: it was the last, and the QP has failed. */
bool uroce_completer_charge(struct uroce_engine *e, struct uroce_qp *qp);
/** All before psn has been acknowledged. */
enum uroce_verdict uroce_completer_acknowledged(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn);
/** R30. @return true if more may be sent now */
bool uroce_completer_credits(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_aeth *aeth);
enum uroce_verdict uroce_completer_receive(struct uroce_engine *e, struct uroce_qp *qp,
					   const struct uroce_packet *p);
void uroce_completer_timeout(struct uroce_engine *e, struct uroce_qp *qp);
/** Complete the local WQEs that have become the oldest. */
void uroce_completer_locals(struct uroce_engine *e, struct uroce_qp *qp);
/** Take the oldest send WQE off the queue, with a completion if it asks for one or has failed (R42). */
void uroce_completer_complete(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status);

/* recv.c: receive WQEs, from the QP's queue or an SRQ */
/** Fill the empty receive queue of a QP with an SRQ with one WQE of that. */
bool uroce_recv_take_shared(struct uroce_qp *qp);
/** Complete the oldest receive WQE. False: the CQ has overrun (R43), and the QP is in error. */
bool uroce_qp_complete_recv(struct uroce_engine *e, struct uroce_qp *qp, struct ibv_wc *wc, bool solicited);

/* uc_receive.c, ud_receive.c */
enum uroce_verdict uroce_uc_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);
enum uroce_verdict uroce_ud_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p);

/* uc_send.c, ud_send.c */
unsigned int uroce_uc_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames,
			   unsigned int room);
unsigned int uroce_ud_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames,
			   unsigned int room);

/* errors.c: a request completes with another status than success */
void uroce_count_send_error(struct uroce_engine *e, enum ibv_wc_status status) __rte_cold;
void uroce_count_recv_error(struct uroce_engine *e, enum ibv_wc_status status) __rte_cold;

/* failure.c */
/** Trace points for a QP that leaves a state, and for why, where it goes into error. */
void uroce_qp_trace(const struct uroce_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to);
/** UC and UD: the oldest send WQE fails, the others are flushed, and the QP does not send until it is modified
 * to RTS; it receives. */
void uroce_qp_fail_sends(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status);
void uroce_qp_flush_sends(struct uroce_engine *e, struct uroce_qp *qp);
/** A receive WQE's memory may not be written: it completes so, and the QP goes into the error state. */
void uroce_qp_fail_recv(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status);
/** The oldest send WQE fails, the QP goes into the error state, all else is flushed (R41). */
void uroce_qp_fail_send(struct uroce_engine *e, struct uroce_qp *qp, enum ibv_wc_status status);
/** Into the error state, unless it is there: every WQE is flushed. */
void uroce_qp_fail(struct uroce_engine *e, struct uroce_qp *qp);
/** The same, whatever the state says already. */
void uroce_qp_stop(struct uroce_engine *e, struct uroce_qp *qp);
/** R43: a completion has been lost, and with it the QP. */
void uroce_qp_overrun(struct uroce_engine *e, struct uroce_qp *qp);
/** The peer's first request has come to a QP in RTR: say so, once. */
void uroce_qp_established(struct uroce_qp *qp);
/** A QP with an SRQ has come into the error state: say that it takes no more WQEs. */
void uroce_qp_last_wqe(struct uroce_qp *qp);
void uroce_qp_flush(struct uroce_engine *e, struct uroce_qp *qp);
void uroce_qp_event(struct uroce_qp *qp, enum ibv_event_type type);
/** SQD: when all that has begun is complete, say so, once, to who asked for it. */
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

/** R21: the receive WQE of the message that begins, which it keeps until its last packet. NULL: there is none. */
static inline const struct uroce_rqe *
uroce_recv_take(struct uroce_qp *qp)
{
	if (!qp->resp.recv_taken) {
		/* pairs with the release in uroce_post_recv() */
		if (unlikely(qp->rq.head == __atomic_load_n(&qp->rq.tail, __ATOMIC_ACQUIRE)) &&
		    !uroce_recv_take_shared(qp))
			return NULL;
		qp->resp.recv_taken = true;
	}
	return uroce_rqe_at(&qp->rq, qp->rq.head);
}

static inline void
uroce_recv_immediate(const struct uroce_packet *p, struct ibv_wc *wc)
{
	if (p->info->ext[UROCE_EXT_IMMDT] != 0 && !UROCE_PLANTED(IMMEDIATE)) {
		wc->wc_flags |= IBV_WC_WITH_IMM;
		wc->imm_data = ((const struct uroce_immdt *)uroce_packet_ext(p, UROCE_EXT_IMMDT))->imm;
	}
}

/** The domain of the memory that receive WQEs name. */
static inline const struct ibv_pd *
uroce_recv_pd(const struct uroce_qp *qp)
{
	return likely(qp->resp.srq == NULL) ? qp->ibv.pd : qp->resp.srq->ibv.pd;
}

/** The protection domain of a READ; NULL: none. An XRC target's READ has the domain of its SRQ, and loses its rights
 * when the SRQ is destroyed. */
static inline const struct ibv_pd *
uroce_read_pd(const struct uroce_qp *qp, const struct uroce_rd_atomic *r)
{
	const struct uroce_srq *srq;

	if (likely(qp->ibv.pd != NULL))
		return qp->ibv.pd;
	srq = uroce_srq_lookup(qp->dev, r->srqn);
	return srq != NULL ? srq->ibv.pd : NULL;
}

/** The domain of the memory that the peer's keys name. */
static inline const struct ibv_pd *
uroce_rkey_pd(const struct uroce_qp *qp)
{
	/* an XRC target has none: it is the SRQ's, which each request names */
	return likely(qp->ibv.pd != NULL) ? qp->ibv.pd : qp->resp.srq->ibv.pd;
}

static inline uint32_t
uroce_message_packets(const struct uroce_qp *qp, uint32_t length)
{
	/* the path MTU is a power of two */
	return length == 0 ? 1 : (uint32_t)(((uint64_t)length + qp->mtu_bytes - 1) >> __builtin_ctz(qp->mtu_bytes));
}

/** UC and UD: in the states in which they receive. */
static inline bool
uroce_is_receiving(const struct uroce_qp *qp)
{
	return qp->state >= IBV_QPS_RTR && qp->state <= IBV_QPS_SQE;
}

/** UC and UD: the next send WQE, if the QP's state lets it be sent. SQD ends what has begun, and begins nothing. */
static inline struct uroce_sqe *
uroce_unreliable_next(const struct uroce_qp *qp)
{
	/* pairs with the release in uroce_post_send() */
	if (qp->sq.head == __atomic_load_n(&qp->sq.tail, __ATOMIC_ACQUIRE))
		return NULL;
	if (qp->state != IBV_QPS_RTS && (qp->state != IBV_QPS_SQD || qp->req.offset == 0))
		return NULL;
	return uroce_sqe_at(&qp->sq, qp->sq.head);
}

/* Sets of work requests' opcodes. */
#define UROCE_WR_ATOMICS (1u << IBV_WR_ATOMIC_CMP_AND_SWP | 1u << IBV_WR_ATOMIC_FETCH_AND_ADD)
#define UROCE_WR_SENDS (1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM | 1u << IBV_WR_SEND_WITH_INV)
/* opcodes whose message takes a receive of the peer */
#define UROCE_WR_RECEIVES (UROCE_WR_SENDS | 1u << IBV_WR_RDMA_WRITE_WITH_IMM)
#define UROCE_WR_PLACEMENTS (1u << IBV_WR_FLUSH | 1u << IBV_WR_ATOMIC_WRITE)
#define UROCE_WR_LOCALS (1u << IBV_WR_BIND_MW | 1u << IBV_WR_LOCAL_INV)
/* of one packet, answered by one */
#define UROCE_WR_SINGLES (UROCE_WR_ATOMICS | UROCE_WR_PLACEMENTS)
/* answered by a response of its own (R37) */
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

/* R14 */
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

/* R16: at most 2^31 bytes, and those of the packets add up to DMALen. */
static inline bool
uroce_dma_length_fits(const struct uroce_responder *resp, const struct uroce_packet *p)
{
	uint64_t placed = (uint64_t)resp->offset + p->payload_bytes;

	if (resp->length > UROCE_MAX_MSG_BYTES)
		return false;
	if (UROCE_PLANTED(DMA_LENGTH))
		return placed <= resp->length;
	return p->info->flags & UROCE_OPF_LAST ? placed == resp->length : placed < resp->length;
}

#endif /* UROCE_TRANSPORT_INTERNAL_H */
