/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The state of a QP's requester and responder, which struct uroce_qp stores. On the engine's thread.
 */

#ifndef UROCE_TRANSPORT_QP_STATE_H
#define UROCE_TRANSPORT_QP_STATE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#include "base/timer_wheel.h"
#include "verbs/qp/qp.h"

struct uroce_recovery;

/* lib/transport/requester */
struct uroce_requester {
	uint32_t next;			/* send queue index of the WQE to send from, head .. started */
	uint32_t started;		/* send queue index, one past the last WQE that has PSNs */
	uint32_t offset;		/* PSNs of the WQE `next` already sent in this pass */
	uint32_t psn;			/* PSN of the next packet */
	uint32_t max_psn;		/* one past the highest PSN ever sent */
	uint32_t unacked;		/* oldest PSN without an answer */
	uint32_t since_ack_req;		/* packets sent since the last AckReq */
	uint32_t rd_atomics;		/* outstanding READs, atomics, FLUSHes (R39) */
	uint32_t locals;		/* binds and invalidations that are executed, but not completed */
	uint8_t retries_left;
	uint8_t rnr_retries_left;
	uint8_t state;			/* enum uroce_requester_state */
	uint8_t log2_window;		/* of the most PSNs in flight */
	uint32_t ssn;			/* number of messages started, 24 bits */
	uint32_t probe_ns;		/* time without progress until a probe; 0: no probes */
	struct uroce_timer timer;	/* transport timeout, probe, or RNR wait */
	uint64_t timeout_ns;		/* deadline of the transport timeout (R36) */
	struct uroce_recovery *recovery;	/* recovery record; NULL: no packet is known to be missing */
	uint32_t rtt_psn;		/* PSN of the packet whose round trip is being measured */
	bool rtt_timed : 1;		/* a round trip is being measured */
	bool credited : 1;		/* R30: the peer gives credits */
	uint8_t peer;			/* enum uroce_peer_kind */
	uint8_t probes;			/* probes since the last measured round trip */
	uint8_t budget;			/* index of the engine's budget for the peer */
	/* the hot part ends here */
	uint64_t rtt_sent_ns;
	uint32_t srtt_ns;		/* smoothed round trip; 0: none measured yet */
	uint32_t rttvar_ns;		/* variation of the round trip */
	uint32_t went_back;		/* PSNs before this one may have been sent more than once */
	uint32_t lsn;			/* R30: number of the last message that has a credit */
	uint16_t charged;		/* packets in flight that count in the budget */
	uint8_t doubts;			/* consecutive answers that contradict `peer` */
	bool marked : 1;		/* the peer has identified itself as uroce, and understands ASKs */
	bool parts : 1;			/* READs were requested again in parts: any response may be LAST */
	uint32_t least_rtt_ns;		/* shortest round trip; 0: none measured yet */
};

/* A READ, atomic, FLUSH or ATOMIC_WRITE that the responder keeps to answer duplicates (R27, R28). */
struct uroce_rd_atomic {
	uint64_t addr;
	union {
		uint64_t original;	/* atomics: the value before the operation */
		uint64_t flushed;	/* FLUSH: bytes that are persistent */
	};
	uint32_t srqn;			/* READ of an XRC target: number of its SRQ, which has the domain */
	uint32_t rkey;
	uint32_t length;
	uint32_t first_psn;
	uint32_t psn_count;
	union {
		uint32_t start;		/* PSN offset: the last request was for [start, end) */
		uint32_t feth;		/* FLUSH: its type and level */
	};
	uint32_t end;
	uint32_t next;			/* PSN offset of the next response; end: all are sent */
	uint32_t msn;
	uint64_t again;			/* READ: bitmap of offsets from again_base on, to send before `next` */
	uint32_t again_base;
	uint8_t op;			/* enum uroce_op; UROCE_OP_NONE: free */
	bool restart;			/* a replay is a message of its own, from FIRST to LAST */
	bool answered;			/* all responses have been sent once */
	bool by_reference;		/* READ: responses may reference the memory */
	bool again_goes_on;		/* the next response in `again` continues a run of responses */
};

