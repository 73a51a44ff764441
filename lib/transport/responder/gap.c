/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The tables of the state machines in gap.h. On the engine's thread.
 */

#include "transport/responder/gap.h"

#include <stdint.h>

#define NAK 0x80	/* flag beside the next state: the responder owes a NAK */
#define IN_ORDER UROCE_STATE_IN_ORDER
#define NAK_SENT UROCE_STATE_NAK_SENT
#define CLOSING UROCE_STATE_CLOSING

/* R12 */
static const uint8_t nak_steps[UROCE_NAK_STATES][UROCE_NAK_EVENTS] = {
	/*		  EXPECTED  AHEAD	    NEXT_GAP	    REFUSED	    FATAL	   NAK_SENT  WITHDRAWN */
	[IN_ORDER] =	{ IN_ORDER, NAK_SENT | NAK, NAK_SENT | NAK, NAK_SENT | NAK, CLOSING | NAK, NAK_SENT, IN_ORDER },
	[NAK_SENT] =	{ IN_ORDER, NAK_SENT,	    NAK_SENT | NAK, NAK_SENT | NAK, CLOSING | NAK, NAK_SENT, IN_ORDER },
	[CLOSING] =	{ CLOSING,  CLOSING,	    CLOSING,	    CLOSING,	    CLOSING | NAK, CLOSING,  CLOSING },
};

#define UNTOLD UROCE_GAP_PEER_UNTOLD
#define GAP_CLOSED UROCE_GAP_PEER_GAP_CLOSED
#define GOES_BACK UROCE_GAP_PEER_GOES_BACK
#define BACK_CLOSED UROCE_GAP_PEER_BACK_CLOSED

static const uint8_t peer_steps[UROCE_GAP_PEER_STATES][UROCE_GAP_PEER_EVENTS] = {
	/*			  AHEAD	     CLOSED	  DUPLICATE */
	[UNTOLD] =		{ UNTOLD,    GAP_CLOSED,  UNTOLD },
	[GAP_CLOSED] =		{ UNTOLD,    GAP_CLOSED,  GOES_BACK },
	[GOES_BACK] =		{ GOES_BACK, BACK_CLOSED, GOES_BACK },
	[BACK_CLOSED] =		{ UNTOLD,    BACK_CLOSED, GOES_BACK },
};

bool
uroce_nak_on(struct uroce_responder *resp, enum uroce_nak_event event)
{
	const uint8_t step = nak_steps[resp->nak_state][event];

	resp->nak_state = step & ~NAK;
	return step & NAK;
}

bool
uroce_peer_on(struct uroce_responder *resp, enum uroce_gap_peer_event event)
{
	const uint8_t from = resp->peer_state;

	resp->peer_state = peer_steps[from][event];
	return resp->peer_state != from;
}
