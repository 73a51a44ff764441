/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Builds the IOVA map of a region from DPDK's segment lists (control threads) and looks addresses up in it
 * (workers). Pages whose IOVAs follow each other, which is all of them with IOVA as VA, need no table.
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

static rte_iova_t
page_iova(struct rte_memseg_list *msl, unsigned int page)
{
	const struct rte_memseg *seg = rte_fbarray_get(&msl->memseg_arr, page);

	return seg != NULL ? seg->iova : RTE_BAD_IOVA;
}

/* Do these pages follow each other in IOVA space? */
static bool
is_contiguous(struct rte_memseg_list *msl, unsigned int first, uint32_t n)
{
	rte_iova_t base;

	/* DPDK's own memory, not an application's: no need to look at every page */
	if (rte_eal_iova_mode() == RTE_IOVA_VA && !msl->external)
		return true;
	base = page_iova(msl, first);
	if (base == RTE_BAD_IOVA)
		return false;
	for (uint32_t i = 1; i < n; i++) {
		if (page_iova(msl, first + i) != base + i * msl->page_sz)
			return false;
	}
	return true;
}

static struct uroce_iova_map *
create_map(struct rte_memseg_list *msl, unsigned int first, uint32_t n_pages)
{
	struct uroce_iova_map *map = malloc(sizeof(*map) + n_pages * sizeof(map->pages[0]));

	if (map == NULL)
		return NULL;
	map->va = msl->addr_64 + first * msl->page_sz;
	map->base = page_iova(msl, first);
	map->n_pages = n_pages;
	map->page_log2 = (uint8_t)__builtin_ctzll(msl->page_sz);
	return map;
}

/* A page's IOVA or RTE_BAD_IOVA for each; @return how many have one */
static uint32_t
fill_pages(struct uroce_iova_map *map, struct rte_memseg_list *msl, unsigned int first)
{
	uint32_t valid = 0;

	for (uint32_t i = 0; i < map->n_pages; i++) {
		map->pages[i] = page_iova(msl, first + i);
		valid += map->pages[i] != RTE_BAD_IOVA;
	}
	return valid;
}

int
uroce_iova_map_create(uint64_t first, uint64_t last, struct uroce_iova_map **map)
{
	struct rte_memseg_list *msl = uroce_dpdk_list(first);
	unsigned int page;
	uint32_t n;

	*map = NULL;
	if (msl == NULL || uroce_dpdk_extent(msl, first) <= last)
		return 0;
	page = uroce_dpdk_page(msl, first);
	n = uroce_dpdk_page(msl, last) - page + 1;
	if (is_contiguous(msl, page, n)) {
		*map = create_map(msl, page, 0);
		return *map != NULL ? 0 : -ENOMEM;
	}
	*map = create_map(msl, page, n);
	if (*map == NULL)
		return -ENOMEM;
	if (fill_pages(*map, msl, page) == 0) {
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
