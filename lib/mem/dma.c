/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Maps each area of external memory once for all regions of a device, and unmaps it for all devices at once.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <rte_eal_memconfig.h>

#include "mem/dma.h"
#include "mem/dpdk.h"

/* Protects areas and their maps, also while a device maps or unmaps. The caller holds no other lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, uroce_dma_area) areas = LIST_HEAD_INITIALIZER(areas);

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
	LIST_INIT(&a->maps);
	/* a list's segments are contiguous in its array */
	pages = rte_fbarray_get(&msl->memseg_arr, 0);
	for (size_t i = 0; i < n; i++)
		add_page(a, &pages[i], msl->page_sz);
	*area = a;
	return 0;
}

static void
unmap(struct uroce_dma_map *m)
{
	while (m->mapped > 0) {
		const struct uroce_dma_run *r = &m->area->runs[--m->mapped];

		m->ops->unmap(m->arg, r->va, r->iova, r->bytes);
	}
}

/* Map the runs that are not mapped yet. */
static void
map(struct uroce_dma_map *m)
{
	int rc = 0;

	while (m->mapped < m->area->n_runs) {
		const struct uroce_dma_run *r = &m->area->runs[m->mapped];

		rc = m->ops->map(m->arg, r->va, r->iova, r->bytes);
		if (rc != 0)
			break;
		m->mapped++;
	}
	m->is_visible = rc == 0 || (rc == -ENOTSUP && m->mapped == 0);
}

/* Does a device with regions access the area through its mapping? */
static bool
is_needed(const struct uroce_dma_area *a)
{
	const struct uroce_dma_map *m;

	LIST_FOREACH(m, &a->maps, link)
		if (m->refs > 0 && m->is_visible && m->mapped > 0)
			return true;
	return false;
}

/* Unmap the area if no device needs it, and free mappings that have neither regions nor mapped runs. */
static void
settle(struct uroce_dma_area *a)
{
	const bool keeps_mapped = is_needed(a);
	struct uroce_dma_map *m, *next;

	for (m = LIST_FIRST(&a->maps); m != NULL; m = next) {
		next = LIST_NEXT(m, link);
		if (!keeps_mapped)
			unmap(m);
		if (m->refs == 0 && m->mapped == 0) {
			LIST_REMOVE(m, link);
			free(m);
		}
	}
	if (LIST_EMPTY(&a->maps)) {
		LIST_REMOVE(a, link);
		free(a);
	}
}

static int
find_area(uint64_t va, struct uroce_dma_area **area)
{
	struct uroce_dma_area *a;
	int rc;

	LIST_FOREACH(a, &areas, link) {
		if (va - a->va < a->bytes) {
			*area = a;
			return 0;
		}
	}
	rte_mcfg_mem_read_lock();
	rc = area_create(va, area);
	rte_mcfg_mem_read_unlock();
	if (rc == 0)
		LIST_INSERT_HEAD(&areas, *area, link);
	return rc;
}

static struct uroce_dma_map *
find_map(const struct uroce_dma *d, struct uroce_dma_area *a)
{
	struct uroce_dma_map *m;

	LIST_FOREACH(m, &a->maps, link)
		if (m->ops == d->ops && m->arg == d->arg)
			return m;
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return NULL;
	m->area = a;
	m->ops = d->ops;
	m->arg = d->arg;
	LIST_INSERT_HEAD(&a->maps, m, link);
	return m;
}

/* The caller holds the lock. */
static int
get(const struct uroce_dma *d, uint64_t va, struct uroce_dma_map **found)
{
	struct uroce_dma_area *a;
	struct uroce_dma_map *m;
	int rc = find_area(va, &a);

	if (rc != 0)
		return rc;
	m = find_map(d, a);
	if (m == NULL) {
		settle(a);
		return -ENOMEM;
	}
	if (m->refs++ == 0) {
		map(m);
		settle(a);
	}
	*found = m;
	return 0;
}

int
uroce_dma_get(const struct uroce_dma *d, uint64_t va, struct uroce_dma_map **map)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = get(d, va, map);
	pthread_mutex_unlock(&lock);
	return rc;
}

void
uroce_dma_put(struct uroce_dma_map *map)
{
	if (map == NULL)
		return;
	pthread_mutex_lock(&lock);
	if (--map->refs == 0)
		settle(map->area);
	pthread_mutex_unlock(&lock);
}