struct uroce_reorder;

/* lib/transport/responder */
struct uroce_responder {
	uint32_t psn;			/* expected PSN */
	uint32_t msn;
	uint8_t ack_syndrome;		/* syndrome of the owed ACK or NAK */
	bool ack_owed;
	uint8_t nak_state;		/* enum uroce_nak_state (R12) */
	uint8_t peer_state;		/* enum uroce_gap_peer_state: does the peer go back N? */
	uint8_t message_op;		/* enum uroce_op of the message in progress; UROCE_OP_NONE: none */
	uint8_t credits;		/* R30: AETH code; unlimited until a receive WQE has completed */
	bool established : 1;		/* COMM_EST has been raised */
	bool selective : 1;		/* the requester understands SACKs: it has sent an ASK */
	bool sack_owed : 1;		/* a SACK is owed instead of an ACK, or after an owed NAK */
	bool ack_behind_nak : 1;	/* an ACK is owed after the owed NAK of a duplicate READ */
	bool read_again : 1;		/* a READ was requested again: from then on all responses are copied */
	bool filled_turn : 1;		/* responses filled the QP's last turn */
	bool recv_unacked : 1;		/* no ACK or response has left since a request last completed a receive */
	bool holds_wqe : 1;		/* an owed ACK has held back the send WQE held_wqe */
	uint32_t ack_psn;		/* PSN of an owed NAK that is not a sequence NAK */
	uint32_t offset;		/* bytes of the message that have been placed */
	uint32_t length;		/* WRITE: DMALen. SEND: room in the receive WQE */
	uint32_t rkey;
	uint64_t addr;
	/* ring of the last READs and atomics; entries [head, tail) have responses to send */
	struct uroce_rd_atomic *resources;	/* resource_mask + 1 entries */
	uint32_t resource_mask;
	uint32_t resource_head;
	uint32_t resource_tail;
	union {
		uint32_t wrong_keys;	/* UC: number of requests with a wrong key */
		uint32_t held_wqe;	/* RC: send queue index */
	};
	struct uroce_reorder *reorder;	/* kept requests ahead of psn; NULL: none is kept */
	uint32_t asked;			/* PSN of the latest ASK; behind psn: no ASK is pending */
	uint32_t gap_end;		/* one past the PSN that closed the latest gap */
	uint16_t held_resource;		/* ring index of the READ whose response releases held_wqe, mod 2^16 */
	uint16_t held_turns;		/* turns in which held_wqe had to wait, at most UROCE_HOLD_TURNS */
	uint32_t recv_resource;		/* resource_tail when a request last completed a receive */
};

struct uroce_transport_state {
	struct uroce_requester req;
	struct uroce_responder resp;
};

static_assert(sizeof(struct uroce_transport_state) == UROCE_QP_TRANSPORT_BYTES, "UROCE_QP_TRANSPORT_BYTES");
static_assert(sizeof(struct uroce_rd_atomic) == UROCE_RD_ATOMIC_BYTES, "UROCE_RD_ATOMIC_BYTES");
/* The fields that a requester uses for each packet are in two cache lines. */
static_assert(offsetof(struct uroce_qp, transport_state) + offsetof(struct uroce_requester, rtt_sent_ns) <=
	      offsetof(struct uroce_qp, active_link) + 128, "hot part of a requester");

static inline struct uroce_requester *
uroce_requester_of(const struct uroce_qp *qp)
{
	return &((struct uroce_transport_state *)(uintptr_t)qp->transport_state)->req;
}

static inline struct uroce_responder *
uroce_responder_of(const struct uroce_qp *qp)
{
	return &((struct uroce_transport_state *)(uintptr_t)qp->transport_state)->resp;
}

/** @return the QP of a requester's timer */
static inline struct uroce_qp *
uroce_qp_of_timer(struct uroce_timer *timer)
{
	return RTE_PTR_SUB(timer, offsetof(struct uroce_qp, transport_state) + offsetof(struct uroce_requester, timer));
}

#endif /* UROCE_TRANSPORT_QP_STATE_H */
