/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Frames to and from a client: its rings, in the memory that it shares. An impossible value in them is a fault,
 * after which the link does nothing any more. One thread.
 */

#ifndef UROCE_SWITCH_MEMIF_LINK_H
#define UROCE_SWITCH_MEMIF_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "memif/region.h"
#include "memif/wire.h"

struct memif_queue {
	struct memif_ring *ring; /* NULL: not added yet */
	uint16_t slots;
	uint16_t next;           /* to be read or filled; never taken from what is shared */
	int wake;                /* from the client; -1 */
};

struct memif_link {
	struct memif_regions regions;
	struct memif_queue in[UROCE_SWITCH_RINGS]; /* from the client, those that have come first */
	struct memif_queue out[UROCE_SWITCH_RINGS];
	uint16_t nb_in;
	uint16_t nb_out;
	uint16_t turn;        /* of the rings that are read */
	const char *fault;    /* NULL: none */
	bool too_long;        /* the next frame is more than its ring would ever hold */
	uint64_t malformed;   /* frames that were none */
};

/** It has no memory and no rings. */
void uroce_memif_link_init(struct memif_link *link);
/** Give all of it back. */
void uroce_memif_link_fini(struct memif_link *link);

/** Add a ring of the client's; on success the eventfd is the link's.
 * @return NULL, or what is wrong with it */
const char *uroce_memif_link_add_ring(struct memif_link *link, const struct memif_add_ring *ring, int wake);

/** Begin, with empty rings. @return NULL, or what is missing */
const char *uroce_memif_link_start(struct memif_link *link);

/** Frames of the client, copied into mbufs of the pool; the caller frees them. @return how many */
uint16_t uroce_memif_link_receive(struct memif_link *link, struct rte_mempool *pool, struct rte_mbuf **frames,
				  uint16_t room);

/** Frames to the client, copied and freed.
 * @return how many; where not all, there is no room, or link->too_long says that there never is for the next one */
uint16_t uroce_memif_link_send(struct memif_link *link, struct rte_mbuf **frames, uint16_t n);

/** Ask the client to write to its eventfd when it has filled slots; or not to, as at the beginning. */
void uroce_memif_link_wake(struct memif_link *link, bool wanted);

#endif /* UROCE_SWITCH_MEMIF_LINK_H */
