/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * UC connections and UD queue pairs on the link of a simulation, with an oracle of their own: a message arrives whole,
 * as it was sent, or not at all.
 */

#ifndef UROCE_TEST_SIM_UNRELIABLE_H
#define UROCE_TEST_SIM_UNRELIABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "sim.h"
#include "world.h"

#define NODE_COUNT       7 /* the first of them UC */
#define NODE_UC_COUNT    4
#define NODE_GROUP       NODE_COUNT /* to all of UD that are in the group */
#define NODE_MESSAGES    64   /* that a node sends, at most */
#define NODE_DEPTH       16   /* of each queue */
#define NODE_SLOT_BYTES  8192 /* a message, the 40 bytes in front, and a guard */
#define NODE_GUARD_BYTES 64
#define NODE_QKEY        0x11220000
#define NODE_GUARD       0xc3
#define NODE_RECV_BIT    (UINT64_C(1) << 32) /* of a wr_id: it is a receive's */

/* What a node has sent, or is sending. */
struct letter {
	unsigned int to; /* node, or NODE_GROUP */
	uint32_t length;
	enum ibv_wr_opcode opcode;
	enum ibv_wc_status status; /* that its completion must have */
	bool wrong_qkey;
	bool signaled;
	unsigned int members; /* NODE_GROUP: bit per node that it may come to */
	unsigned int came_to; /* bit per node that it has come to */
};

struct node {
	unsigned int index;
	struct end *end;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	enum ibv_qp_type type;
	unsigned int peer; /* UC */
	uint32_t mtu_bytes;
	uint8_t *sends;    /* NODE_DEPTH slots */
	uint8_t *receives; /* NODE_DEPTH slots */
	uint8_t *writes;   /* UC: NODE_MESSAGES slots: message n of the peer is written to slot n */
	struct letter letters[NODE_MESSAGES];
	unsigned int posted;
	unsigned int completed;
	unsigned int received;            /* receives that have completed */
	unsigned int receives_posted;
	bool member; /* of the group */
	bool failing;                     /* a letter that must fail is on its way */
	unsigned int last_of[NODE_COUNT]; /* one past the last number that came from there */
};

struct unreliable {
	struct world *world;
	struct sim_random random;
	uint64_t seed;
	struct node nodes[NODE_COUNT];
	bool in_order; /* the link keeps frames in order, and doubles none */
	uint64_t delivered; /* to one node each */
	bool has_group;	    /* something was sent to the group, too */
	union ibv_gid group;
};

/* node.c */
void node_create(struct unreliable *u, struct node *n, unsigned int index, enum ibv_qp_type type, unsigned int end);
/** To RTS; a UC node to its peer. */
void node_connect(struct unreliable *u, struct node *n);
void node_destroy(const struct unreliable *u, struct node *n);
/** Into the group, or out of it. */
void node_attach(struct unreliable *u, struct node *n);
void node_detach(const struct unreliable *u, struct node *n);
/** The byte at `offset` of message `number` of a node. */
uint8_t letter_byte(const struct unreliable *u, unsigned int node, unsigned int number, uint32_t offset);
/** What tells a message: in its immediate, or its first 4 bytes. */
static inline uint32_t
letter_id(unsigned int node, unsigned int number)
{
	return 0x5a000000 | node << 16 | number;
}

static inline bool
letter_has_imm(const struct letter *l)
{
	return l->opcode == IBV_WR_SEND_WITH_IMM || l->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static inline bool
letter_is_write(const struct letter *l)
{
	return l->opcode == IBV_WR_RDMA_WRITE || l->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* delivery.c */
/** Check what has completed at a node. @return whether there was anything */
bool delivery_poll(struct unreliable *u, struct node *n);
/** What was written is what was sent, or was not: each byte. */
void delivery_check_writes(const struct unreliable *u, const struct node *n);
/** How many messages there are to be received, if none is lost. */
uint64_t delivery_expected(const struct unreliable *u);

#endif /* UROCE_TEST_SIM_UNRELIABLE_H */
