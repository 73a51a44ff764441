/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The states of a connection as tables: what a message does to it, what it may send, and what happens when its
 * deadline comes. lib/cm's other files do what a row says. Constant; any thread.
 */

#ifndef UROCE_CM_IB_STATE_H
#define UROCE_CM_IB_STATE_H

#include <stdint.h>

#include "cm/ib/cm.h"
#include "cm/ib/mad.h"

/* The specification's, with its alternate path machine, which exists in established only, laid flat. */
enum uroce_cm_state {
	UROCE_CM_STATE_NONE,		/* in a table: not possible */
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
	UROCE_CM_SIDR_REP_SENT,		/* answers what is asked again, for a while */
	UROCE_CM_STATE_COUNT,
};

enum uroce_cm_action {
	UROCE_CM_UNEXPECTED,		/* counted and dropped */
	UROCE_CM_DUPLICATE,		/* counted and dropped: the answer is under way, or the consumer's turn */
	UROCE_CM_ANSWER,		/* a duplicate: the last answer again */
	UROCE_CM_DEFER,			/* a duplicate, and the consumer still thinks: MRA, and to `next` */
	UROCE_CM_STALE,			/* a duplicate of what is over: REJ */
	UROCE_CM_WAIT,			/* MRA: retransmission waits as it asks for; to `next`, `event` */
	UROCE_CM_TAKE,			/* to `next`, `event` */
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
/* The deadline has passed, for an answer or for TIMEWAIT. UROCE_CM_TAKE: there is an event; UROCE_CM_DUPLICATE: none;
 * UROCE_CM_UNEXPECTED: the state has no end of time. */
extern const struct uroce_cm_row uroce_cm_timeouts[UROCE_CM_STATE_COUNT];

/* The process at the other end has gone without a message: behave as if the peer had disconnected, as a kernel does for a
 * process with an RNIC, without an answer. UROCE_CM_UNEXPECTED: no wait for this peer, or another one may answer. */
extern const struct uroce_cm_row uroce_cm_departures[UROCE_CM_STATE_COUNT];

extern const char *const uroce_cm_state_names[UROCE_CM_STATE_COUNT];

/** A handshake that a peer has begun, perhaps with a forged address: bounded by UROCE_CM_MAX_HALF_OPEN. */
bool uroce_cm_state_half_open(enum uroce_cm_state state);
/** Established, whatever of the alternate path. */
bool uroce_cm_state_established(enum uroce_cm_state state);

#endif /* UROCE_CM_IB_STATE_H */
