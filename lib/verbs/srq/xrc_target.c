/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * XRC target QPs: each create or open returns a handle, and the QP is destroyed with the last of them. Control
 * threads; events also on the QP's worker.
 */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "uroce.h"
#include "verbs/device/device.h"
#include "verbs/internal.h"
#include "verbs/srq/xrc.h"

static struct uroce_xrc_handle *
handle_alloc(struct uroce_xrcd *xrcd, void *qp_context)
{
	struct uroce_device *dev = uroce_device_of(xrcd->ibv.context);
	struct uroce_xrc_handle *handle = uroce_device_alloc(dev, "uroce_xrc_handle", sizeof(*handle));
	struct ibv_qp *ibv;

	if (handle == NULL)
		return NULL;
	handle->xrcd = xrcd;
	handle->qp.dev = dev;
	ibv = &handle->qp.ibv;
	ibv->context = xrcd->ibv.context;
	ibv->qp_context = qp_context;
	ibv->qp_type = IBV_QPT_XRC_RECV;
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_cond_init(&ibv->cond, NULL);
	return handle;
}

static void
handle_free(struct uroce_xrc_handle *handle)
{
	pthread_cond_destroy(&handle->qp.ibv.cond);
	pthread_mutex_destroy(&handle->qp.ibv.mutex);
	rte_free(handle);
}

/* Under the domain's lock. */
static void
handle_attach(struct uroce_xrc_handle *handle, struct uroce_xrc_target *target)
{
	struct uroce_qp *real = target->qp;

	handle->qp.target = target;
	handle->qp.transport = real->transport;
	handle->qp.ibv.qp_num = real->ibv.qp_num;
	handle->qp.ibv.handle = real->ibv.handle;
	handle->qp.ibv.state = real->ibv.state;
	__atomic_fetch_add(&handle->xrcd->refs, 1, __ATOMIC_RELAXED);
	rte_spinlock_lock(&target->lock);
	LIST_INSERT_HEAD(&target->handles, handle, link);
	rte_spinlock_unlock(&target->lock);
}

struct ibv_qp *
uroce_xrc_target_create(struct uroce_xrcd *xrcd, void *qp_context)
{
	struct uroce_xrc_target *target = calloc(1, sizeof(*target));
	struct uroce_xrc_handle *handle = handle_alloc(xrcd, qp_context);
	struct uroce_xrc_domain *domain = xrcd->domain;
	int ret = ENOMEM;

	if (target == NULL || handle == NULL)
		goto fail;
	target->domain = domain;
	target->qp = uroce_xrc_qp_create(uroce_device_of(xrcd->ibv.context), target);
	if (target->qp == NULL) {
		ret = errno;
		goto fail;
	}
	pthread_mutex_lock(&domain->lock);
	handle_attach(handle, target);
	LIST_INSERT_HEAD(&domain->targets, target, link);
	pthread_mutex_unlock(&domain->lock);
	return &handle->qp.ibv;

fail:
	if (handle != NULL)
		handle_free(handle);
	free(target);
	errno = ret;
	return NULL;
}

static int
check_open_attr(const struct ibv_context *context, const struct ibv_qp_open_attr *attr)
{
	const uint32_t needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;

	if (attr->comp_mask >= IBV_QP_OPEN_ATTR_RESERVED)
		return EOPNOTSUPP;
	if ((attr->comp_mask & needed) != needed || attr->qp_type != IBV_QPT_XRC_RECV ||
	    attr->xrcd->context != context)
		return EINVAL;
	return 0;
}

struct ibv_qp *
uroce_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	int ret = check_open_attr(context, attr);
	struct uroce_xrc_target *target;
	struct uroce_xrc_handle *handle;
	struct uroce_xrcd *xrcd;

	if (ret != 0) {
		errno = ret;
		return NULL;
	}
	xrcd = uroce_xrcd_of(attr->xrcd);
	handle = handle_alloc(xrcd, attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT ? attr->qp_context : NULL);
	if (handle == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	pthread_mutex_lock(&xrcd->domain->lock);
	LIST_FOREACH(target, &xrcd->domain->targets, link) {
		if (target->qp->ibv.qp_num == attr->qp_num)
			break;
	}
	if (target != NULL)
		handle_attach(handle, target);
	pthread_mutex_unlock(&xrcd->domain->lock);
	if (target == NULL) {
		handle_free(handle);
		errno = EINVAL;
		return NULL;
	}
	return &handle->qp.ibv;
}

void
uroce_xrc_handle_destroy(struct uroce_qp *qp)
{
	struct uroce_xrc_handle *handle = container_of(qp, struct uroce_xrc_handle, qp);
	struct uroce_xrc_target *target = qp->target;
	struct uroce_xrc_domain *domain = target->domain;
	bool last;

	pthread_mutex_lock(&domain->lock);
	rte_spinlock_lock(&target->lock);
	LIST_REMOVE(handle, link);
	last = LIST_EMPTY(&target->handles);
	rte_spinlock_unlock(&target->lock);
	if (last) {
		LIST_REMOVE(target, link);
		/* under the lock: uroce_srq_xrc_fini() removes its SRQ only from the QPs of the list */
		uroce_qp_destroy(target->qp);
		free(target);
	}
	pthread_mutex_unlock(&domain->lock);
	uroce_device_forget_events(qp->ibv.context, &qp->events, &qp->ibv.mutex, &qp->ibv.cond,
				   &qp->ibv.events_completed);
	/* pairs with the acquire in uroce_close_xrcd() */
	__atomic_fetch_sub(&handle->xrcd->refs, 1, __ATOMIC_RELEASE);
	handle_free(handle);
}

void
uroce_xrc_target_event(struct uroce_xrc_target *target, enum ibv_event_type type)
{
	struct uroce_xrc_handle *handle;

	rte_spinlock_lock(&target->lock);
	LIST_FOREACH(handle, &target->handles, link) {
		struct ibv_async_event event;

		memset(&event, 0, sizeof(event));
		event.element.qp = &handle->qp.ibv;
		event.event_type = type;
		uroce_device_event(handle->qp.dev, &event);
	}
	rte_spinlock_unlock(&target->lock);
}
