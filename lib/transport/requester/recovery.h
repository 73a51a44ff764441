/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What a requester knows of the PSNs beyond the oldest unanswered one, while some of them are missing. An engine
 * has UROCE_RECOVERIES of these, lent to QPs for as long as they have holes. On the engine's one thread.
 */

#ifndef UROCE_TRANSPORT_REQUESTER_RECOVERY_H
#define UROCE_TRANSPORT_REQUESTER_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/psn_set.h"
#include "uroce_config.h"

/* What a requester knows of the responder at the other end. */
enum uroce_peer_kind {
	UROCE_PEER_UNKNOWN,
	UROCE_PEER_PLAIN,	/* forgets what comes early: go back N */
	UROCE_PEER_KEEPS,	/* has been seen to keep it: what is missing is enough */
	UROCE_PEER_SACKS,	/* ... and says which, too */
};

/* The one packet that is retransmitted to classify the peer, and why. doc/recovery.rst shows the table. */
enum uroce_probe_state {
	UROCE_PROBE_NONE,
	UROCE_PROBE_DUE,	/* to be retransmitted: then the state is probe_next */
	UROCE_PROBE_NAK,	/* a NAK named it */
	UROCE_PROBE_REPEATED,	/* ... and what follows it may have been sent twice: an answer proves nothing */
	UROCE_PROBE_IDLE,	/* the oldest packet: there was no answer before the probe timer fired */
	UROCE_PROBE_NEWEST,	/* the newest packet: the answer to UROCE_PROBE_IDLE was ambiguous */
	UROCE_PROBE_STATES
};

/* PSNs that are on their way again. */
struct uroce_resent {
	uint32_t psn;
	uint32_t count;
	uint32_t marker;	/* lost again, if the peer has heard of this or anything later, and not of them */
};

struct uroce_recovery {
	struct uroce_recovery *next;	/* of the free ones */
	/* of the PSNs from req.unacked on */
	struct uroce_psn_set sacked;	/* the peer has the request */
	struct uroce_psn_set placed;	/* its response has been placed */
	uint32_t expected;		/* all before it has been executed */
	uint32_t answered;		/* all before it has been answered; responses may have been lost */
	uint32_t high;			/* one past the last PSN that the peer has heard of */
	uint32_t scan;			/* requests that are missing before it have been sent again, */
	uint32_t scan_answers;		/* ... responses before it have been asked for again */
	uint32_t cursor;		/* send queue index, from which a PSN's WQE is looked for */
	uint32_t resent_head;
	uint32_t resent_tail;
	struct uroce_resent resent[UROCE_RESENT];	/* oldest first; a ring */
	/* One packet sent again, whose answer tells what the peer does with what comes early. */
	uint32_t probe_psn;
	uint32_t probe_end;		/* what would be answered if it kept nothing */
	uint32_t probe_max;		/* one past what had been sent by then */
	enum uroce_probe_state probe_state;
	enum uroce_probe_state probe_next;
	bool ask;			/* an ASK is due */
};

/* An engine's. */
struct uroce_recoveries {
	struct uroce_recovery *entries;	/* UROCE_RECOVERIES */
	struct uroce_recovery *free;
	uint32_t lent;
};

#endif /* UROCE_TRANSPORT_REQUESTER_RECOVERY_H */
