/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The states of a requester, and the events that change them. doc/explanation/recovery.rst shows the table.
 */

#ifndef UROCE_TRANSPORT_REQUESTER_STATE_H
#define UROCE_TRANSPORT_REQUESTER_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* uroce_requester.state: the reason for which the requester last went back. In a state RECOVERS it also has a recovery
 * record, and retransmits only the missing packets; the record has the state of the probe, enum uroce_probe_state. */
enum uroce_requester_state {
	UROCE_REQUESTER_IN_ORDER,	/* the reason does not matter, or it has not gone back */
	UROCE_REQUESTER_IN_ORDER_RECOVERS,
	UROCE_REQUESTER_GAP,		/* a missing response: it goes back for no other one until there is progress */
	UROCE_REQUESTER_GAP_RECOVERS,
	UROCE_REQUESTER_TIMEOUT,	/* a timeout: it does not expect responses to earlier transmissions */
	UROCE_REQUESTER_TIMEOUT_RECOVERS,
	UROCE_REQUESTER_RNR,		/* an RNR NAK: it sends nothing until the timer fires (R35) */
	UROCE_REQUESTER_RNR_RECOVERS,
	UROCE_REQUESTER_STATES
};

enum uroce_requester_event {
	UROCE_ON_MISSING,	/* a packet may be missing, and the requester has taken a recovery record */
	UROCE_ON_REPAIRED,	/* the recovery record is empty */
	UROCE_ON_PROGRESS,	/* the oldest unanswered packet has been answered */
	UROCE_ON_SKIP,		/* packets that were to be retransmitted have been answered */
	UROCE_ON_NAK,		/* a sequence NAK that is answered by going back N */
	UROCE_ON_PROBE_NAK,	/* a sequence NAK in answer to a probe: the peer lacks the packets behind it */
	UROCE_ON_PROBE_BACK,	/* another answer to a probe: the peer lacks the packets behind it */
	UROCE_ON_RESPONSE_GAP,	/* an answer shows that a response was lost, and no recovery record can be taken */
	UROCE_ON_TIMEOUT,	/* the transport timer has fired (R36) */
	UROCE_ON_RNR_NAK,
	UROCE_ON_RNR_OVER,	/* the timer of an RNR NAK has fired */
	UROCE_ON_UNREADABLE,	/* the memory of a missing packet is not registered any more */
	UROCE_ON_MOVED,		/* the QP moves to an engine that has no free recovery record */
	UROCE_ON_STOP,		/* the QP has failed, or is reset */
	UROCE_REQUESTER_EVENTS
};

/* The actions of the requester at an event, in this order. */
enum uroce_requester_action {
	UROCE_DO_CHARGE = 1 << 0,	/* charge a retry (R34); if none is left, the QP fails and the state stays */
	UROCE_DO_RELEASE = 1 << 1,	/* release the recovery record */
	UROCE_DO_BACK = 1 << 2,		/* continue from the oldest unanswered packet */
	UROCE_DO_ARM = 1 << 3,		/* start the timer (R36) */
	UROCE_DO_TURN = 1 << 4,		/* give the QP a turn to send */
};

struct uroce_requester_step {
	const char *why;	/* reason for going back, in the trace; NULL: no trace */
	uint8_t actions;	/* enum uroce_requester_action; none if the event is ignored in this state */
	uint8_t next[UROCE_REQUESTER_STATES];
};

/** @return the row of the table for this event */
const struct uroce_requester_step *uroce_requester_step(enum uroce_requester_event event);

/* In uroce_requester_step.next: the state ignores the event. */
#define UROCE_REQUESTER_IGNORES UINT8_MAX

/** Does the requester have a recovery record in this state? */
static inline bool
uroce_requester_recovers(uint8_t state)
{
	return state & 1;
}

/** Does the requester wait for the RNR timer in this state? */
static inline bool
uroce_requester_waits(uint8_t state)
{
	return state >= UROCE_REQUESTER_RNR;
}

#endif /* UROCE_TRANSPORT_REQUESTER_STATE_H */
