/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The requester: sends the application's work requests and completes them. On the engine's thread.
 *
 *	requester.c	cuts send WQEs into request packets, in order, within the windows (R39, R30)
 *	completer.c	processes ACKs, NAKs, RNR NAKs, responses and timeouts: progress, retries, RNR wait, completions
 *	state.c		the table of the requester's states and events
 *	retry.c		applies this table: the transport timer (R36), the count of retries (R34), going back
 *	recovery.c	finds the missing packets, which are the only ones to retransmit
 *	sack.c		checks and processes SACKs, and sends ASKs
 *	peer_probe.c	finds out whether the peer keeps out-of-order packets; sends probes before the transport timeout
 *	rtt.c		measures round trips, and derives the probe timer
 *	window.c	adapts the window to the round trip
 *	budget.c	limits the packets in flight to a peer, of all QPs together
 *	placement.c	builds FLUSH and ATOMIC_WRITE requests
 *	local.c		executes send WQEs without packets: binds and local invalidations
 */

#ifndef UROCE_TRANSPORT_REQUESTER_REQUESTER_H
#define UROCE_TRANSPORT_REQUESTER_REQUESTER_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/engine.h"
#include "transport/qp/qp.h"
#include "transport/requester/recovery.h"
#include "transport/requester/state.h"
#include "transport/qp/state.h"
#include "verbs/qp/qp.h"
#include "wire/packet.h"
#include "wire/sack.h"

/* requester.c */
unsigned int uroce_requester_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames,
				  unsigned int room);
void uroce_requester_reset(struct uroce_qp *qp, uint32_t psn);
/* The next packets of a SEND or WRITE. */
struct uroce_burst {
	uint32_t count;		/* packets that differ only in PSN and payload, to be built together */
	bool ack_req;		/* the packet has AckReq; then count is 1 */
};

/** As uroce_requester_burst(), where `left` packets of the message follow the next one. */
struct uroce_burst uroce_requester_long_burst(const struct uroce_qp *qp, uint32_t left, uint32_t window,
					      unsigned int room);
/**
 * Plan the next packets of a WQE, from req.offset on. These packets have AckReq: the last one, the one that fills the
 * window, one in UROCE_ACK_REQ_PACKETS, and the one that uses up a rate's credit, after which the transport timeout
 * might fire before the next packet.
 *
 * @param window	number of packets that may be sent before the next ACK
 */
static inline struct uroce_burst
uroce_requester_burst(const struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t window, unsigned int room)
{
	const uint32_t left = sqe->psn_count - uroce_requester_of(qp)->offset - 1;

	return left == 0 ? (struct uroce_burst){ .count = 1, .ack_req = true }
			 : uroce_requester_long_burst(qp, left, window, room);
}
/** Build packets of a SEND or WRITE, from req.offset of the WQE on. @return as uroce_packets_build() */
int uroce_data_packets(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_sqe *sqe,
		       struct uroce_burst burst, struct rte_mbuf **frames);
/* The kinds of answers of the peer. */
enum uroce_answer {
	UROCE_ANSWER_ACK,
	UROCE_ANSWER_NAK,	/* PSN sequence error */
	UROCE_ANSWER_REFUSAL,	/* any other NAK: the request fails */
	UROCE_ANSWER_RNR_NAK,
	UROCE_ANSWER_RESPONSE,
};

/* retry.c */
/** Apply an event: change the requester's state, and do the table's actions. @return false: the QP has failed */
bool uroce_requester_on(struct uroce_engine *e, struct uroce_qp *qp, enum uroce_requester_event event);
/** Start the transport timer (R36) and the probe timer, or stop them if no packet is outstanding. */
void uroce_retry_arm(struct uroce_engine *e, struct uroce_qp *qp);
/** Charge a retry (R34). @return false: none was left, and the QP has failed */
bool uroce_retry_charge(struct uroce_engine *e, struct uroce_qp *qp);

