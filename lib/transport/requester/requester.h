/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The requester: sends the application's work requests and completes them. On the engine's thread.
 *
 *	requester.c	cuts send WQEs into request packets, in order, within the windows (R39, R30)
 *	completer.c	processes ACKs, NAKs, RNR NAKs and responses: progress, retries, RNR wait, completions
 *	retry.c		the transport timer, the count of retries, the way back to a PSN
 *	recovery.c	retransmits what is missing, and only that
 *	sack.c		reads selective acknowledgements, and asks for them
 *	peer_probe.c	classifies the peer: does it keep out-of-order packets? Sends probes before the transport timeout
 *	rtt.c		measures round trips, and derives when to send a probe
 *	placement.c	builds FLUSH and ATOMIC_WRITE requests
 *	local.c		executes send WQEs that no packet is sent for: windows bound and invalidated
 */

#ifndef UROCE_TRANSPORT_REQUESTER_REQUESTER_H
#define UROCE_TRANSPORT_REQUESTER_REQUESTER_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/engine.h"
#include "transport/qp/qp.h"
#include "transport/requester/recovery.h"
#include "verbs/qp/qp.h"
#include "wire/packet.h"
#include "wire/sack.h"

/* requester.c */
unsigned int uroce_requester_send(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **frames,
				  unsigned int room);
void uroce_requester_reset(struct uroce_qp *qp, uint32_t psn);
/* The next packets of a SEND or WRITE. */
struct uroce_burst {
	uint32_t count;		/* that differ only in PSN and payload, so that they can be built together */
	bool ack_req;		/* the one packet asks for an ACK */
};

/**
 * Plan the next packets of a WQE, from req.offset on. The last packet asks for an ACK, the one that fills the window, the
 * one that takes the last of a rate's credit (the next may be a timeout away), and one in UROCE_ACK_REQ_PACKETS.
 *
 * @param window	how many more packets may be unacknowledged
 */
struct uroce_burst uroce_requester_burst(const struct uroce_qp *qp, const struct uroce_sqe *sqe, uint32_t window,
					 unsigned int room);
/** Build packets of a SEND or WRITE, from req.offset of the WQE on. @return as uroce_packets_build() */
int uroce_data_packets(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_sqe *sqe,
		       struct uroce_burst burst, struct rte_mbuf **frames);
/** One packet again: that of a SEND or WRITE, an atomic, or a READ of so many PSNs. @return as uroce_packet_build() */
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

/* retry.c */
/** Send again from a PSN that has been sent; or catch up with one that is ahead. */
void uroce_retry_seek(struct uroce_qp *qp, uint32_t psn);
/** Transport timeout from now on, if anything is outstanding. */
void uroce_retry_arm(struct uroce_engine *e, struct uroce_qp *qp);
/** Charge a retry (R34). False: it was the last, and the QP has failed. */
bool uroce_retry_charge(struct uroce_engine *e, struct uroce_qp *qp);

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

/* peer_probe.c */
/** A sequence NAK names this PSN, which has been sent. @return false: go back N */
bool uroce_peer_probe_nak(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn);
/** An answer says that all before psn has come. @return true: and that what came early was lost; go back N */
bool uroce_peer_probe_answered(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn, enum uroce_answer answer);
/** There was no progress for a while. */
void uroce_peer_probe_stalled(struct uroce_engine *e, struct uroce_qp *qp);

/* sack.c */
int uroce_sack_ask(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **out);
/** @param asked	becomes the PSN of the ASK that the SACK answers. @return UROCE_OK, or why the SACK is dropped */
enum uroce_verdict uroce_sack_check(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p,
				    struct uroce_sack *sack, uint32_t *asked);
/** Take what a SACK says, once it is checked, into the recovery. */
void uroce_sack_apply(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p,
		      const struct uroce_sack *sack, uint32_t asked);

/* rtt.c */
void uroce_rtt_reset(struct uroce_qp *qp);
/** The packet whose round trip is measured has been answered. */
void uroce_rtt_measured(struct uroce_engine *e, struct uroce_qp *qp);

/* completer.c */
enum uroce_verdict uroce_completer_receive(struct uroce_engine *e, struct uroce_qp *qp,
					   const struct uroce_packet *p);
void uroce_completer_timeout(struct uroce_engine *e, struct uroce_qp *qp);
/** Complete the local WQEs that have become the oldest. */
void uroce_completer_locals(struct uroce_engine *e, struct uroce_qp *qp);

/* placement.c: return as uroce_packet_build() */
int uroce_flush_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
			struct rte_mbuf **out);
int uroce_atomic_write_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
			       struct rte_mbuf **out);
/* local.c */
/** Execute the WQE, which is the next one. @param status	unless IBV_WC_SUCCESS, nothing has changed
 * @return false: it is not complete yet, and the QP gets another turn in the next round */
bool uroce_local_execute(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_sqe *sqe,
			 enum ibv_wc_status *status);

#endif /* UROCE_TRANSPORT_REQUESTER_REQUESTER_H */
