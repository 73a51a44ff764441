/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Numbers a device's CQs and SRQs, and lists them in that order for telemetry. A number is not used twice before
 * 2^32 of them. Control threads.
 */

#include "verbs/cq/cq.h"
#include "verbs/device/device.h"
#include "verbs/srq/srq.h"

void
uroce_device_add_cq(struct uroce_device *dev, struct uroce_cq *cq)
{
	pthread_mutex_lock(&dev->lock);
	cq->ibv.handle = ++dev->handles;
	TAILQ_INSERT_TAIL(&dev->cqs, cq, link);
	pthread_mutex_unlock(&dev->lock);
}

void
uroce_device_del_cq(struct uroce_device *dev, struct uroce_cq *cq)
{
	pthread_mutex_lock(&dev->lock);
	TAILQ_REMOVE(&dev->cqs, cq, link);
	pthread_mutex_unlock(&dev->lock);
}

void
uroce_device_add_srq(struct uroce_device *dev, struct uroce_srq *srq)
{
	pthread_mutex_lock(&dev->lock);
	srq->ibv.handle = ++dev->handles;
	TAILQ_INSERT_TAIL(&dev->srq_list, srq, link);
	pthread_mutex_unlock(&dev->lock);
}

void
uroce_device_del_srq(struct uroce_device *dev, struct uroce_srq *srq)
{
	pthread_mutex_lock(&dev->lock);
	TAILQ_REMOVE(&dev->srq_list, srq, link);
	pthread_mutex_unlock(&dev->lock);
}
