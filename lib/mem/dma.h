/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Maps external memory into the device's IOMMU before mbufs reference it. EAL maps its own memory and its heaps, but
 * not memory of rte_extmem_register(). The first region in an area maps the whole area, the last one unmaps it. Control
 * threads.
 */

#ifndef UROCE_MEM_DMA_H
#define UROCE_MEM_DMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/queue.h>

#include <rte_common.h>
#include <rte_memory.h>

/* Set by the owner of the table. */
struct uroce_dma_ops {
	/* @return 0; -ENOTSUP: the device needs no mapping; other -errno: not accessible, payloads are copied */
	int (*map)(void *arg, void *va, rte_iova_t iova, size_t bytes);
	void (*unmap)(void *arg, void *va, rte_iova_t iova, size_t bytes);
};

/* Pages whose I/O addresses follow each other. */
struct uroce_dma_run {
	void *va;
	rte_iova_t iova;
	size_t bytes;
};

struct uroce_dma_area {
	LIST_ENTRY(uroce_dma_area) link;
	uint64_t va;
	size_t bytes;
	uint32_t refs;
	bool is_visible; /* constant: the device can access it */
	uint32_t mapped; /* number of runs that are mapped, from runs[0] on */
	uint32_t n_runs;
	struct uroce_dma_run runs[];
};

struct uroce_dma {
	const struct uroce_dma_ops *ops; /* NULL: nothing to map. Constant from the first registration on */
	void *arg;
	pthread_mutex_t lock; /* held while the device maps; external memory only; no other lock is held */
	LIST_HEAD(, uroce_dma_area) areas; /* under lock */
};

void uroce_dma_init(struct uroce_dma *d);
void uroce_dma_fini(struct uroce_dma *d);

/** Does EAL not map the memory of this segment list? */
static inline bool
uroce_dma_is_needed(const struct uroce_dma *d, const struct rte_memseg_list *msl)
{
	return d->ops != NULL && msl != NULL && msl->external && !msl->heap;
}

/**
 * Get the area of external memory that contains va, and map it if the device can. The caller must not hold EAL's memory
 * lock, which drivers take.
 * @return 0; -EFAULT: no area contains va; -ENOMEM
 */
int uroce_dma_get(struct uroce_dma *d, uint64_t va, struct uroce_dma_area **area);
/** Drop a region's reference; no mbuf references the region any more. @param area	NULL: no-op */
void uroce_dma_put(struct uroce_dma *d, struct uroce_dma_area *area);

#endif /* UROCE_MEM_DMA_H */
