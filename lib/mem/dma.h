/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * External memory that a table's device has to have in its IOMMU before frames lead into it. EAL does that for its own
 * memory and for its heaps, not for rte_extmem_register(). An area is mapped as a whole with the first region in it,
 * and unmapped with the last. Control threads.
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

/* What the owner of the table fills in. */
struct uroce_dma_ops {
	/* @return 0; -ENOTSUP: the device sees the memory as it is; else -errno: it does not, and payloads are copied */
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
	bool is_visible; /* constant: to the device */
	uint32_t mapped; /* runs, the first ones */
	uint32_t n_runs;
	struct uroce_dma_run runs[];
};

struct uroce_dma {
	const struct uroce_dma_ops *ops; /* NULL: all memory is visible. Constant from the first registration on */
	void *arg;
	pthread_mutex_t lock; /* held while the device maps: taken for external memory only, without any other lock */
	LIST_HEAD(, uroce_dma_area) areas; /* under lock */
};

void uroce_dma_init(struct uroce_dma *d);
void uroce_dma_fini(struct uroce_dma *d);

/** Is this memory of a segment list that EAL does not map? */
static inline bool
uroce_dma_is_needed(const struct uroce_dma *d, const struct rte_memseg_list *msl)
{
	return d->ops != NULL && msl != NULL && msl->external && !msl->heap;
}

/**
 * The area of external memory in which va is, mapped if it can be. The caller does not hold EAL's memory lock, which
 * drivers take.
 * @return 0; -EFAULT: there is none; -ENOMEM
 */
int uroce_dma_get(struct uroce_dma *d, uint64_t va, struct uroce_dma_area **area);
/** Nothing leads into the region any more. @param area	NULL: nothing is done */
void uroce_dma_put(struct uroce_dma *d, struct uroce_dma_area *area);

#endif /* UROCE_MEM_DMA_H */
