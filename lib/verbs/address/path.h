/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Waits until the MAC address of a path's neighbor is known.
 */

#ifndef UROCE_VERBS_ADDRESS_PATH_H
#define UROCE_VERBS_ADDRESS_PATH_H

#include <infiniband/verbs.h>

#include "verbs/device/device.h"

/**
 * Wait until the MAC address of a path's neighbor is known, for UROCE_PATH_WAIT_POLLS polls at most. Until it is known,
 * the port keeps only a few of the path's frames and drops the others. Polls the workers. Control threads.
 */
void uroce_path_wait(struct uroce_device *dev, const struct uroce_path *path);

/** uroce_path_wait() for a QP, which may have no path. */
void uroce_path_wait_qp(struct ibv_qp *qp);

#endif /* UROCE_VERBS_ADDRESS_PATH_H */
