/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Keeps delayed frames until they are due, in a binary heap. Frames that are due at the same time keep their order.
 * One thread at a time.
 */

#ifndef UROCE_NETEM_HELD_H
#define UROCE_NETEM_HELD_H

#include <stdint.h>

#include <rte_mbuf.h>

struct uroce_netem_held_frame {
	uint64_t due;		/* TSC */
	uint64_t order;		/* sequence number */
	struct rte_mbuf *mbuf;
};

struct uroce_netem_held {
	struct uroce_netem_held_frame *frames;	/* the heap */
	uint32_t count;		/* frames in the heap */
	uint32_t room;		/* frames that fit */
	uint64_t order;		/* sequence number of the next frame */
};

/** @return 0 or -ENOMEM */
int uroce_netem_held_init(struct uroce_netem_held *h, uint32_t room);
/** Free the heap and its frames. */
void uroce_netem_held_fini(struct uroce_netem_held *h);

/** Takes ownership of m. The caller ensures that count < room. */
void uroce_netem_held_put(struct uroce_netem_held *h, struct rte_mbuf *m, uint64_t due);
/** @return the first frame that is due, which the caller owns; NULL: none is due */
struct rte_mbuf *uroce_netem_held_get(struct uroce_netem_held *h, uint64_t now);

#endif /* UROCE_NETEM_HELD_H */
