/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Several queue pairs with a few shared receive queues: RC QPs use one of them, XRC requests name theirs. Every message
 * arrives once, whole, and in the order of its queue pair, with any harm by the link; at most once if a QP fails.
 */

#ifndef UROCE_TEST_SIM_SHARED_H
#define UROCE_TEST_SIM_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "atomics.h"
#include "sim.h"
#include "world.h"

#define SHARED_PAIRS      6 /* the first half is RC, the other XRC */
#define SHARED_POOLS      3 /* SRQs: the first is for RC, the others for XRC */
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

/* A sending QP, and the QP that it is connected to. */
struct pair {
	unsigned int index;
	bool xrc;
	struct end *end;
	struct ibv_qp *sender;
	struct ibv_qp *receiver;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *sends;	 /* SHARED_DEPTH slots */
	uint8_t *writes; /* target of WRITEs: a slot for each message */
	struct ibv_mr *writes_mr;
	struct parcel parcels[SHARED_MESSAGES];
	unsigned int posted;
	unsigned int completed;
	unsigned int next_of[SHARED_POOLS]; /* number of the next message, by pool */
	uintptr_t life;		 /* number of renewals */
	bool broken;		 /* one of its QPs is in error, to be renewed */
	bool failed;		 /* a request has failed */
	bool refused;		 /* a request was refused */
	unsigned int last_wqes;	 /* events of this life */
};

struct pool {
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory;
	uint32_t number; /* XRC */
	uint32_t max_wr;
	uint32_t limit;			   /* 0: not armed, or reached */
	uint64_t posted;		   /* number of posted receives; receive n uses slot n % SHARED_SLOTS */
	bool outstanding[SHARED_SLOTS];	   /* posted, not completed */
	uint64_t post_of[SHARED_SLOTS];	   /* number of the receive */
	unsigned int outstandings;
};

struct shared {
	struct sim *sim;
	struct world *world;
	struct sim_random random;
	uint64_t seed;
	struct end *home; /* the receiving end */
	struct ibv_xrcd *xrcd;
	struct word *words; /* one for each pair, and one for all */
	struct ibv_mr *words_mr;
	struct pool pools[SHARED_POOLS];
	struct pair pairs[SHARED_PAIRS];
};

/* The identity of a message, in its immediate data or its first 4 bytes. */
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

/* Does it consume a receive? */
static inline bool
parcel_is_message(const struct parcel *l)
{
	return l->opcode == IBV_WR_SEND || l->opcode == IBV_WR_SEND_WITH_IMM ||
	       l->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* pair.c */
void pair_create(struct shared *s, struct pair *p);
void pair_destroy(struct pair *p);
/** Connect the pair's QPs. */
void pair_connect(struct shared *s, struct pair *p);
/** @return the byte at `offset` of a message */
uint8_t parcel_byte(const struct shared *s, unsigned int pair, unsigned int number, uint32_t offset);
bool pair_may_post(const struct pair *p);
void pair_post(struct shared *s, struct pair *p, struct parcel parcel);
/** Poll and check completions of the sender. @return whether there was one */
bool pair_poll(struct shared *s, struct pair *p);
void pair_check_bytes(const struct shared *s, unsigned int pair, unsigned int number, const uint8_t *bytes,
		      const char *what);
/** Check that each successful message was received, when all have completed. */
void pair_check_delivered(const struct pair *p);
/** Move one of the QPs to the error state, with requests in flight. */
void pair_break(struct shared *s, struct pair *p);
/** Replace both QPs of a broken pair. */
void pair_renew(struct shared *s, struct pair *p);

/* pool.c */
void pool_create(struct shared *s, struct pool *p);
void pool_destroy(struct pool *p);
void pool_post(struct shared *s, struct pool *p);
/** Poll and check completions of the receives. @return whether there was one */
bool pool_poll(struct shared *s, struct pool *p);
/** Resize or arm the SRQ while it is in use; queued receives stay. */
void pool_modify(struct shared *s, struct pool *p);
/** Check that an armed limit has not been reached, when no message is in flight. */
void pool_check_limit(struct shared *s, const struct pool *p);

#endif /* UROCE_TEST_SIM_SHARED_H */
