/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_alloc_td(3) and ibv_alloc_parent_domain(3): a second name of a protection domain, with the application's own
 * allocator for the rings of queues. Posting takes its locks in any case: a thread domain is only counted. Control
 * threads.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "uroce.h"
#include "uroce_config.h"
#include "mem/pd.h"
#include "verbs/device/context.h"
#include "verbs/memory/parent_domain.h"

#define KNOWN_ATTR (IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)

struct thread_domain {
	struct ibv_td ibv;
	uint32_t refs; /* atomic: parent domains (R47) */
};

struct parent_domain {
	struct uroce_pd pd;
	struct ibv_parent_domain_init_attr attr;
};

/* Before each ring: who has it. */
struct owner {
	struct parent_domain *parent; /* NULL: DPDK's */
	uint64_t type;
} __rte_cache_aligned;

struct ibv_td *
uroce_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init_attr)
{
	struct thread_domain *td;

	if (init_attr->comp_mask != 0) {
		errno = EINVAL;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (td == NULL)
		return NULL;
	td->ibv.context = context;
	uroce_context_get(context);
	return &td->ibv;
}

int
uroce_dealloc_td(struct ibv_td *ibv)
{
	struct thread_domain *td = (struct thread_domain *)ibv;
	struct ibv_context *context = ibv->context;

	/* pairs with the release in uroce_parent_domain_leave() */
	if (__atomic_load_n(&td->refs, __ATOMIC_ACQUIRE) != 0)
		return EBUSY;
	free(td);
	uroce_context_put(context);
	return 0;
}

static int
check(const struct ibv_context *context, const struct ibv_parent_domain_init_attr *attr)
{
	if ((attr->comp_mask & ~(uint32_t)KNOWN_ATTR) != 0 || attr->pd == NULL || attr->pd->context != context ||
	    uroce_pd_is_parent(attr->pd) || (attr->td != NULL && attr->td->context != context))
		return EINVAL;
	if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0 &&
	    (attr->alloc == NULL || attr->free == NULL))
		return EINVAL;
	return 0;
}

struct ibv_pd *
uroce_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	struct parent_domain *parent;
	int ret = check(context, attr);

	if (ret != 0) {
		errno = ret;
		return NULL;
	}
	parent = (struct parent_domain *)uroce_pd_create(context, sizeof(*parent));
	if (parent == NULL)
		return NULL;
	parent->pd.protection = attr->pd;
	uroce_pd_get(attr->pd);
	if (attr->td != NULL)
		__atomic_fetch_add(&((struct thread_domain *)attr->td)->refs, 1, __ATOMIC_RELAXED);
	parent->attr = *attr;
	if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) == 0)
		parent->attr.alloc = NULL;
	if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) == 0)
		parent->attr.pd_context = NULL;
	return &parent->pd.ibv;
}

void
uroce_parent_domain_leave(struct uroce_pd *pd)
{
	const struct ibv_parent_domain_init_attr *attr = &((struct parent_domain *)pd)->attr;

	uroce_pd_put(attr->pd);
	if (attr->td != NULL)
		/* pairs with the acquire in uroce_dealloc_td() */
		__atomic_fetch_sub(&((struct thread_domain *)attr->td)->refs, 1, __ATOMIC_RELEASE);
}

/* From the program. @return IBV_ALLOCATOR_USE_DEFAULT: it leaves it to us */
static void *
theirs(struct parent_domain *parent, enum uroce_res_type type, size_t bytes)
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
	struct parent_domain *parent = pd != NULL && uroce_pd_is_parent(pd) ? (struct parent_domain *)pd : NULL;
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
