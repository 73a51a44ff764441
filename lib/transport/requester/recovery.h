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

/* Why the requester retransmitted one packet. */
enum uroce_peer_probe_kind {
	UROCE_PEER_PROBE_NAK,	/* a NAK named it */
	UROCE_PEER_PROBE_PROBE,	/* no answer before the probe timer: the oldest packet */
	UROCE_PEER_PROBE_NEWEST,	/* a probe's answer was ambiguous: the newest packet */
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
	enum uroce_peer_probe_kind probe_kind;
	bool probing;
	bool probe_due;			/* not sent yet */
	bool probe_tells;		/* a leap proves that the peer keeps: what was leapt over had been sent once */
	bool ask;			/* an ASK is due */
};

/* An engine's. */
struct uroce_recoveries {
	struct uroce_recovery *entries;	/* UROCE_RECOVERIES */
	struct uroce_recovery *free;
	uint32_t lent;
};

#endif /* UROCE_TRANSPORT_REQUESTER_RECOVERY_H */
