/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two state machines of the responder for missing packets: the NAK that it has sent (R12), and whether the peer goes
 * back N.
 * doc/explanation/recovery.rst shows their tables.
 */

#ifndef UROCE_TRANSPORT_RESPONDER_GAP_H
#define UROCE_TRANSPORT_RESPONDER_GAP_H

#include <stdbool.h>

#include "transport/qp/state.h"
#include "verbs/qp/qp.h"

/* uroce_responder.nak_state */
enum uroce_nak_state {
	UROCE_STATE_IN_ORDER,	/* no NAK for the expected PSN is owed or was sent */
	UROCE_STATE_NAK_SENT,	/* one is owed or was sent: send no other until that PSN has arrived */
	UROCE_STATE_CLOSING,	/* a fatal NAK is owed: execute nothing, and fail the QP once the NAK has left */
	UROCE_NAK_STATES
};

enum uroce_nak_event {
	UROCE_ON_EXPECTED,	/* a request with the expected PSN arrives */
	UROCE_ON_AHEAD,		/* a request ahead of the expected PSN arrives, and no SACK reports the gap */
	UROCE_ON_NEXT_GAP,	/* a gap has closed, and there is another gap behind it */
	UROCE_ON_REFUSED,	/* a request is refused, and the requester may retransmit it */
	UROCE_ON_FATAL,		/* a request is refused with a fatal NAK */
	UROCE_ON_NAK_SENT,	/* a NAK for a gap has left */
	UROCE_ON_WITHDRAWN,	/* an ACK replaces an owed NAK for a gap */
	UROCE_NAK_EVENTS
};

/** @return whether a NAK is owed */
bool uroce_nak_on(struct uroce_responder *resp, enum uroce_nak_event event);

/* uroce_responder.peer_state: does the peer go back N after a NAK for a gap? */
enum uroce_gap_peer_state {
	UROCE_GAP_PEER_UNTOLD,	/* not known */
	UROCE_GAP_PEER_GAP_CLOSED,	/* not known; a duplicate of the packet behind the closed gap would show that it does */
	UROCE_GAP_PEER_GOES_BACK,	/* it does, so it retransmits the packets of the next gap without a NAK */
	UROCE_GAP_PEER_BACK_CLOSED,	/* it does, and another gap has closed since */
	UROCE_GAP_PEER_STATES
};

enum uroce_gap_peer_event {
	UROCE_ON_PEER_AHEAD,	/* a request ahead of the expected PSN arrives */
	UROCE_ON_CLOSED,	/* a gap closes: requests from the reorder buffer are executed */
	UROCE_ON_DUPLICATE,	/* the first packet behind the latest gap arrives again */
	UROCE_GAP_PEER_EVENTS
};

/** @return whether the state changes */
bool uroce_peer_on(struct uroce_responder *resp, enum uroce_gap_peer_event event);

/** Does the peer go back N, that is, retransmit all packets behind a gap? Then the next gap needs no NAK. */
static inline bool
uroce_peer_goes_back(const struct uroce_responder *resp)
{
	return resp->peer_state >= UROCE_GAP_PEER_GOES_BACK;
}

#endif /* UROCE_TRANSPORT_RESPONDER_GAP_H */
