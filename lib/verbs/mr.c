/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_reg_mr(3) and ibv_dereg_mr(3) over the key table of the device (lib/mem). Control threads.
 */

#include "uroce.h"
#include "mem/mr.h"
#include "verbs/device.h"
#include "verbs/pd.h"

struct ibv_mr *
uroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct uroce_pd *owner = (struct uroce_pd *)pd;
	const uint64_t named = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : (uintptr_t)addr;
	struct uroce_mr *mr;

	__atomic_add_fetch(&owner->refs, 1, __ATOMIC_RELAXED);
	mr = uroce_mr_create(&uroce_device_of(pd->context)->mrs, pd, addr, length, named,
			     (unsigned int)access);
	if (mr == NULL) {
		__atomic_sub_fetch(&owner->refs, 1, __ATOMIC_RELEASE);
		return NULL;
	}
	return &mr->ibv;
}

static void
let_workers_progress(void *arg)
{
	struct uroce_device *dev = arg;

	dev->ops->progress(dev);
}

int
uroce_dereg_mr(struct ibv_mr *mr)
{
	struct uroce_pd *owner = (struct uroce_pd *)mr->pd;

	uroce_mr_destroy((struct uroce_mr *)mr, let_workers_progress, uroce_device_of(mr->context));
	/* pairs with the acquire in uroce_dealloc_pd() */
	__atomic_sub_fetch(&owner->refs, 1, __ATOMIC_RELEASE);
	return 0;
}
