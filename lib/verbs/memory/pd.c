/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Allocates and frees protection domains (R47), thread domains and parent domains. A parent domain is an alias of a
 * protection domain with the application's allocator for the rings of queues. A thread domain saves the locks of its
 * QPs and CQs; if it names the engine of its QPs, it saves the atomic operations of doorbells, too. Control threads.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <rte_malloc.h>

#include "uroce.h"
#include "uroce_config.h"
#include "mem/pd.h"
#include "verbs/device/context.h"
#include "verbs/memory/pd.h"
#include "verbs/memory/ring.h"
#include "verbs/qp/bells.h"

/* IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC of rdma-core 64. It has no effect: the library runs inside the
 * confidential guest, and can access protected memory. */
#define ALLOW_UNPROTECTED (1u << 2)
#define KNOWN_ATTR \
	(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT | ALLOW_UNPROTECTED)

struct thread_domain {
	struct ibv_td ibv;
	struct uroce_engine *engine; /* of its QPs; NULL: it names none. Constant */
	struct uroce_bells *bells; /* of that engine; NULL: none. Constant */
	uint32_t refs; /* atomic: parent domains (R47) */
};

static const struct thread_domain *
td_of(const struct ibv_pd *pd)
{
	if (pd == NULL || !uroce_pd_is_parent(pd))
		return NULL;
	return (const struct thread_domain *)((const struct uroce_parent_domain *)pd)->attr.td;
}

/* Count one more domain of the device, and number it. @return false: the device has UROCE_MAX_PD already */
static bool
count_in(struct uroce_device *dev, uint32_t *handle)
{
	bool room;

	pthread_mutex_lock(&dev->lock);
	room = dev->pd_count < UROCE_MAX_PD;
	if (room) {
		dev->pd_count++;
		*handle = ++dev->handles;
	}
	pthread_mutex_unlock(&dev->lock);
	return room;
}

static void
count_out(struct uroce_device *dev)
{
	pthread_mutex_lock(&dev->lock);
	dev->pd_count--;
	pthread_mutex_unlock(&dev->lock);
}

/* @param bytes	size of the domain's struct, which begins with a struct uroce_pd. @return NULL and errno */
static struct uroce_pd *
pd_create(struct ibv_context *context, size_t bytes)
{
	struct uroce_device *dev = uroce_device_of(context);
	struct uroce_pd *pd;
	uint32_t handle;

	if (!count_in(dev, &handle)) {
		errno = ENOMEM;
		return NULL;
	}
	pd = calloc(1, bytes);
	if (pd == NULL) {
		count_out(dev);
		errno = ENOMEM;
		return NULL;
	}
	pd->ibv.context = context;
	uroce_context_get(context);
	pd->ibv.handle = handle;
	pd->protection = &pd->ibv;
	return pd;
}

struct ibv_pd *
uroce_alloc_pd(struct ibv_context *context)
{
	struct uroce_pd *pd = pd_create(context, sizeof(*pd));

	return pd == NULL ? NULL : &pd->ibv;
}

/* A thread domain counts as a domain of its device, which cannot be closed before. */
static struct thread_domain *
td_alloc(struct ibv_context *context)
{
	struct thread_domain *td;
	uint32_t unused;

	if (!count_in(uroce_device_of(context), &unused))
		return NULL;
	td = calloc(1, sizeof(*td));
	if (td == NULL) {
		count_out(uroce_device_of(context));
		return NULL;
	}
	td->ibv.context = context;
	uroce_context_get(context);
	return td;
}

static void
td_free(struct thread_domain *td)
{
	struct ibv_context *context = td->ibv.context;

	free(td);
	count_out(uroce_device_of(context));
	uroce_context_put(context);
}

/* The thread that drives a worker with poll_progress sleeps, and looks only at the other doorbells. */
static int
bells_create(struct thread_domain *td)
{
	struct uroce_device *dev = uroce_device_of(td->ibv.context);
	struct uroce_bells *bells;

	if (td->engine == NULL || dev->poll_progress)
		return 0;
	bells = uroce_device_alloc(dev, "uroce_bells", sizeof(*bells));
	if (bells == NULL)
		return ENOMEM;
	bells->engine = td->engine;
	dev->ops.worker->engine_enter(td->engine);
	dev->ops.transport->bells_add(bells);
	dev->ops.worker->engine_exit(td->engine);
	td->bells = bells;
	return 0;
}

static void
bells_destroy(struct thread_domain *td)
{
	struct uroce_device *dev = uroce_device_of(td->ibv.context);

	if (td->bells == NULL)
		return;
	dev->ops.worker->engine_enter(td->engine);
	dev->ops.transport->bells_del(td->bells);
	dev->ops.worker->engine_exit(td->engine);
	rte_free(td->bells);
}

struct ibv_td *
uroce_td_create(struct ibv_context *context, struct uroce_engine *engine)
{
	struct thread_domain *td = td_alloc(context);

	if (td == NULL)
		goto failed;
	td->engine = engine;
	if (bells_create(td) == 0)
		return &td->ibv;
	td_free(td);
failed:
	errno = ENOMEM;
	return NULL;
}

struct ibv_td *
uroce_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init_attr)
{
	if (init_attr->comp_mask != 0) {
		errno = EINVAL;
		return NULL;
	}
	return uroce_td_create(context, NULL);
}

struct uroce_engine *
uroce_pd_engine(const struct ibv_pd *pd)
{
	const struct thread_domain *td = td_of(pd);

	return td != NULL ? td->engine : NULL;
}

struct uroce_bells *
uroce_pd_bells(const struct ibv_pd *pd)
{
	const struct thread_domain *td = td_of(pd);

	return td != NULL ? td->bells : NULL;
}

bool
uroce_pd_is_single_threaded(const struct ibv_pd *pd)
{
	return td_of(pd) != NULL;
}

int
uroce_dealloc_td(struct ibv_td *ibv)
{
	struct thread_domain *td = (struct thread_domain *)ibv;

	/* pairs with the release in leave() */
	if (__atomic_load_n(&td->refs, __ATOMIC_ACQUIRE) != 0)
		return EBUSY;
	bells_destroy(td);
	if (td->engine != NULL)
		uroce_device_of(ibv->context)->ops.worker->engine_put(td->engine);
	td_free(td);
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
	struct uroce_parent_domain *parent;
	int ret = check(context, attr);

	if (ret != 0) {
		errno = ret;
		return NULL;
	}
	parent = (struct uroce_parent_domain *)pd_create(context, sizeof(*parent));
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

static void
leave(struct uroce_pd *pd)
{
	const struct ibv_parent_domain_init_attr *attr = &((struct uroce_parent_domain *)pd)->attr;

	uroce_pd_put(attr->pd);
	if (attr->td != NULL)
		/* pairs with the acquire in uroce_dealloc_td() */
		__atomic_fetch_sub(&((struct thread_domain *)attr->td)->refs, 1, __ATOMIC_RELEASE);
}

int
uroce_dealloc_pd(struct ibv_pd *ibv)
{
	struct uroce_pd *pd = uroce_pd_of(ibv);
	struct ibv_context *context = ibv->context;

	/* R47; pairs with the release in uroce_pd_put() */
	if (__atomic_load_n(&pd->refs, __ATOMIC_ACQUIRE) != 0)
		return EBUSY;
	if (uroce_pd_is_parent(ibv))
		leave(pd);
	free(pd);
	count_out(uroce_device_of(context));
	uroce_context_put(context);
	return 0;
}
