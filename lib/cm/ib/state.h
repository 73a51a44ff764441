/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The states of a connection as tables: the effect of each message received, the messages that may be sent, and the
 * effect of a timeout. The other files of lib/cm execute the rows. Constant; any thread.
 */

#ifndef UROCE_CM_IB_STATE_H
#define UROCE_CM_IB_STATE_H

#include <stdint.h>

#include "cm/ib/cm.h"
#include "cm/ib/mad.h"

/* The specification's states. Those of its alternate path machine, which runs only in ESTABLISHED, are listed, too. */
enum uroce_cm_state {
	UROCE_CM_STATE_NONE,		/* in a table: not allowed */
	UROCE_CM_IDLE,
	UROCE_CM_LISTEN,
	UROCE_CM_REQ_SENT,
	UROCE_CM_REQ_RCVD,
	UROCE_CM_MRA_REQ_SENT,
	UROCE_CM_MRA_REQ_RCVD,
	UROCE_CM_REP_SENT,
	UROCE_CM_REP_RCVD,
	UROCE_CM_MRA_REP_SENT,
	UROCE_CM_MRA_REP_RCVD,
	UROCE_CM_ESTABLISHED,
	UROCE_CM_LAP_SENT,
	UROCE_CM_LAP_RCVD,
	UROCE_CM_MRA_LAP_SENT,
	UROCE_CM_MRA_LAP_RCVD,
	UROCE_CM_DREQ_SENT,
	UROCE_CM_DREQ_RCVD,
	UROCE_CM_TIMEWAIT,
	UROCE_CM_SIDR_REQ_SENT,
	UROCE_CM_SIDR_REQ_RCVD,
	UROCE_CM_SIDR_REP_SENT,		/* replies to duplicates, until a timeout */
	UROCE_CM_STATE_COUNT,
};

enum uroce_cm_action {
	UROCE_CM_UNEXPECTED,		/* counted and dropped */
	UROCE_CM_DUPLICATE,		/* counted and dropped: the reply is in flight, or the consumer must send it */
	UROCE_CM_ANSWER,		/* a duplicate: retransmit the last reply */
	UROCE_CM_DEFER,			/* a duplicate, and the consumer has not replied yet: send MRA, enter `next` */
	UROCE_CM_STALE,			/* a duplicate on a connection that has ended: send REJ */
	UROCE_CM_WAIT,			/* MRA: delay the retransmission as requested, enter `next`, raise `event` */
	UROCE_CM_TAKE,			/* enter `next`, raise `event` */
};

struct uroce_cm_row {
	uint8_t action;			/* enum uroce_cm_action */
	uint8_t next;			/* enum uroce_cm_state */
	uint8_t event;			/* enum uroce_cm_event_type */
};

/* The effect of a message on its connection, by state. */
extern const struct uroce_cm_row uroce_cm_receives[UROCE_CM_STATE_COUNT][UROCE_CM_MESSAGE_COUNT];
/* The state after a message is sent; UROCE_CM_STATE_NONE: it may not be sent. */
extern const uint8_t uroce_cm_sends[UROCE_CM_STATE_COUNT][UROCE_CM_MESSAGE_COUNT];
/* The effect of a timeout, of a reply or of TIMEWAIT. UROCE_CM_TAKE: with an event; UROCE_CM_DUPLICATE: without one;
 * UROCE_CM_UNEXPECTED: the state has no timeout. */
extern const struct uroce_cm_row uroce_cm_timeouts[UROCE_CM_STATE_COUNT];

/* The effect when the peer's process departs without a message: as if the peer had disconnected, which a kernel does
 * for a killed process with an RNIC, but without a reply. UROCE_CM_UNEXPECTED: the state does not wait for this peer,
 * or a successor of the peer may reply. */
extern const struct uroce_cm_row uroce_cm_departures[UROCE_CM_STATE_COUNT];

extern const char *const uroce_cm_state_names[UROCE_CM_STATE_COUNT];

/** Is it a handshake that a peer has begun, perhaps with a forged address? UROCE_CM_MAX_HALF_OPEN limits them. */
bool uroce_cm_state_half_open(enum uroce_cm_state state);
/** Is it established, in any state of the alternate path? */
bool uroce_cm_state_established(enum uroce_cm_state state);

#endif /* UROCE_CM_IB_STATE_H */
