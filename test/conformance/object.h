/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The objects of a scenario by name, and values that are written with names: "A+16", "A.rkey ^ 1", "Q.qpn", "PEER". A
 * name stays valid after its object is destroyed, so that a scenario can use a stale key. For one thread.
 */

#ifndef UROCE_TEST_OBJECT_H
#define UROCE_TEST_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce.h>

#include "lexer.h"

#define OBJECT_PEER_QPN 0x123456	/* PEER */
#define OBJECT_MAX 256
#define OBJECT_NAME_BYTES 16

enum object_kind {
	OBJECT_PD,
	OBJECT_CQ,
	OBJECT_QP,
	OBJECT_MR,
	OBJECT_CHANNEL,
	OBJECT_SRQ,
	OBJECT_AH,
	OBJECT_MW,
	OBJECT_VALUE,
	OBJECT_KIND_COUNT,
};

struct object {
	char name[OBJECT_NAME_BYTES];
	enum object_kind kind;
	union {
		struct ibv_pd *pd;
		struct ibv_cq *cq;
		struct ibv_qp *qp;
		struct ibv_mr *mr;
		struct ibv_comp_channel *channel;
		struct ibv_srq *srq;
		struct ibv_ah *ah;
		struct ibv_mw *mw;
		void *verbs;		/* NULL: destroyed, or never created */
	};
	/* of memory */
	uint8_t *memory;
	uint64_t bytes;
	uint64_t addr;			/* of the first byte, as keys name it; or the value */
	uint32_t lkey, rkey;
	uint32_t qpn;
	bool overrun;			/* of a CQ: the script has expected it */
};

/** Add an object that is zero except its name and kind. The name must be new, or that of a destroyed object. */
struct object *object_add(struct lexer *l, const char *name, enum object_kind kind);
/** Find the object of this name, even a destroyed one. Fails the script if there is none of this kind. */
struct object *object_find(struct lexer *l, const char *name, enum object_kind kind);
/** Take the next word if it names an object of this kind; otherwise return NULL, and take nothing. */
struct object *object_take(struct lexer *l, enum object_kind kind);
/** Take the next word, which must name an object of this kind. */
struct object *object_need(struct lexer *l, enum object_kind kind);
/** The i-th object in the order of creation, or NULL. */
struct object *object_at(unsigned int i);
/** Free all memory, and forget all names. */
void object_clear(void);
/** The latest memory region whose range contains this address, or NULL. */
const struct object *object_of_address(uint64_t addr);
/**
 * An address, and the region with whose name it begins, or else the region that contains it. @return the region or NULL
 */
const struct object *object_address(struct lexer *l, uint64_t *addr);

/** A value: sums, differences and exclusive ors of numbers and names. */
uint64_t object_value(struct lexer *l);
/** Describe a value by names if possible, for messages. @return text */
const char *object_describe_address(uint64_t addr, char *text, size_t bytes);
const char *object_describe_key(uint32_t key, char *text, size_t bytes);

#endif /* UROCE_TEST_OBJECT_H */
