/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Maps each area of external memory once for all regions of a table.
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_debug.h>
#include <rte_eal_memconfig.h>

#include "mem/dma.h"
#include "mem/dpdk.h"

void
uroce_dma_init(struct uroce_dma *d)
{
	pthread_mutex_init(&d->lock, NULL);
	LIST_INIT(&d->areas);
}

void
uroce_dma_fini(struct uroce_dma *d)
{
	RTE_VERIFY(LIST_EMPTY(&d->areas));
	pthread_mutex_destroy(&d->lock);
}

static void
add_page(struct uroce_dma_area *a, const struct rte_memseg *page, size_t page_bytes)
{
	struct uroce_dma_run *last = a->n_runs != 0 ? &a->runs[a->n_runs - 1] : NULL;

	if (page->iova == RTE_BAD_IOVA)
		return;
	if (last != NULL && (uint8_t *)last->va + last->bytes == page->addr &&
	    last->iova + last->bytes == page->iova)
		last->bytes += page_bytes;
	else
		a->runs[a->n_runs++] = (struct uroce_dma_run){ page->addr, page->iova, page_bytes };
}

/* The caller holds EAL's memory lock for reading. */
static int
area_create(uint64_t va, struct uroce_dma_area **area)
{
	struct rte_memseg_list *msl = uroce_dpdk_list(va);
	const struct rte_memseg *pages;
	struct uroce_dma_area *a;
	size_t n;

	if (msl == NULL || !msl->external)
		return -EFAULT;
	n = msl->len / msl->page_sz;
	a = calloc(1, sizeof(*a) + n * sizeof(a->runs[0]));
	if (a == NULL)
		return -ENOMEM;
	a->va = msl->addr_64;
	a->bytes = msl->len;
	/* the segments of a list are contiguous in its array */
	pages = rte_fbarray_get(&msl->memseg_arr, 0);
	for (size_t i = 0; i < n; i++)
		add_page(a, &pages[i], msl->page_sz);
	*area = a;
	return 0;
}

static void
unmap(struct uroce_dma *d, struct uroce_dma_area *a)
{
	while (a->mapped > 0) {
		const struct uroce_dma_run *r = &a->runs[--a->mapped];

		d->ops->unmap(d->arg, r->va, r->iova, r->bytes);
	}
}

/* Maps all runs or none. */
static void
map(struct uroce_dma *d, struct uroce_dma_area *a)
{
	int rc = 0;

	for (uint32_t i = 0; i < a->n_runs; i++) {
		const struct uroce_dma_run *r = &a->runs[i];

		rc = d->ops->map(d->arg, r->va, r->iova, r->bytes);
		if (rc != 0)
			break;
		a->mapped++;
	}
	a->is_visible = rc == 0 || (rc == -ENOTSUP && a->mapped == 0);
	if (rc != 0)
		unmap(d, a);
}

/* The caller holds d->lock. */
static struct uroce_dma_area *
find(struct uroce_dma *d, uint64_t va)
{
	struct uroce_dma_area *a;

	LIST_FOREACH(a, &d->areas, link)
		if (va - a->va < a->bytes)
			return a;
	return NULL;
}

int
uroce_dma_get(struct uroce_dma *d, uint64_t va, struct uroce_dma_area **area)
{
	int rc = 0;

	pthread_mutex_lock(&d->lock);
	*area = find(d, va);
	if (*area == NULL) {
		rte_mcfg_mem_read_lock();
		rc = area_create(va, area);
		rte_mcfg_mem_read_unlock();
		if (rc == 0) {
			map(d, *area);
			LIST_INSERT_HEAD(&d->areas, *area, link);
		}
	}
	if (rc == 0)
		(*area)->refs++;
	pthread_mutex_unlock(&d->lock);
	return rc;
}

void
uroce_dma_put(struct uroce_dma *d, struct uroce_dma_area *area)
{
	if (area == NULL)
		return;
	pthread_mutex_lock(&d->lock);
	if (--area->refs == 0) {
		LIST_REMOVE(area, link);
		unmap(d, area);
		free(area);
	}
	pthread_mutex_unlock(&d->lock);
}
