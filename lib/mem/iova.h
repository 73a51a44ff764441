/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The I/O addresses of a region of memory that DPDK knows, so that no packet has to ask for one. Written once,
 * before the region's key can be looked up.
 */

#ifndef UROCE_MEM_IOVA_H
#define UROCE_MEM_IOVA_H

#include <stdint.h>

#include <rte_common.h>

struct uroce_dpdk_area;

struct uroce_iova_map {
	uint64_t va;	      /* of the first page */
	rte_iova_t base;      /* of the first page, if the pages follow each other (n_pages is 0) */
	const uint8_t *pages; /* else the IOVA of the first, and one each `stride`: EAL's table of pages
			       * or ours. RTE_BAD_IOVA: a page has none */
	uint32_t n_pages;
	uint32_t stride;
	uint8_t page_log2; /* bytes, 12 .. 30 */
	rte_iova_t own[];
};

/**
 * The map for the bytes first .. last. The caller holds rte_mcfg_mem_read_lock(). It may lead into
 * EAL's table of pages: nobody may look anything up once DPDK has given one of them back.
 * @param area	what uroce_dpdk_area() says of `first`
 * @param map	set to NULL when no byte of external memory has an IOVA, or the range is not within the
 *		area
 * @return 0 or -ENOMEM
 */
int uroce_iova_map_create(const struct uroce_dpdk_area *area, uint64_t first, uint64_t last,
			  struct uroce_iova_map **map);
void uroce_iova_map_destroy(struct uroce_iova_map *map);

/** IOVA of length bytes at va, which lie within the map; RTE_BAD_IOVA: none, or not contiguous. */
rte_iova_t uroce_iova_map_lookup(const struct uroce_iova_map *map, const void *va, uint32_t length);

#endif /* UROCE_MEM_IOVA_H */
