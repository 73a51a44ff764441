/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Allocates and frees protection domains (R47). The objects of a domain count themselves in and out (struct
 * uroce_pd). Control threads.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "uroce.h"
#include "uroce_config.h"
#include "mem/pd.h"
#include "verbs/device/context.h"
#include "verbs/memory/parent_domain.h"

/* Count one more domain of the device, and number it. @return false when it has as many as it may have */
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

struct uroce_pd *
uroce_pd_create(struct ibv_context *context, size_t bytes)
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
	struct uroce_pd *pd = uroce_pd_create(context, sizeof(*pd));

	return pd == NULL ? NULL : &pd->ibv;
}

int
uroce_dealloc_pd(struct ibv_pd *ibv)
{
	struct uroce_pd *pd = uroce_pd_of(ibv);
	struct ibv_context *context = ibv->context;

	/* R47; pairs with the release of the last that left */
	if (__atomic_load_n(&pd->refs, __ATOMIC_ACQUIRE) != 0)
		return EBUSY;
	if (uroce_pd_is_parent(ibv))
		uroce_parent_domain_leave(pd);
	free(pd);
	count_out(uroce_device_of(context));
	uroce_context_put(context);
	return 0;
}
