/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_reg_mr(3) and its relatives, ibv_rereg_mr(3) and ibv_dereg_mr(3), on the device's key table (lib/mem).
 * Control threads.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "uroce.h"
#include "uroce_config.h"
#include "mem/mr.h"
#include "mem/pd.h"
#include "verbs/device/device.h"
#include "verbs/device/reclaim.h"

static struct ibv_mr *
of_pd(struct ibv_pd *pd, struct uroce_mr *mr)
{
	if (mr == NULL) {
		uroce_pd_put(pd);
		return NULL;
	}
	return &mr->ibv;
}

struct ibv_mr *
uroce_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	const uint64_t named = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova;

	uroce_pd_get(pd);
	return of_pd(pd, uroce_mr_create(&uroce_device_of(pd->context)->mrs, pd, addr, length, named, access));
}

struct ibv_mr *
uroce_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return uroce_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

struct ibv_mr *
uroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return uroce_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

struct ibv_mr *
uroce_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	(void)pd;
	(void)offset;
	(void)length;
	(void)iova;
	(void)fd;
	(void)access;
	errno = EOPNOTSUPP;
	return NULL;
}

struct ibv_mr *
uroce_alloc_null_mr(struct ibv_pd *pd)
{
	uroce_pd_get(pd);
	return of_pd(pd, uroce_mr_create_null(&uroce_device_of(pd->context)->mrs, pd));
}

/* A wait for frames that still reference a region. */
struct wait {
	struct uroce_device *dev;
	struct uroce_mr *mr;
	uint64_t since_ns;	/* valid from the first round on */
	uint64_t tell_ns;	/* when to log a warning; 0: before the first round */
};

/* @return false: the time limit has passed */
static bool
tell(struct wait *w)
{
	uint64_t now_ns, wall_ns;

	w->dev->ops.port->clocks(w->dev, &now_ns, &wall_ns);
	if (w->tell_ns == 0) {
		w->since_ns = now_ns;
		w->tell_ns = now_ns + UROCE_MR_WAIT_TELL_NS;
	} else if (now_ns >= w->tell_ns) {
		w->tell_ns = w->since_ns + UROCE_MR_WAIT_MAX_NS;
		w->dev->ops.port->mr_waits(w->dev, &w->mr->ibv,
				      uroce_mr_inflight(w->mr), now_ns - w->since_ns);
	}
	return now_ns < w->since_ns + UROCE_MR_WAIT_MAX_NS;
}

static bool
let_workers_progress(void *arg)
{
	struct wait *w = arg;

	w->dev->ops.worker->progress(w->dev);
	return w->dev->ops.port->mr_waits == NULL || tell(w);
}

/* @return the region's present properties, with the requested changes */
static struct uroce_mr_change
merge(const struct uroce_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	const bool translation = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
	struct uroce_mr_change to = {
		.pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0 ? pd : mr->ibv.pd,
		.va = translation ? addr : mr->ibv.addr,
		.length = translation ? length : mr->ibv.length,
		.addr = uroce_mr_addr(mr),
		.access = mr->access | (mr->zero_based ? IBV_ACCESS_ZERO_BASED : 0),
	};
	bool zero_based;

	if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0)
		to.access = (unsigned int)access;
	zero_based = (to.access & IBV_ACCESS_ZERO_BASED) != 0;
	/* otherwise the first byte keeps its address, as the rest of the translation stays */
	if (translation || zero_based != mr->zero_based)
		to.addr = zero_based ? 0 : (uintptr_t)to.va;
	return to;
}

int
uroce_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct uroce_mr *mr = (struct uroce_mr *)ibv;
	struct wait w = { .dev = uroce_device_of(ibv->context), .mr = mr };
	struct ibv_pd *old = ibv->pd;
	struct uroce_mr_change to;
	int ret = EINVAL;

	if (flags == 0 || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || uroce_mr_is_null(mr))
		goto fail;
	if ((flags & IBV_REREG_MR_CHANGE_PD) != 0 && (pd == NULL || pd->context != ibv->context))
		goto fail;
	to = merge(mr, flags, pd, addr, length, access);
	uroce_pd_get(to.pd);
	ret = -uroce_mr_change(mr, &to, let_workers_progress, &w);
	uroce_pd_put(ret == 0 ? old : to.pd);
	if (ret == 0)
		return 0;
fail:
	errno = ret;
	return IBV_REREG_MR_ERR_INPUT;
}

int
uroce_dereg_mr(struct ibv_mr *mr)
{
	struct wait w = { .dev = uroce_device_of(mr->context), .mr = (struct uroce_mr *)mr };
	struct ibv_pd *pd = mr->pd;
	int ret = -uroce_mr_destroy(w.mr, let_workers_progress, &w);

	if (ret == 0)
		uroce_pd_put(pd);
	return ret;
}

static bool
try_free(struct uroce_reclaim *r, uint64_t now_ns)
{
	struct uroce_mr *mr = r->object;
	struct ibv_pd *pd = mr->ibv.pd;

	if (uroce_mr_is_idle(mr)) {
		uroce_mr_free(mr);
		uroce_pd_put(pd);
		return true;
	}
	if (now_ns >= r->tell_ns && r->dev->ops.port->mr_waits != NULL) {
		r->tell_ns = now_ns + UROCE_MR_WAIT_MAX_NS;
		r->dev->ops.port->mr_waits(r->dev, &mr->ibv, uroce_mr_inflight(mr), now_ns - r->since_ns);
	}
	return false;
}

int
uroce_dereg_mr_async(struct ibv_mr *ibv, void (*freed)(void *arg), void *arg)
{
	struct uroce_mr *mr = (struct uroce_mr *)ibv;
	struct uroce_reclaim *r = uroce_reclaim_create(uroce_device_of(ibv->context), mr, try_free, freed, arg);
	int ret;

	if (r == NULL)
		return ENOMEM;
	ret = -uroce_mr_retire(mr);
	if (ret == 0)
		uroce_reclaim_add(r);
	else
		free(r);
	return ret;
}
