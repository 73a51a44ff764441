/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds the segment list of an address in DPDK's memory subsystem, and whether its page is in use, for registration.
 * Takes no lock: the memory is the caller's, so that DPDK does not change its list meanwhile.
 */

#ifndef UROCE_MEM_DPDK_H
#define UROCE_MEM_DPDK_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_eal.h>
#include <rte_fbarray.h>
#include <rte_memory.h>

static inline unsigned int
uroce_dpdk_page(const struct rte_memseg_list *msl, uint64_t addr)
{
	return (addr - msl->addr_64) / msl->page_sz;
}

/** @return the first address from `addr` on that lies in no page in use */
static inline uint64_t
uroce_dpdk_extent(struct rte_memseg_list *msl, uint64_t addr)
{
	const unsigned int page = uroce_dpdk_page(msl, addr);
	const int n = rte_fbarray_find_contig_used(&msl->memseg_arr, page);

	return n > 0 ? msl->addr_64 + ((uint64_t)page + (unsigned int)n) * msl->page_sz : addr;
}

static inline struct rte_memseg_list *
uroce_dpdk_list(uint64_t addr)
{
	return rte_mem_virt2memseg_list((const void *)(uintptr_t)addr);
}

/* The result of one look-up of an address in DPDK. */
struct uroce_dpdk_area {
	struct rte_memseg_list *msl; /* NULL: not memory that DPDK knows */
	uint64_t end;                /* as uroce_dpdk_extent() */
};

static inline struct uroce_dpdk_area
uroce_dpdk_area(uint64_t addr)
{
	struct uroce_dpdk_area area = { .msl = uroce_dpdk_list(addr) };

	area.end = area.msl != NULL ? uroce_dpdk_extent(area.msl, addr) : addr;
	return area;
}

/** @return the NUMA node of DPDK's own hugepages, which DPDK has verified; -1: other memory */
static inline int
uroce_dpdk_node(uint64_t addr)
{
	const struct rte_memseg_list *msl = uroce_dpdk_list(addr);

	return msl != NULL && !msl->external && rte_eal_has_hugepages() ? msl->socket_id : -1;
}

/** As uroce_mapped_check(), without asking the kernel about DPDK's own memory. @param area	of `first` */
int uroce_dpdk_check(const struct uroce_dpdk_area *area, uint64_t first, uint64_t last, bool write);

/** Does first .. last overlap an address range that DPDK knows, its own or external, in use or not? */
bool uroce_dpdk_overlaps(uint64_t first, uint64_t last);

#endif /* UROCE_MEM_DPDK_H */
