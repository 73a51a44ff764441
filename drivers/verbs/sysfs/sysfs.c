/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * libibverbs.so.1: reads files below /sys for librdmacm and other callers.
 */

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "ucma/cdev.h"
#include "sysfs/sysfs.h"
#include "uroce_config.h"

const char *
ibv_get_sysfs_path(void)
{
	return "/sys";
}

/* The version of <rdma/rdma_user_cm.h> that uroce's rdma_cm device implements. */
static int
read_cm_version(char *buf, size_t size)
{
	const int n = snprintf(buf, size, "4");

	if ((size_t)n < size)
		return n;
	errno = ENAMETOOLONG;
	return -1;
}

/* @return length of the contents, without the newline at the end; -1 and errno */
int
ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[UROCE_VERBS_PATH_BYTES];
	ssize_t n;
	int fd;

	if (strcmp(file, UROCE_CDEV_ABI_FILE) == 0 && uroce_cdev_attach(__builtin_return_address(0)))
		return read_cm_version(buf, size);
	if (size == 0 || (size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	if (n > 0 && buf[n - 1] == '\n')
		n--;
	buf[n] = '\0';
	return (int)n;
}

int
ibv_read_ibdev_sysfs_file(char *buf, size_t size, const void *device, const char *format, ...)
{
	(void)buf;
	(void)size;
	(void)device;
	(void)format;
	errno = ENOENT;		/* a uroce device has no such file */
	return -1;
}

int
ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t mac[6], uint16_t *vlan)
{
	(void)context;
	(void)attr;
	(void)mac;
	(void)vlan;
	errno = EOPNOTSUPP;	/* an AH or a QP resolves the address when it is created or modified */
	return -1;
}
