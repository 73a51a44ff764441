/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Emulates /dev/infiniband/rdma_cm for the distribution's librdmacm.
 */

#ifndef UROCE_DRIVERS_VERBS_UCMA_CDEV_H
#define UROCE_DRIVERS_VERBS_UCMA_CDEV_H

#include <stdbool.h>

#define UROCE_CDEV_ABI_FILE "class/misc/rdma_cm/abi_version"

/**
 * Emulate the device for the librdmacm that makes a call. Before librdmacm opens the device, it lists the devices,
 * and on a kernel without rdma_cm it reads the file with the ABI version.
 *
 * @param caller	a return address
 * @return true; false: the call does not come from librdmacm
 */
bool uroce_cdev_attach(const void *caller);

/** Does a call come from librdmacm? @param caller	a return address */
bool uroce_cdev_is_librdmacm(const void *caller);

#endif /* UROCE_DRIVERS_VERBS_UCMA_CDEV_H */
