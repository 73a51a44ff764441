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

/* A segment list of DPDK. The peer maps it as a window. */
struct uroce_memif_list {
	uint64_t first; /* address of its first page */
	uint64_t bytes;
	uint8_t *pages; /* state of each page at the peer: an enum of show.c */
};

struct uroce_memif_show {
	/* written with the lock of show.c: */
	int socket;		/* to the peer; 0: the peer does not understand MEMIF_SHOW */
	bool is_wanted;		/* the port has share_memory */
	bool has_asked;		/* MEMIF_ASK was sent */
	bool is_asked;		/* MEMIF_ASK was received */
	uint32_t sent;		/* number of MEMIF_SHOWs */
	/* and read by workers: */
	uint32_t complete;	/* the peer knows all pages after this many SHOWs; 0: not all were sent */
	uint16_t count;
	struct uroce_memif_list lists[UROCE_MEMIF_WINDOWS];
};

/** A connection begins. @param socket	duplicated; 0: the peer does not understand MEMIF_SHOW. Control threads. */
void uroce_memif_show_begin(struct uroce_memif_show *s, int socket);
/** Set whether the port has share_memory. Control threads. */
void uroce_memif_show_want(struct uroce_memif_show *s, bool is_wanted);
/** The peer has sent MEMIF_ASK. Control threads. */
void uroce_memif_show_asked(struct uroce_memif_show *s);
/** The connection ends. Control threads. */
void uroce_memif_show_end(struct uroce_memif_show *s);

/** Does the peer know all memory?
 * @param seen	the peer's count of SHOWs; read only if all were sent, since other cores write its cache line */
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
