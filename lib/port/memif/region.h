/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The memory that a memif client shares. This process can access it safely, whatever the client does.
 */

#ifndef UROCE_PORT_MEMIF_REGION_H
#define UROCE_PORT_MEMIF_REGION_H

#include <stddef.h>
#include <stdint.h>

#include <uroce_config.h>

struct memif_regions {
	uint16_t count;
	struct memif_region {
		uint8_t *addr;
		uint64_t bytes;
	} at[UROCE_MEMIF_REGIONS];
};

/** Map the next region; the caller keeps the descriptor.
 * @return 0 or -errno: EPERM, the memory could shrink; EINVAL, it is shorter than `bytes`; ENOSPC, too many regions
 *		or too much memory */
int uroce_memif_region_add(struct memif_regions *r, int fd, uint64_t bytes);

/** Unmap all regions. */
void uroce_memif_regions_drop(struct memif_regions *r);

/** @return the address of these bytes; NULL: not within a region */
static inline void *
uroce_memif_region_at(const struct memif_regions *r, uint16_t region, uint32_t offset, uint32_t bytes)
{
	if (region >= r->count || (uint64_t)offset + bytes > r->at[region].bytes)
		return NULL;
	return r->at[region].addr + offset;
}

#endif /* UROCE_PORT_MEMIF_REGION_H */
