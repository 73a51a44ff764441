/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The parameters of a device's congestion control. Control threads replace the whole set; workers never see a mix of an
 * old set and a new one.
 */

#ifndef UROCE_VERBS_DEVICE_CONGESTION_H
#define UROCE_VERBS_DEVICE_CONGESTION_H

#include "uroce.h"
#include "verbs/device/device.h"

/** @param congestion	NULL: all defaults. @return 0; -EINVAL; -ENOMEM */
int uroce_congestion_init(struct uroce_device *dev, const struct uroce_congestion *congestion);
void uroce_congestion_fini(struct uroce_device *dev);

/** If congestion control is on, mark the packets of a new path as ECN-capable (ECT(0)), unless it has ECN bits. */
void uroce_congestion_mark(const struct uroce_device *dev, struct uroce_path *path);

/** @return the present set, valid until the poll ends. Worker, within a poll. */
static inline const struct uroce_congestion *
uroce_congestion_of(const struct uroce_device *dev)
{
	/* pairs with the release in publish() of congestion.c */
	return __atomic_load_n(&dev->congestion, __ATOMIC_ACQUIRE);
}

#endif /* UROCE_VERBS_DEVICE_CONGESTION_H */