/* recovery.c */
int uroce_recoveries_init(struct uroce_recoveries *r, uint32_t count, unsigned int log2_window, int numa_node);
void uroce_recoveries_fini(struct uroce_recoveries *r);
/** @return the QP's record, or a new one; NULL: none is free, or the device or the QP goes back N */
struct uroce_recovery *uroce_recovery_begin(struct uroce_engine *e, struct uroce_qp *qp);
/** Release the QP's record, if it has one. The caller changes the state. */
void uroce_recovery_end(struct uroce_engine *e, struct uroce_qp *qp);
/** Move the QP's record to another engine, if it has one. @return false: that engine has none free, and the record stays */
bool uroce_recovery_move(struct uroce_engine *from, struct uroce_engine *to, struct uroce_qp *qp);
/* Call the functions below only while the QP has a record. PSNs are between req.unacked and req.max_psn. */
/** The peer has received n request packets from psn on. */
void uroce_recovery_sacked(struct uroce_qp *qp, uint32_t psn, uint32_t n);
/** The peer has executed all packets before `expected`; responses before `answered` have arrived or are lost. */
void uroce_recovery_heard(struct uroce_qp *qp, uint32_t expected, uint32_t answered);
/** The peer has reported all packets before psn that it has. */
void uroce_recovery_asked(struct uroce_qp *qp, uint32_t psn);
/** The peer lacks the packet with this PSN. */
void uroce_recovery_missing(struct uroce_qp *qp, uint32_t psn);
/** The peer may have dropped packets that it has reported: treat requests beyond the expected PSN as not reported. */
void uroce_recovery_forget_requests(struct uroce_qp *qp);
/** Note that a response has been placed. @return false: it was placed before, or is beyond the window */
bool uroce_recovery_place(struct uroce_qp *qp, uint32_t psn);
bool uroce_recovery_placed(struct uroce_qp *qp, uint32_t psn);
/** @return the first PSN of the oldest WQE without an answer, or one past its last PSN */
uint32_t uroce_recovery_reached(struct uroce_qp *qp, const struct uroce_sqe *sqe);
/** The caller is about to set req.unacked to `to`. */
void uroce_recovery_passed(struct uroce_qp *qp, uint32_t to);
/** Does the record hold nothing, so that recovery can end? */
bool uroce_recovery_done(const struct uroce_qp *qp);
/** @return the number of PSNs that may be unanswered */
uint32_t uroce_recovery_window(const struct uroce_qp *qp);
const struct uroce_sqe *uroce_recovery_wqe(const struct uroce_qp *qp, uint32_t psn);
/** Find the next packet to retransmit, or an ASK. @param next	for UROCE_RESEND_NOTHING and _ASK only its kind is set.
 * @return next->kind */
enum uroce_resend_kind uroce_recovery_next(struct uroce_qp *qp, struct uroce_resend *next);
/** The frame for the result of uroce_recovery_next() has been built. */
void uroce_recovery_sent(struct uroce_qp *qp, const struct uroce_resend *sent);

/* peer_probe.c */
/** A sequence NAK has this PSN, which was sent. Retransmit it and classify the peer. @return false: go back N */
bool uroce_peer_probe_nak(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn);
/** An answer acknowledges all packets before psn. @return true: the peer lacks the packets behind these; go back N */
bool uroce_peer_probe_answered(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn, enum uroce_answer answer);
/** The probe timer has fired: send a probe. */
void uroce_peer_probe_stalled(struct uroce_engine *e, struct uroce_qp *qp);
/** After a probe, the peer has answered n more PSNs. Was it only slow? Then later probes have to wait longer. */
void uroce_peer_probe_ended(struct uroce_engine *e, struct uroce_qp *qp, uint32_t n);
/** @return the longest time for which the peer was silent lately, although it had lost nothing; 0: none */
uint32_t uroce_peer_silence(struct uroce_engine *e, const struct uroce_qp *qp);
/** The QP moves: its new engine learns how long its peer was silent. */
void uroce_peer_silence_move(struct uroce_engine *from, struct uroce_engine *to, const struct uroce_qp *qp);

