/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The IOVAs of a region of memory that DPDK knows, as they were at its registration, so that no
 * packet has to ask for one. Written once, before the region's key can be looked up.
 */

#ifndef UROCE_MEM_IOVA_H
#define UROCE_MEM_IOVA_H

#include <stdint.h>

#include <rte_common.h>

struct uroce_iova_map {
	uint64_t va;     /* of the first page */
	rte_iova_t base; /* of the first page, if the pages follow each other (n_pages is 0) */
	uint32_t n_pages;
	uint8_t page_log2;  /* bytes, 12 .. 30 */
	rte_iova_t pages[]; /* RTE_BAD_IOVA: this one has none */
};

/**
 * The map for the bytes first .. last. The caller holds rte_mcfg_mem_read_lock().
 * @param map	set to NULL when no byte has an IOVA, or the range is not within one of DPDK's areas
 * @return 0 or -ENOMEM
 */
int uroce_iova_map_create(uint64_t first, uint64_t last, struct uroce_iova_map **map);
void uroce_iova_map_destroy(struct uroce_iova_map *map);

/** IOVA of length bytes at va, which lie within the map; RTE_BAD_IOVA: none, or not contiguous. */
rte_iova_t uroce_iova_map_lookup(const struct uroce_iova_map *map, const void *va, uint32_t length);

#endif /* UROCE_MEM_IOVA_H */
