/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Several queue pairs that receive from a few shared queues: RC's from one, XRC's from the one that each request
 * names. Every message arrives once, whole, in its queue pair's order, whatever the link does; and not at all, or
 * once, when a queue pair fails meanwhile.
 */

#ifndef UROCE_TEST_SIM_SHARED_H
#define UROCE_TEST_SIM_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "atomics.h"
#include "sim.h"
#include "world.h"

#define SHARED_PAIRS      6 /* the first half of them RC, the others XRC */
#define SHARED_POOLS      3 /* SRQs: the first is RC's, the others XRC's */
#define SHARED_MESSAGES   96
#define SHARED_DEPTH      8 /* of a send queue */
#define SHARED_SLOTS      16
#define SHARED_MOST_BYTES 3000
#define SHARED_GUARD_BYTES 8
#define SHARED_GUARD      0xd7
#define SHARED_SLOT_BYTES (SHARED_MOST_BYTES + SHARED_GUARD_BYTES)

struct parcel {
	enum ibv_wr_opcode opcode;
	uint32_t length;
	unsigned int pool;
	uint64_t compare_add;
	uint64_t swap;
	bool delivered; /* its receive has completed */
	bool succeeded; /* it has completed */
	bool failed;
};

/* A sender, and the QP that it is connected to. */
struct pair {
	unsigned int index;
	bool xrc;
	struct end *end;
	struct ibv_qp *sender;
	struct ibv_qp *receiver;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *sends;	 /* SHARED_DEPTH slots */
	uint8_t *writes; /* at the receiver's end: a slot for each message */
	struct ibv_mr *writes_mr;
	struct parcel parcels[SHARED_MESSAGES];
	unsigned int posted;
	unsigned int completed;
	unsigned int next_of[SHARED_POOLS]; /* messages are received in this order */
	uintptr_t life;		 /* it has been made so often */
	bool broken;		 /* one of its QPs is in error: it is to be made anew */
	bool failed;		 /* ... and a request has failed */
	bool refused;		 /* ... because it was not allowed */
	unsigned int last_wqes;	 /* events of this life */
};

struct pool {
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory;
	uint32_t number; /* XRC */
	uint32_t max_wr;
	uint32_t limit;			   /* 0: not armed, or it has been reached */
	uint64_t posted;		   /* of all; a slot is used for every SHARED_SLOTS-th */
	bool outstanding[SHARED_SLOTS];	   /* posted, not completed */
	uint64_t post_of[SHARED_SLOTS];	   /* which post it was */
	unsigned int outstandings;
};

struct shared {
	struct sim *sim;
	struct world *world;
	struct sim_random random;
	uint64_t seed;
	struct end *home; /* where all is received */
	struct ibv_xrcd *xrcd;
	struct word *words; /* a pair's own each, and one for all of them */
	struct ibv_mr *words_mr;
	struct pool pools[SHARED_POOLS];
	struct pair pairs[SHARED_PAIRS];
};

/* What tells a message: in its immediate, or its first 4 bytes. */
static inline uint32_t
parcel_id(unsigned int pair, unsigned int number)
{
	return 0xa5u << 24 | pair << 16 | number;
}

static inline bool
parcel_is_atomic(const struct parcel *l)
{
	return l->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || l->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Does it take a receive? */
static inline bool
parcel_is_message(const struct parcel *l)
{
	return l->opcode == IBV_WR_SEND || l->opcode == IBV_WR_SEND_WITH_IMM ||
	       l->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* pair.c */
void pair_create(struct shared *s, struct pair *p);
void pair_destroy(struct pair *p);
/** Two QPs, connected. */
void pair_connect(struct shared *s, struct pair *p);
/** The byte at `offset` of a message. */
uint8_t parcel_byte(const struct shared *s, unsigned int pair, unsigned int number, uint32_t offset);
bool pair_may_post(const struct pair *p);
void pair_post(struct shared *s, struct pair *p, struct parcel parcel);
/** Check all that has completed at the sender. @return whether there was anything */
bool pair_poll(struct shared *s, struct pair *p);
void pair_check_bytes(const struct shared *s, unsigned int pair, unsigned int number, const uint8_t *bytes,
		      const char *what);
/** Everything has completed: what succeeded was received. */
void pair_check_delivered(const struct pair *p);
/** One of the QPs goes into the error state, with what is under way. */
void pair_break(struct shared *s, struct pair *p);
/** After that: both go, with all that they had completed, and new ones come. */
void pair_renew(struct shared *s, struct pair *p);

/* pool.c */
void pool_create(struct shared *s, struct pool *p);
void pool_destroy(struct pool *p);
void pool_post(struct shared *s, struct pool *p);
/** Check all that has completed. @return whether there was anything */
bool pool_poll(struct shared *s, struct pool *p);
/** Larger, smaller, armed: what was queued stays, whoever is at it. */
void pool_modify(struct shared *s, struct pool *p);
/** No message is under way: a limit that is armed has not been reached. */
void pool_check_limit(struct shared *s, const struct pool *p);

#endif /* UROCE_TEST_SIM_SHARED_H */
