/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Pinning by the kernel: io_uring's fixed buffers, without its library.
 */

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/io_uring.h>
#include <rte_common.h>

#include "registration.h"

#define BUFFER_BYTES ((size_t)1 << 30) /* the kernel's maximum */
#define BUFFERS	     64

int
pin_open(void)
{
	struct io_uring_params params;
	int fd;

	memset(&params, 0, sizeof(params));
	fd = (int)syscall(__NR_io_uring_setup, 1, &params);
	return fd < 0 ? -errno : fd;
}

int
pin(int fd, void *va, size_t bytes)
{
	struct iovec parts[BUFFERS];
	unsigned int n = 0;

	for (size_t at = 0; at < bytes; at += parts[n++].iov_len) {
		if (n == BUFFERS)
			return -E2BIG;
		parts[n].iov_base = (uint8_t *)va + at;
		parts[n].iov_len = RTE_MIN(bytes - at, BUFFER_BYTES);
	}
	return syscall(__NR_io_uring_register, fd, IORING_REGISTER_BUFFERS, parts, n) == 0 ? 0 : -errno;
}

int
unpin(int fd)
{
	return syscall(__NR_io_uring_register, fd, IORING_UNREGISTER_BUFFERS, NULL, 0) == 0 ? 0 : -errno;
}
