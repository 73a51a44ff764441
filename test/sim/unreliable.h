/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * UC connections and UD queue pairs, with their own oracle: a message arrives completely and unchanged, or not at all.
 */

#ifndef UROCE_TEST_SIM_UNRELIABLE_H
#define UROCE_TEST_SIM_UNRELIABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "sim.h"
#include "world.h"

#define NODE_COUNT       7 /* the first ones are UC */
#define NODE_UC_COUNT    4
#define NODE_GROUP       NODE_COUNT /* destination: all UD nodes in the group */
#define NODE_MESSAGES    64   /* most messages of a node */
#define NODE_DEPTH       16   /* of each queue */
#define NODE_SLOT_BYTES  8192 /* a message, the 40 bytes in front, and a guard */
#define NODE_GUARD_BYTES 64
#define NODE_QKEY        0x11220000
#define NODE_GUARD       0xc3
#define NODE_RECV_BIT    (UINT64_C(1) << 32) /* in a wr_id: a receive */

/* A message of a node. */
struct letter {
	unsigned int to; /* node, or NODE_GROUP */
	uint32_t length;
	enum ibv_wr_opcode opcode;
	enum ibv_wc_status status; /* the expected status of its completion */
	bool wrong_qkey;
	bool signaled;
	unsigned int members; /* NODE_GROUP: bit per node that may receive it */
	unsigned int came_to; /* bit per node that has received it */
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
	uint8_t *writes;   /* UC: NODE_MESSAGES slots; the peer writes message n to slot n */
	struct letter letters[NODE_MESSAGES];
	unsigned int posted;
	unsigned int completed;
	unsigned int received;            /* completed receives */
	unsigned int receives_posted;
	bool member; /* of the group */
	bool failing;                     /* a message that must fail is outstanding */
	unsigned int last_of[NODE_COUNT]; /* by sender: one past the last received number */
};

struct unreliable {
	struct world *world;
	struct sim_random random;
	uint64_t seed;
	struct node nodes[NODE_COUNT];
	bool in_order; /* the link keeps frames in order, and duplicates none */
	uint64_t delivered; /* delivered messages, counted for each receiver */
	bool has_group;	    /* a message was sent to the group */
	union ibv_gid group;
};

/* node.c */
void node_create(struct unreliable *u, struct node *n, unsigned int index, enum ibv_qp_type type, unsigned int end);
/** Move the QP to RTS; connect a UC node to its peer. */
void node_connect(struct unreliable *u, struct node *n);
void node_destroy(const struct unreliable *u, struct node *n);
/** Attach to the group, or detach from it. */
void node_attach(struct unreliable *u, struct node *n);
void node_detach(const struct unreliable *u, struct node *n);
/** @return the byte at `offset` of message `number` of a node */
uint8_t letter_byte(const struct unreliable *u, unsigned int node, unsigned int number, uint32_t offset);
/** The identity of a message, in its immediate data or its first 4 bytes. */
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
/** Poll and check completions of a node. @return whether there was one */
bool delivery_poll(struct unreliable *u, struct node *n);
/** Check that each byte of a WRITE's target is the sent one, or unchanged. */
void delivery_check_writes(const struct unreliable *u, const struct node *n);
/** @return number of messages to be received, if none is lost */
uint64_t delivery_expected(const struct unreliable *u);

#endif /* UROCE_TEST_SIM_UNRELIABLE_H */
