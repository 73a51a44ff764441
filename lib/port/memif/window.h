/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The memory that a peer shows. Each window is an address range of the peer; a part of it that the peer does not show
 * reads as zeros, so that no reference within a window can fault. But the peer can truncate a file that it has shown,
 * so both ports must have share_memory.
 */

#ifndef UROCE_PORT_MEMIF_WINDOW_H
#define UROCE_PORT_MEMIF_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "port/memif/wire.h"
#include "uroce_config.h"

struct uroce_memif_windows {
	struct uroce_memif_window {
		uint8_t *addr; /* NULL: the peer has shown nothing there */
		uint64_t bytes;
		void *mapping; /* the window and the padding that aligns it */
		uint64_t mapping_bytes;
	} at[UROCE_MEMIF_WINDOWS];
};

/** Carry out a SHOW; the caller keeps the descriptor. While all workers are held.
 * @return 0 or -errno: EPERM, the descriptor is not of memory; EINVAL, a range is invalid; ENOMEM */
int uroce_memif_window_set(struct uroce_memif_windows *w, const struct memif_show *show, int fd);

/** Unmap all windows. While all workers are held. */
void uroce_memif_windows_drop(struct uroce_memif_windows *w);

/** @return a payload; NULL: it is not within a window */
static inline uint8_t *
uroce_memif_window_at(const struct uroce_memif_windows *w, const struct memif_reference *r)
{
	const struct uroce_memif_window *window = &w->at[r->window % UROCE_MEMIF_WINDOWS];

	if (r->window >= UROCE_MEMIF_WINDOWS || r->bytes > window->bytes || r->at > window->bytes - r->bytes)
		return NULL;
	return window->addr + r->at;
}

#endif /* UROCE_PORT_MEMIF_WINDOW_H */
