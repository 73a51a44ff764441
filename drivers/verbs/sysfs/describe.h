/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Writes the files in which the kernel would describe libibverbs' devices.
 */

#ifndef UROCE_DRIVERS_VERBS_SYSFS_DESCRIBE_H
#define UROCE_DRIVERS_VERBS_SYSFS_DESCRIBE_H

/**
 * Describe all devices in ROOT/sys/class/{infiniband,infiniband_verbs,infiniband_mad,misc/rdma_cm} and
 * ROOT/dev/infiniband. Calls libibverbs, which opens the devices.
 *
 * @param root	"" for the system's own directories; these must not exist yet
 * @return	0; -ENODEV: there is no device, and stderr has the reason; -errno: a file cannot be written
 */
int uroce_describe(const char *root);

#endif /* UROCE_DRIVERS_VERBS_SYSFS_DESCRIBE_H */
