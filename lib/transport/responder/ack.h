/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The ACKs that an engine owes and has deferred. lib/transport/responder/ack.c decides when each leaves.
 */

#ifndef UROCE_TRANSPORT_RESPONDER_ACK_H
#define UROCE_TRANSPORT_RESPONDER_ACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "uroce_config.h"

struct uroce_qp;

/* The place of a QP's owed ACK. */
enum uroce_ack_place {
	UROCE_ACK_TURN,		/* not deferred: an owed ACK leaves in the QP's turn */
	UROCE_ACK_RING,		/* in ring[] */
	UROCE_ACK_OVERFLOW,	/* in the overflow list, because the ring was full */
	UROCE_ACK_REPLY,	/* in replies[]: waits for the application's reply */
};

TAILQ_HEAD(uroce_ack_list, uroce_qp);

struct uroce_acks {
	/* indices of ring[], whose QPs are in the order in which their ACKs became owed */
	uint32_t head;
	uint32_t due;		/* ACKs before this index leave in this round */
	uint32_t next;		/* ACKs from due to this index leave in the next round */
	uint32_t tail;
	uint32_t packets;	/* packets received in this round */
	bool lead;		/* due ACKs leave ahead of messages; false: behind them */
	bool blocked;		/* a turn has ended early, because its next message must follow owed ACKs */
	uint32_t reply_count;	/* QPs in replies[] */
	uint64_t reply_ns;	/* longest wait of an ACK for the application's reply; 0: no wait */
	struct uroce_ack_list overflow;	/* linked by qp->ack_link */
	struct uroce_qp *ring[UROCE_ACK_RING_SIZE];	/* NULL: the QP was reset or destroyed */
	struct uroce_qp *replies[UROCE_ACK_REPLIES];	/* QPs whose ACK waits for a reply, unordered */
};

struct uroce_engine;

/** A round has received its bursts: decide which ACKs leave in it. */
void uroce_acks_round(struct uroce_engine *e);

#endif /* UROCE_TRANSPORT_RESPONDER_ACK_H */
