/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Is /dev/infiniband/rdma_cm for the distribution's librdmacm.
 */

#ifndef UROCE_DRIVERS_VERBS_UCMA_CDEV_H
#define UROCE_DRIVERS_VERBS_UCMA_CDEV_H

#include <stdbool.h>

#define UROCE_CDEV_ABI_FILE "class/misc/rdma_cm/abi_version"

/**
 * Be the device for the librdmacm that a call comes from. It calls twice before it opens the device: one that meets
 * no kernel with rdma_cm reads the file of its ABI's version, and each asks for the devices.
 *
 * @param caller	a return address
 * @return true; false: it is not librdmacm
 */
bool uroce_cdev_attach(const void *caller);

/** Does a call come from librdmacm? @param caller	a return address */
bool uroce_cdev_is_librdmacm(const void *caller);

#endif /* UROCE_DRIVERS_VERBS_UCMA_CDEV_H */
