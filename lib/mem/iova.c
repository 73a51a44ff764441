/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Builds the IOVA map of a region from DPDK's segment lists (control threads) and looks addresses
 * up in it (workers). Pages whose IOVAs follow each other, which is all of them with IOVA as VA,
 * need no table.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <rte_bitops.h>
#include <rte_branch_prediction.h>
#include <rte_eal.h>
#include <rte_memory.h>

#include "mem/dpdk.h"
#include "mem/iova.h"

/* Do these pages follow each other in IOVA space? */
static bool
is_contiguous(const struct rte_memseg_list *msl, const struct rte_memseg *pages, uint32_t n)
{
	/* DPDK's own memory, not an application's: no need to look at every page */
	if (rte_eal_iova_mode() == RTE_IOVA_VA && !msl->external)
		return true;
	if (pages[0].iova == RTE_BAD_IOVA)
		return false;
	for (uint32_t i = 1; i < n; i++) {
		if (pages[i].iova != pages[0].iova + i * msl->page_sz)
			return false;
	}
	return true;
}

static struct uroce_iova_map *
create_map(const struct rte_memseg_list *msl, const struct rte_memseg *pages, uint32_t n_pages)
{
	struct uroce_iova_map *map = malloc(sizeof(*map) + n_pages * sizeof(map->pages[0]));

	if (map == NULL)
		return NULL;
	map->va = pages[0].addr_64;
	map->base = pages[0].iova;
	map->n_pages = n_pages;
	map->page_log2 = (uint8_t)__builtin_ctzll(msl->page_sz);
	return map;
}

/* A page's IOVA or RTE_BAD_IOVA for each; @return how many have one */
static uint32_t
fill_pages(struct uroce_iova_map *map, const struct rte_memseg *pages)
{
	uint32_t valid = 0;

	for (uint32_t i = 0; i < map->n_pages; i++) {
		map->pages[i] = pages[i].iova;
		valid += pages[i].iova != RTE_BAD_IOVA;
	}
	return valid;
}

int
uroce_iova_map_create(uint64_t first, uint64_t last, struct uroce_iova_map **map)
{
	struct rte_memseg_list *msl = uroce_dpdk_list(first);
	const struct rte_memseg *pages;
	uint32_t n;

	*map = NULL;
	if (msl == NULL || uroce_dpdk_extent(msl, first) <= last)
		return 0;
	/* one after the other, in an array */
	pages = rte_fbarray_get(&msl->memseg_arr, uroce_dpdk_page(msl, first));
	n = uroce_dpdk_page(msl, last) - uroce_dpdk_page(msl, first) + 1;
	if (is_contiguous(msl, pages, n)) {
		*map = create_map(msl, pages, 0);
		return *map != NULL ? 0 : -ENOMEM;
	}
	*map = create_map(msl, pages, n);
	if (*map == NULL)
		return -ENOMEM;
	if (fill_pages(*map, pages) == 0) {
		uroce_iova_map_destroy(*map);
		*map = NULL;
	}
	return 0;
}

void
uroce_iova_map_destroy(struct uroce_iova_map *map)
{
	free(map);
}

rte_iova_t
uroce_iova_map_lookup(const struct uroce_iova_map *map, const void *va, uint32_t length)
{
	const uint64_t offset = (uintptr_t)va - map->va;
	uint64_t page, last;
	rte_iova_t iova;

	if (map->n_pages == 0)
		return map->base + offset;
	page = offset >> map->page_log2;
	last = (offset + length - 1) >> map->page_log2;
	iova = map->pages[page];
	if (unlikely(iova == RTE_BAD_IOVA))
		return RTE_BAD_IOVA;
	while (page < last) {
		const rte_iova_t next = map->pages[page] + RTE_BIT64(map->page_log2);

		page++;
		if (map->pages[page] != next)
			return RTE_BAD_IOVA;
	}
	return iova + (offset & (RTE_BIT64(map->page_log2) - 1));
}
