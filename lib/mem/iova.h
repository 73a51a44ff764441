/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The I/O addresses of a region of memory that DPDK knows, so that workers need not ask DPDK for each packet.
 * Constant once the region's key can be looked up.
 */

#ifndef UROCE_MEM_IOVA_H
#define UROCE_MEM_IOVA_H

#include <stdint.h>

#include <rte_common.h>

struct uroce_dpdk_area;

struct uroce_iova_map {
	uint64_t va;          /* of the first page */
	rte_iova_t base;      /* of the first page, if n_pages is 0 */
	const uint8_t *pages; /* the IOVA of the first page (RTE_BAD_IOVA: none), in EAL's table or in own[] */
	uint32_t n_pages;     /* 0: the pages have consecutive IOVAs */
	uint32_t stride;      /* bytes between the IOVAs of two pages */
	uint8_t page_log2;    /* bytes, 12 .. 30 */
	rte_iova_t own[];
};

/**
 * Create the map for the bytes first .. last, which are in use. The map may point to EAL's table of pages, and must not
 * be used once DPDK has freed one of the pages.
 * @param area	of `first`, from uroce_dpdk_area()
 * @param map	set to NULL if no byte of external memory has an IOVA, or the range is not within the area
 * @return 0 or -ENOMEM
 */
int uroce_iova_map_create(const struct uroce_dpdk_area *area, uint64_t first, uint64_t last,
			  struct uroce_iova_map **map);
void uroce_iova_map_destroy(struct uroce_iova_map *map);

/** @return the IOVA of length bytes at va, within the map; RTE_BAD_IOVA: none, or not contiguous */
rte_iova_t uroce_iova_map_lookup(const struct uroce_iova_map *map, const void *va, uint32_t length);

#endif /* UROCE_MEM_IOVA_H */
