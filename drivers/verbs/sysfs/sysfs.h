/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Calls of libibverbs' ABI whose header Debian does not install.
 */

#ifndef UROCE_DRIVERS_VERBS_SYSFS_SYSFS_H
#define UROCE_DRIVERS_VERBS_SYSFS_SYSFS_H

#include <stddef.h>
#include <stdint.h>

struct ibv_context;
struct ibv_ah_attr;

const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int ibv_read_ibdev_sysfs_file(char *buf, size_t size, const void *device, const char *format, ...);
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t mac[6],
				uint16_t *vlan);

#endif /* UROCE_DRIVERS_VERBS_SYSFS_SYSFS_H */
