/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Memory windows (R48): additional rkeys for a part of a region, for packets of a PD (type 1) or of a QP (type 2).
 * Control threads allocate and free windows. Workers bind and invalidate them, within a poll. Windows share the key
 * table with regions.
 */

#ifndef UROCE_MEM_MW_H
#define UROCE_MEM_MW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>

#include "mem/mr.h"

/* The type 2 windows that are bound to a QP. Zeroed: none. Protected by the table's lock. */
struct uroce_mw_owner {
	LIST_HEAD(, uroce_mw) windows;
};

struct uroce_mw {
	struct ibv_mw ibv; /* rkey: of the last posted bind; threads that post: rw */
	struct uroce_mrs *table;
	struct uroce_mr_key *slot;
	uint32_t key; /* as allocated; identifies the slot */
	/* protected by table->lock */
	struct uroce_mr *mr; /* NULL: not bound */
	LIST_ENTRY(uroce_mw) mr_link;
	LIST_ENTRY(uroce_mw) owner_link; /* only of a bound window of type 2 */
};

/** @return the window, not bound, or NULL and errno: EINVAL: type; ENOMEM: the table is full */
struct uroce_mw *uroce_mw_create(struct uroce_mrs *t, struct ibv_pd *pd, enum ibv_mw_type type);

/** Unbind the window, wait until no worker uses it, and free it. A bind that a worker executes later fails. */
void uroce_mw_destroy(struct uroce_mw *mw);

/**
 * Choose the rkey of the window's next bind. Any thread; takes no lock, since posting calls it.
 * @param wanted	type 2: the low 8 bits of the rkey. Type 1: ignored, the rkey is drawn
 */
uint32_t uroce_mw_next_rkey(struct uroce_mw *mw, uint32_t wanted);

struct uroce_mw_bind {
	const struct uroce_mw *mw; /* only compared: the window may have been freed */
	uint32_t rkey;             /* from uroce_mw_next_rkey() */
	uint32_t lkey;             /* of the region; 0: none, to unbind type 1 */
	uint64_t addr;             /* an address of the region */
	uint64_t length;           /* 0: unbind */
	uint32_t access;           /* IBV_ACCESS_REMOTE_*, _FLUSH_*, IBV_ACCESS_ZERO_BASED */
	const struct ibv_pd *pd;   /* of the QP */
	struct uroce_mw_owner *qp;
	/* Out, NULL: not wanted. Set only if the bind invalidates a key that other workers may be using: the token of
	 * the grace period that the bind must wait for. */
	uint64_t *grace;
};

/**
 * Bind a window, all or nothing (R48). Worker, within a poll.
 * @return	0; -EINVAL: the window was freed, is not of this PD, or is of type 2 and bound; or the rules of its
 *		type or the region do not allow the bind
 */
int uroce_mw_bind(struct uroce_mrs *t, const struct uroce_mw_bind *b);

/**
 * Invalidate the rkey of a type 2 window for the peer; the window may then be bound again (R33). Neither regions nor
 * type 1 windows can be invalidated. On the QP's worker, within a poll: no other worker uses the key.
 * @param qp	the QP that received the request and that the window is bound to
 * @return	0 or -EINVAL
 */
int uroce_mw_invalidate(struct uroce_mrs *t, uint32_t rkey, const struct ibv_pd *pd,
			const struct uroce_mw_owner *qp);

/** Would uroce_mw_invalidate() succeed? */
bool uroce_mw_may_invalidate(struct uroce_mrs *t, uint32_t rkey, const struct ibv_pd *pd, const struct uroce_mw_owner *qp);

/**
 * Invalidate the rkey of a type 2 window for the application, on any QP of the PD.
 * @param qp	the QP that the request was posted to
 * @param grace	out: as in struct uroce_mw_bind
 */
int uroce_mw_invalidate_local(struct uroce_mrs *t, uint32_t rkey, const struct ibv_pd *pd,
			      const struct uroce_mw_owner *qp, uint64_t *grace);

/** Unbind the windows of a QP that is destroyed. */
void uroce_mw_owner_gone(struct uroce_mrs *t, struct uroce_mw_owner *qp);

#endif /* UROCE_MEM_MW_H */
