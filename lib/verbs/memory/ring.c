/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Allocates and frees the rings of queues. A header before each ring records its allocator. Control threads.
 */

#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "verbs/memory/ring.h"

/* The header before each ring. */
struct owner {
	struct uroce_parent_domain *parent; /* its allocator; NULL: DPDK */
	uint64_t type;
} __rte_cache_aligned;

/* Call the application's allocator. @return IBV_ALLOCATOR_USE_DEFAULT: use DPDK instead */
static void *
theirs(struct uroce_parent_domain *parent, enum uroce_res_type type, size_t bytes)
{
	const struct ibv_parent_domain_init_attr *attr = &parent->attr;
	void *p;

	if (attr->alloc == NULL)
		return IBV_ALLOCATOR_USE_DEFAULT;
	p = attr->alloc(&parent->pd.ibv, attr->pd_context, bytes, RTE_CACHE_LINE_SIZE, type);
	if (p != NULL && p != IBV_ALLOCATOR_USE_DEFAULT)
		memset(p, 0, bytes);
	return p;
}

void *
uroce_ring_alloc(const struct uroce_device *dev, struct ibv_pd *pd, enum uroce_res_type type, size_t bytes)
{
	struct uroce_parent_domain *parent =
		pd != NULL && uroce_pd_is_parent(pd) ? (struct uroce_parent_domain *)pd : NULL;
	struct owner *owner = IBV_ALLOCATOR_USE_DEFAULT;

	bytes = RTE_ALIGN_CEIL(bytes, (size_t)RTE_CACHE_LINE_SIZE) + sizeof(*owner);
	if (parent != NULL)
		owner = theirs(parent, type, bytes);
	if (owner == IBV_ALLOCATOR_USE_DEFAULT) {
		parent = NULL;
		owner = uroce_device_alloc(dev, "uroce_ring", bytes);
	}
	if (owner == NULL)
		return NULL;
	owner->parent = parent;
	owner->type = type;
	return owner + 1;
}

void
uroce_ring_free(void *ring)
{
	struct owner *owner = ring == NULL ? NULL : (struct owner *)ring - 1;

	if (owner == NULL || owner->parent == NULL)
		rte_free(owner);
	else
		owner->parent->attr.free(&owner->parent->pd.ibv, owner->parent->attr.pd_context, owner, owner->type);
}
