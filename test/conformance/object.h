/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What a scenario has made, by the names that it has given, and the values that can be written in terms of
 * them: "A+16", "A.rkey ^ 1", "Q.qpn", "PEER". A name stays good when its object has gone, so that a stale
 * key can be written too. One thread.
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
		void *verbs;		/* NULL: destroyed, or never made */
	};
	/* of memory */
	uint8_t *memory;
	uint64_t bytes;
	uint64_t addr;			/* of its first byte, as keys name it; or the value */
	uint32_t lkey, rkey;
	uint32_t qpn;
	bool overrun;			/* of a CQ: the script expected it */
};

/** A new object, zeroed but for its name and kind. The name must be new, or that of an object that is gone. */
struct object *object_add(struct lexer *l, const char *name, enum object_kind kind);
/** The object that a name means. Fails the script when there is none of this kind; gone ones are found too. */
struct object *object_find(struct lexer *l, const char *name, enum object_kind kind);
/** The same, if there is one of this kind; else NULL, and nothing is taken. */
struct object *object_take(struct lexer *l, enum object_kind kind);
/** The same for the word that comes next. */
struct object *object_need(struct lexer *l, enum object_kind kind);
/** The i-th object in the order of creation, or NULL. */
struct object *object_at(unsigned int i);
/** Free all memory, forget all names. */
void object_clear(void);
/** The memory region whose range holds this address, the latest first; or NULL. */
const struct object *object_of_address(uint64_t addr);
/** An address, and the region whose name it begins with; else the one that holds it. @return the region or NULL */
const struct object *object_address(struct lexer *l, uint64_t *addr);

/** A value: sums, differences and exclusive ors of numbers and names. */
uint64_t object_value(struct lexer *l);
/** In terms of names where there are some, for messages. @return text */
const char *object_describe_address(uint64_t addr, char *text, size_t bytes);
const char *object_describe_key(uint32_t key, char *text, size_t bytes);

#endif /* UROCE_TEST_OBJECT_H */
