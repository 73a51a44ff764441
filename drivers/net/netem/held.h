/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Keeps delayed frames until they are due: a binary heap, in which frames due at the same time keep their order.
 * One thread at a time.
 */

#ifndef UROCE_NETEM_HELD_H
#define UROCE_NETEM_HELD_H

#include <stdint.h>

#include <rte_mbuf.h>

struct uroce_netem_held_frame {
	uint64_t due;		/* TSC */
	uint64_t order;
	struct rte_mbuf *mbuf;
};

struct uroce_netem_held {
	struct uroce_netem_held_frame *frames;	/* room for `room` of them */
	uint32_t count;
	uint32_t room;
	uint64_t order;
};

/** @return 0 or -ENOMEM */
int uroce_netem_held_init(struct uroce_netem_held *h, uint32_t room);
/** Frees what is held, too. */
void uroce_netem_held_fini(struct uroce_netem_held *h);

/** There is room. Owns m from here on. */
void uroce_netem_held_put(struct uroce_netem_held *h, struct rte_mbuf *m, uint64_t due);
/** @return the first that is due, for the caller to own; NULL: none is */
struct rte_mbuf *uroce_netem_held_get(struct uroce_netem_held *h, uint64_t now);

#endif /* UROCE_NETEM_HELD_H */
