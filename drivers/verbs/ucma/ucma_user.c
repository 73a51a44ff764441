/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Has the kernel read and write the memory that a command points to, so that a bad address is an error and not a
 * crash. Any thread of the program.
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/uio.h>

#include <rte_common.h>
#include <rte_debug.h>

#include "ucma/ucma_user.h"
#include "uroce_config.h"

/* @return 0; -EFAULT; 1: a container forbids the system call, and the caller trusts the pointer, as other libraries
 *		do */
static int
result(ssize_t done, size_t bytes)
{
	if (done < 0)
		return errno == EFAULT ? -EFAULT : 1;
	return (size_t)done == bytes ? 0 : -EFAULT;
}

int
uroce_ucma_user_clear(uint64_t address, size_t bytes)
{
	static uint8_t zeros[UROCE_UCMA_MAX_BYTES];	/* never written */
	struct iovec from = { .iov_base = zeros }, to = { .iov_base = uroce_ucma_user(address) };
	int ret;

	RTE_VERIFY(bytes <= sizeof(zeros));
	from.iov_len = to.iov_len = bytes;
	ret = result(process_vm_writev(getpid(), &from, 1, &to, 1, 0), bytes);
	if (ret > 0)
		memset(to.iov_base, 0, bytes);
	return RTE_MIN(ret, 0);
}

int
uroce_ucma_user_read(uint64_t address, void *to, size_t bytes)
{
	struct iovec from = { .iov_base = uroce_ucma_user(address), .iov_len = bytes };
	struct iovec into = { .iov_base = to, .iov_len = bytes };
	int ret;

	RTE_VERIFY(bytes <= UROCE_UCMA_MAX_BYTES);
	ret = result(process_vm_readv(getpid(), &into, 1, &from, 1, 0), bytes);
	if (ret > 0)
		memcpy(to, from.iov_base, bytes);
	return RTE_MIN(ret, 0);
}
