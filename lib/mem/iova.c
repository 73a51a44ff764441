/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Builds the IOVA map of a region from DPDK's segment lists (control threads) and looks addresses up in it
 * (workers). Pages with consecutive IOVAs, which are all pages with IOVA as VA, need no table. For EAL's own pages
 * the map points to EAL's table, so that registering a large region reads no table. The table of external memory is
 * copied, since the application may free it.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <rte_bitops.h>
#include <rte_branch_prediction.h>
#include <rte_eal.h>
#include <rte_memory.h>

#include "uroce_config.h"
#include "mem/dpdk.h"
#include "mem/iova.h"

/* Do these pages have consecutive IOVAs? */
static bool
is_contiguous(const struct rte_memseg_list *msl, const struct rte_memseg *pages, uint32_t n)
{
	/* of DPDK's own memory, not every page needs to be read */
	if (!msl->external) {
		if (rte_eal_iova_mode() == RTE_IOVA_VA)
			return true;
		if (n > UROCE_IOVA_SCAN_PAGES)
			return false;
	}
	if (pages[0].iova == RTE_BAD_IOVA)
		return false;
	for (uint32_t i = 1; i < n; i++) {
		if (pages[i].iova != pages[0].iova + i * msl->page_sz)
			return false;
	}
	return true;
}

/* @param n_own	number of pages whose IOVAs will be copied */
static struct uroce_iova_map *
create_map(const struct rte_memseg_list *msl, const struct rte_memseg *pages, uint32_t n_own)
{
	struct uroce_iova_map *map = malloc(sizeof(*map) + n_own * sizeof(map->own[0]));

	if (map == NULL)
		return NULL;
	map->va = pages[0].addr_64;
	map->base = pages[0].iova;
	map->pages = NULL;
	map->n_pages = 0;
	map->stride = 0;
	map->page_log2 = (uint8_t)__builtin_ctzll(msl->page_sz);
	return map;
}

/* @return number of pages with an IOVA */
static uint32_t
copy_pages(struct uroce_iova_map *map, const struct rte_memseg *pages, uint32_t n)
{
	uint32_t valid = 0;

	for (uint32_t i = 0; i < n; i++) {
		map->own[i] = pages[i].iova;
		valid += pages[i].iova != RTE_BAD_IOVA;
	}
	map->pages = (const uint8_t *)map->own;
	map->n_pages = n;
	map->stride = sizeof(map->own[0]);
	return valid;
}

/* Point to EAL's entries, which are valid as long as their pages are in use. */
static void
borrow_pages(struct uroce_iova_map *map, const struct rte_memseg *pages, uint32_t n)
{
	map->pages = (const uint8_t *)&pages[0].iova;
	map->n_pages = n;
	map->stride = sizeof(pages[0]);
}

int
uroce_iova_map_create(const struct uroce_dpdk_area *area, uint64_t first, uint64_t last,
		      struct uroce_iova_map **map)
{
	struct rte_memseg_list *msl = area->msl;
	const struct rte_memseg *pages;
	bool contiguous;
	uint32_t n;

	*map = NULL;
	if (msl == NULL || area->end <= last)
		return 0;
	/* a list's segments are contiguous in its array */
	pages = rte_fbarray_get(&msl->memseg_arr, uroce_dpdk_page(msl, first));
	n = uroce_dpdk_page(msl, last) - uroce_dpdk_page(msl, first) + 1;
	contiguous = is_contiguous(msl, pages, n);
	*map = create_map(msl, pages, msl->external && !contiguous ? n : 0);
	if (*map == NULL)
		return -ENOMEM;
	if (contiguous)
		return 0;
	if (!msl->external) {
		borrow_pages(*map, pages, n);
	} else if (copy_pages(*map, pages, n) == 0) {
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

static inline rte_iova_t
page_iova(const struct uroce_iova_map *map, uint64_t page)
{
	return *(const rte_iova_t *)(map->pages + page * map->stride);
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
	iova = page_iova(map, page);
	if (unlikely(iova == RTE_BAD_IOVA))
		return RTE_BAD_IOVA;
	while (page < last) {
		const rte_iova_t next = page_iova(map, page) + RTE_BIT64(map->page_log2);

		page++;
		if (page_iova(map, page) != next)
			return RTE_BAD_IOVA;
	}
	return iova + (offset & (RTE_BIT64(map->page_log2) - 1));
}
