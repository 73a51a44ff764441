/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Shows DPDK's memory to a peer that asks for it, and keeps the peer informed when DPDK maps or unmaps pages. While the
 * peer does not know all pages, payloads are copied.
 */

#ifndef UROCE_PORT_MEMIF_SHOW_H
#define UROCE_PORT_MEMIF_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include "port/memif/wire.h"
#include "uroce_config.h"

/* One of DPDK's segment lists, which is a window of the peer. */
struct uroce_memif_list {
	uint64_t first; /* address */
	uint64_t bytes;
	uint8_t *pages; /* what the peer knows of each */
};

struct uroce_memif_show {
	/* written with the lock of show.c: */
	int socket;		/* to the peer; 0: it does not understand */
	bool is_wanted;		/* the port asks for it */
	bool has_asked;		/* the peer's memory was asked for */
	bool is_asked;		/* the peer has asked */
	uint32_t sent;		/* SHOWs */
	/* and read by workers: */
	uint32_t complete;	/* once the peer has seen so many SHOWs it knows all pages; 0: not all were sent */
	uint16_t count;
	struct uroce_memif_list lists[UROCE_MEMIF_WINDOWS];
};

/** A connection begins. @param socket	to a peer that understands; the function takes a duplicate. Control threads. */
void uroce_memif_show_begin(struct uroce_memif_show *s, int socket);
/** Does the port want this? Control threads. */
void uroce_memif_show_want(struct uroce_memif_show *s, bool is_wanted);
/** The peer has asked. Control threads. */
void uroce_memif_show_asked(struct uroce_memif_show *s);
/** The connection ends. Control threads. */
void uroce_memif_show_end(struct uroce_memif_show *s);

/** Does the peer know all memory? @param seen	the peer's count of SHOWs, which is read only if all were sent: it is in a
 * cache line that other cores write */
static inline bool
uroce_memif_is_shown(const struct uroce_memif_show *s, const uint32_t *seen)
{
	/* pairs with the release in show.c, after the lists */
	const uint32_t complete = __atomic_load_n(&s->complete, __ATOMIC_ACQUIRE);

	/* pairs with the release in see() of the peer, which has mapped the memory */
	return complete != 0 && (int32_t)(__atomic_load_n(seen, __ATOMIC_ACQUIRE) - complete) >= 0;
}

/** Refer to memory. @return false: it is not shown */
static inline bool
uroce_memif_refer(const struct uroce_memif_show *s, const void *va, uint32_t bytes, struct memif_reference *r)
{
	const uint16_t count = __atomic_load_n(&s->count, __ATOMIC_RELAXED);

	for (uint16_t i = 0; i < count; i++) {
		const uint64_t at = (uintptr_t)va - s->lists[i].first;

		if (at >= s->lists[i].bytes || bytes > s->lists[i].bytes - at)
			continue;
		*r = (struct memif_reference){ .at = at, .bytes = bytes, .window = i };
		return true;
	}
	return false;
}

#endif /* UROCE_PORT_MEMIF_SHOW_H */
