/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Waits until the MAC address at the end of a path is known.
 */

#ifndef UROCE_VERBS_ADDRESS_PATH_H
#define UROCE_VERBS_ADDRESS_PATH_H

#include <infiniband/verbs.h>

#include "verbs/device/device.h"

/**
 * Wait until the MAC address that a path's frames go to is known, UROCE_PATH_WAIT_POLLS at most: before, the port keeps
 * only a few of them, and loses the others. Drives the workers. Control threads.
 */
void uroce_path_wait(struct uroce_device *dev, const struct uroce_path *path);

/** The same for a QP that may have a path. */
void uroce_path_wait_qp(struct ibv_qp *qp);

#endif /* UROCE_VERBS_ADDRESS_PATH_H */
