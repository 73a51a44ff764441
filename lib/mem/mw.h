/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Memory windows (R48): keys of their own to a part of a region, for packets of a PD (type 1) or of a QP (type 2).
 * Control threads allocate and free; workers bind and invalidate, within a poll; posters read. A window is in the
 * key table, and is looked up like a region's key.
 */

#ifndef UROCE_MEM_MW_H
#define UROCE_MEM_MW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>

#include "mem/mr.h"

/* A QP as windows know it: those of type 2 that are bound to it. Zeroed: none. Under the table's lock. */
struct uroce_mw_owner {
	LIST_HEAD(, uroce_mw) windows;
};

struct uroce_mw {
	struct ibv_mw ibv; /* rkey: what the last bind that was posted makes of it; posters: rw */
	struct uroce_mrs *table;
	struct uroce_mr_key *slot;
	uint32_t key; /* as allocated: says which slot */
	/* under table->lock */
	struct uroce_mr *mr; /* that it is bound to; NULL: to none */
	LIST_ENTRY(uroce_mw) mr_link;
	LIST_ENTRY(uroce_mw) owner_link; /* type 2, bound */
};

/** @return the window, bound to nothing, or NULL and errno: EINVAL: type; ENOMEM: the table is full */
struct uroce_mw *uroce_mw_create(struct uroce_mrs *t, struct ibv_pd *pd, enum ibv_mw_type type);

/** Unbind, wait until no worker looks at it, free. A bind of it that is still to come fails. */
void uroce_mw_destroy(struct uroce_mw *mw);

/**
 * Choose the rkey that a bind will give the window. Any thread; takes no lock, since posting calls it.
 * @param wanted	type 2: its low 8 bits are taken. Of type 1 it is drawn.
 */
uint32_t uroce_mw_next_rkey(struct uroce_mw *mw, uint32_t wanted);

struct uroce_mw_bind {
	const struct uroce_mw *mw; /* need not exist any more */
	uint32_t rkey;             /* from uroce_mw_next_rkey() */
	uint32_t lkey;             /* of the region; 0: none, which unbinds type 1 */
	uint64_t addr;             /* as the region's addresses go */
	uint64_t length;           /* 0: unbind */
	uint32_t access;           /* IBV_ACCESS_REMOTE_*, _FLUSH_*, IBV_ACCESS_ZERO_BASED */
	const struct ibv_pd *pd;   /* of the QP */
	struct uroce_mw_owner *qp;
	/* Out: if the bind invalidates a key that other workers may be using, the token of the grace period that it
	 * must wait for; else unchanged. NULL: not wanted. */
	uint64_t *grace;
};

/**
 * Bind a window, all or nothing (R48). Worker, within a poll.
 * @return	0; -EINVAL: the window is gone, or not of this PD, or of type 2 and bound already, or the
 *		rules of its type, or the region, do not allow it
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

/**
 * Invalidate the rkey for the application, which may do so on any QP of the PD.
 * @param qp	the QP that the request was posted to
 * @param grace	out: as in struct uroce_mw_bind
 */
int uroce_mw_invalidate_local(struct uroce_mrs *t, uint32_t rkey, const struct ibv_pd *pd,
			      const struct uroce_mw_owner *qp, uint64_t *grace);

/** The QP is being destroyed: its windows become free to be bound. */
void uroce_mw_owner_gone(struct uroce_mrs *t, struct uroce_mw_owner *qp);

#endif /* UROCE_MEM_MW_H */
