/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Moves frames to and from a client over its rings, in memory that the client shares. An impossible value in them is
 * a fault, after which the link does nothing more. One thread.
 */

#ifndef UROCE_SWITCH_MEMIF_LINK_H
#define UROCE_SWITCH_MEMIF_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "port/memif/region.h"
#include "port/memif/wire.h"

struct memif_queue {
	struct memif_ring *ring; /* NULL: not added yet */
	uint16_t slots;
	uint16_t next;           /* the next slot; never read from shared memory */
	int wake;                /* eventfd that the client writes to; -1: none */
};

struct memif_link {
	struct memif_regions regions;
	struct memif_queue in[UROCE_SWITCH_RINGS]; /* from the client, in the order they were added */
	struct memif_queue out[UROCE_SWITCH_RINGS];
	uint16_t nb_in;
	uint16_t nb_out;
	uint16_t turn;        /* the ring to read first */
	const char *fault;    /* the reason of a fault; NULL: none */
	bool too_long;        /* the next frame can never fit into its ring */
	uint64_t malformed;   /* malformed frames */
};

/** Initialize a link without memory and rings. */
void uroce_memif_link_init(struct memif_link *link);
/** Release all resources of a link. */
void uroce_memif_link_fini(struct memif_link *link);

/** Add a ring of the client; on success the link owns the eventfd.
 * @return NULL, or the reason of a failure */
const char *uroce_memif_link_add_ring(struct memif_link *link, const struct memif_add_ring *ring, int wake);

/** Start with empty rings. @return NULL, or the reason: a missing ring */
const char *uroce_memif_link_start(struct memif_link *link);

/** Receive frames, copied into mbufs of the pool; the caller frees them. @return number of frames */
uint16_t uroce_memif_link_receive(struct memif_link *link, struct rte_mempool *pool, struct rte_mbuf **frames,
				  uint16_t room);

/** Send frames: copies and frees them.
 * @return number of frames; if not all, the ring is full, or the next frame can never fit (link->too_long) */
uint16_t uroce_memif_link_send(struct memif_link *link, struct rte_mbuf **frames, uint16_t n);

/** Ask the client to write to its eventfd when it has filled slots, or not to, the default. */
void uroce_memif_link_wake(struct memif_link *link, bool wanted);

#endif /* UROCE_SWITCH_MEMIF_LINK_H */