/* sack.c */
int uroce_sack_ask(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **out);
/** Check a SACK and copy it. @param asked	set to the PSN of the ASK that the SACK answers.
 * @return UROCE_OK, or the verdict with which to drop the SACK */
enum uroce_verdict uroce_sack_check(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p,
				    struct uroce_sack *sack, uint32_t *asked);
/** Enter the runs of a checked SACK into the recovery record. */
void uroce_sack_apply(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p,
		      const struct uroce_sack *sack, uint32_t asked);

/* rtt.c */
void uroce_rtt_reset(struct uroce_qp *qp);
/** The packet whose round trip is being measured has been answered. */
void uroce_rtt_measured(struct uroce_engine *e, struct uroce_qp *qp);

/* window.c */
/** Return to the initial window: the path or the peer may have changed. */
void uroce_window_reset(struct uroce_qp *qp);
/** A round trip has been measured: change the window, if the device allows a larger one than the initial. */
void uroce_window_measured(struct uroce_qp *qp, uint32_t rtt_ns);
/** The class of the peer has become UROCE_PEER_PLAIN: it drops all that follows a lost packet. */
void uroce_window_limit(struct uroce_qp *qp);

/* budget.c */
void uroce_budgets_init(struct uroce_engine *e);
/** @return the index of the budget for the QP's peer */
uint8_t uroce_budget_choose(const struct uroce_qp *qp);
/** @return the number of packets with long payloads that the QP may send in this turn; 0: call uroce_budget_wait() */
uint32_t uroce_budget_room(struct uroce_engine *e, struct uroce_qp *qp);
/** End the QP's turn. The budget gives it another one when there is room. */
void uroce_budget_wait(struct uroce_engine *e, struct uroce_qp *qp);
/** The QP's turn is over, in which uroce_budget_room() was called, or which the budget has granted. */
void uroce_budget_sent(struct uroce_engine *e, struct uroce_qp *qp);
/** n more PSNs of the QP have been answered. */
void uroce_budget_answered(struct uroce_engine *e, struct uroce_qp *qp, uint32_t n);
/** The QP has gone back, or its peer is silent. */
void uroce_budget_update(struct uroce_engine *e, struct uroce_qp *qp);
/** The QP stops sending, or moves to another engine. */
void uroce_budget_leave(struct uroce_engine *e, struct uroce_qp *qp);

/** @return whether packets of the QP count in its budget, or will when the peer answers */
static inline bool
uroce_budget_counts(const struct uroce_qp *qp)
{
	return (qp->listed & UROCE_QP_BULK) != 0;
}

/** @return the number of PSNs that may be in flight */
static inline uint32_t
uroce_window(const struct uroce_requester *req)
{
	return 1u << req->log2_window;
}

/* completer.c */
enum uroce_verdict uroce_completer_receive(struct uroce_engine *e, struct uroce_qp *qp,
					   const struct uroce_packet *p);
/** The QP's timer has fired: end the RNR wait (R35), send a probe, or time out (R36). */
void uroce_completer_timeout(struct uroce_engine *e, struct uroce_qp *qp);
/** Complete the executed binds and local invalidations that are the oldest WQEs. */
void uroce_completer_locals(struct uroce_engine *e, struct uroce_qp *qp);

/* placement.c: return as uroce_packet_build() */
int uroce_flush_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
			struct rte_mbuf **out);
int uroce_atomic_write_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
			       struct rte_mbuf **out);
/* local.c */
/** Execute a bind or local invalidation, the next WQE. @param status	set to the result; on error nothing has changed
 * @return false: it is not complete yet, and the QP gets another turn in the next round */
bool uroce_local_execute(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_sqe *sqe,
			 enum ibv_wc_status *status);

#endif /* UROCE_TRANSPORT_REQUESTER_REQUESTER_H */
