/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Recovery records: the state of the PSNs beyond the oldest unanswered one while packets are missing. An engine has a
 * fixed number of records; a QP holds one only while it recovers. On the engine's thread.
 */

#ifndef UROCE_TRANSPORT_REQUESTER_RECOVERY_H
#define UROCE_TRANSPORT_REQUESTER_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/psn_set.h"
#include "uroce_config.h"

/* The class of the peer's responder. */
enum uroce_peer_kind {
	UROCE_PEER_UNKNOWN,
	UROCE_PEER_PLAIN,	/* drops out-of-order packets: go back N */
	UROCE_PEER_KEEPS,	/* keeps out-of-order packets: retransmit the missing one */
	UROCE_PEER_SACKS,	/* keeps them, and reports them in SACKs */
};

/* The state of the probe: the one packet that is retransmitted to classify the peer, and the reason of its
 * retransmission. doc/explanation/recovery.rst shows the table. */
enum uroce_probe_state {
	UROCE_PROBE_NONE,
	UROCE_PROBE_DUE,	/* probe_psn is to be retransmitted; the next state is probe_next */
	UROCE_PROBE_NAK,	/* reason: a sequence NAK with its PSN */
	UROCE_PROBE_REPEATED,	/* as NAK, but packets behind it may have been sent twice, so no proof */
	UROCE_PROBE_IDLE,	/* the oldest packet; reason: no answer before the probe timer fired */
	UROCE_PROBE_NEWEST,	/* the newest packet; reason: the answer to UROCE_PROBE_IDLE was ambiguous */
	UROCE_PROBE_STATES
};

/* Retransmitted PSNs in flight. */
struct uroce_resent {
	uint32_t psn;
	uint32_t count;
	uint32_t marker;	/* req.max_psn at the retransmission: an answer from there on shows a new loss */
};

struct uroce_recovery {
	struct uroce_recovery *next;	/* free list */
	/* sets of PSNs from req.unacked on */
	struct uroce_psn_set sacked;	/* request packets that the peer has received */
	struct uroce_psn_set placed;	/* responses that have been placed */
	uint32_t arrived;		/* number of PSNs in at least one of the sets */
	struct uroce_resent *resent;	/* ring, oldest first */
	uint32_t expected;		/* the peer has executed all packets before this PSN */
	uint32_t answered;		/* the peer has answered all packets before this PSN; responses may be lost */
	uint32_t high;			/* one past the highest PSN on which the peer has reported */
	uint32_t scan;			/* missing requests before this PSN have been retransmitted */
	uint32_t scan_answers;		/* missing responses before this PSN have been requested again */
	uint32_t cursor;		/* send queue index at which the search for a PSN's WQE starts */
	uint32_t resent_head;
	uint32_t resent_tail;
	uint32_t resent_size;		/* a power of two: half a window */
	uint32_t probe_psn;		/* PSN of the probe */
	uint32_t probe_end;		/* one past the probe's last PSN: a plain peer answers up to here */
	uint32_t probe_max;		/* req.max_psn at the probe's retransmission */
	enum uroce_probe_state probe_state;
	enum uroce_probe_state probe_next;
	bool ask;			/* an ASK is due */
};

struct uroce_sqe;

enum uroce_resend_kind {
	UROCE_RESEND_NOTHING,
	UROCE_RESEND_ASK,
	UROCE_RESEND_PROBE,
	UROCE_RESEND_MISSING,
};

/* The next packet that a QP in recovery sends. */
struct uroce_resend {
	enum uroce_resend_kind kind;
	uint32_t psn;			/* first PSN */
	uint32_t count;			/* number of PSNs, all of sqe */
	const struct uroce_sqe *sqe;
	uint32_t *scan;			/* the record's scan that has found it; NULL: it was lost again */
};

/* The records of an engine. */
struct uroce_recoveries {
	struct uroce_recovery *entries;
	uint64_t *words;		/* of the entries' sets */
	struct uroce_resent *resent;	/* of the entries' rings */
	struct uroce_recovery *free;
	uint32_t lent;
};

#endif /* UROCE_TRANSPORT_REQUESTER_RECOVERY_H */
