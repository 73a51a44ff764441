/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The indices and slots of a ring in shared memory. Each is read once, and checked.
 */

#ifndef UROCE_PORT_MEMIF_RING_H
#define UROCE_PORT_MEMIF_RING_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_ethdev.h>

#include "base/log.h"
#include "port/memif/memif.h"

/* A slot's fields, and its bytes in this process. */
struct uroce_memif_slot {
	uint8_t *at;
	const uint16_t *word; /* the flags in the ring, in which the peer may revoke the frame */
	uint32_t length;
	uint16_t flags;
};

/* Stop using the ring until the next connection. */
static inline void
uroce_memif_break(struct uroce_memif_ring *r, const char *why)
{
	if (r->is_broken)
		return;
	r->is_broken = true;
	UROCE_LOG(ERR, "port %u: queue %u is dead, since its net_memif peer has corrupted it (%s): restart the peer\n",
		  r->port_id, r->queue, why);
}

/** @return the number of slots from `next` to the peer's index, which credit moves; 0 if that is impossible */
static inline uint16_t
uroce_memif_available(struct uroce_memif_ring *r, uint16_t credit)
{
	/* pairs with the release of the peer, which has filled or freed them */
	const uint16_t theirs = __atomic_load_n(r->is_server ? &r->ring->head : &r->ring->tail, __ATOMIC_ACQUIRE);
	const uint16_t n = (uint16_t)(theirs + credit - r->next);

	if (likely(n <= r->slots))
		return n;
	uroce_memif_break(r, "index out of range");
	return 0;
}

/** Pass the slots before `next` to the peer. */
static inline void
uroce_memif_publish(struct uroce_memif_ring *r, uint16_t credit)
{
	/* pairs with the acquire of the peer */
	__atomic_store_n(r->is_server ? &r->ring->tail : &r->ring->head, (uint16_t)(r->next + credit), __ATOMIC_RELEASE);
}

/** The slot of an index. */
static inline struct memif_desc *
uroce_memif_desc(const struct uroce_memif_ring *r, uint16_t i)
{
	return &r->ring->slots[i & (r->slots - 1)];
}

/** Read a slot. @param room	bytes that it must have; 0: as many as it says. @return false: it leads out of the memory */
static inline bool
uroce_memif_read(struct uroce_memif_ring *r, uint16_t i, uint32_t room, struct uroce_memif_slot *slot)
{
	const struct memif_desc *d = uroce_memif_desc(r, i);

	slot->word = &d->flags;
	slot->flags = __atomic_load_n(&d->flags, __ATOMIC_RELAXED);
	slot->length = room != 0 ? room : __atomic_load_n(&d->length, __ATOMIC_RELAXED);
	slot->at = uroce_memif_region_at(r->regions, __atomic_load_n(&d->region, __ATOMIC_RELAXED),
					 __atomic_load_n(&d->offset, __ATOMIC_RELAXED), slot->length);
	if (likely(slot->at != NULL))
		return true;
	uroce_memif_break(r, "slot out of the memory");
	return false;
}

/** Has the driver connected the port? Until then it may still reset the ring. */
static inline bool
uroce_memif_is_up(const struct uroce_memif_ring *r)
{
	struct rte_eth_link link = { 0 };

	return rte_eth_link_get_nowait(r->port_id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

#endif /* UROCE_PORT_MEMIF_RING_H */
