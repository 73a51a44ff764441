/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_fork_init(3), which has nothing to do: the library accesses memory by the process's own addresses, or it is
 * DPDK's, which a fork shares. Any thread.
 */

#include "uroce.h"

int
uroce_fork_init(void)
{
	return 0;
}

enum ibv_fork_status
uroce_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
