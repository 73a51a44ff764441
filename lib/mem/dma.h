/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Maps external memory into the device's IOMMU before mbufs reference it. EAL maps its own memory and its heaps, but
 * not memory of rte_extmem_register(). A device's first region in an area maps the whole area. Devices may share an
 * IOMMU table, from which one unmap removes the area for all of them. So the area is unmapped, for all devices that
 * mapped it, when no device needs it. Control threads.
 */

#ifndef UROCE_MEM_DMA_H
#define UROCE_MEM_DMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_common.h>
#include <rte_memory.h>

/* Set by the owner of the table. One call at a time in the process. */
struct uroce_dma_ops {
	/* @return 0; -ENOTSUP: the device needs no mapping; other -errno: not accessible, payloads are copied */
	int (*map)(void *arg, void *va, rte_iova_t iova, size_t bytes);
	/* The table and the device may be gone. */
	void (*unmap)(void *arg, void *va, rte_iova_t iova, size_t bytes);
};

/* Pages whose I/O addresses follow each other. */
struct uroce_dma_run {
	void *va;
	rte_iova_t iova;
	size_t bytes;
};

/* A device's mapping of an area. It outlives the device's regions while another device needs the area. */
struct uroce_dma_map {
	LIST_ENTRY(uroce_dma_map) link;
	struct uroce_dma_area *area;
	const struct uroce_dma_ops *ops;
	void *arg;
	uint32_t refs;	 /* number of regions */
	uint32_t mapped; /* number of runs that are mapped, from runs[0] on */
	bool is_visible; /* the device can access the area; constant while refs > 0 */
};

/* The memory of one rte_extmem_register(). One for all devices of the process. */
struct uroce_dma_area {
	LIST_ENTRY(uroce_dma_area) link;
	LIST_HEAD(, uroce_dma_map) maps;
	uint64_t va;
	size_t bytes;
	uint32_t n_runs;
	struct uroce_dma_run runs[];
};

struct uroce_dma {
	const struct uroce_dma_ops *ops; /* NULL: nothing to map. Constant from the first registration on */
	void *arg; /* identifies the device, with ops: tables of the same device share mappings */
};

/** Does EAL not map the memory of this segment list? */
static inline bool
uroce_dma_is_needed(const struct uroce_dma *d, const struct rte_memseg_list *msl)
{
	return d->ops != NULL && msl != NULL && msl->external && !msl->heap;
}

/**
 * Get the device's mapping of the area of external memory that contains va, and map the area if the device can. The
 * caller must not hold EAL's memory lock, which drivers take.
 * @return 0; -EFAULT: no area contains va; -ENOMEM
 */
int uroce_dma_get(const struct uroce_dma *d, uint64_t va, struct uroce_dma_map **map);
/** Drop a region's reference; no mbuf references the region any more. @param map	NULL: no-op */
void uroce_dma_put(struct uroce_dma_map *map);

#endif /* UROCE_MEM_DMA_H */
