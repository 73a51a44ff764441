/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Defines stderr for the copy of rdma-core in libibverbs.so.1. rdma-core's archives are compiled for programs, so their
 * code cannot refer to a variable of libc from a shared library.
 */

#include <stdio.h>

extern FILE *uroce_rnic_stderr;
FILE *uroce_rnic_stderr;	/* constant after the library is loaded */

__attribute__((constructor)) static void
find_stderr(void)
{
	uroce_rnic_stderr = stderr;
}
