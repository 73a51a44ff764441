/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Starts DPDK inside a verbs program when the program first asks for devices: a device for each port, and a thread
 * that drives them while the program does not poll.
 */

#ifndef UROCE_DRIVERS_VERBS_HOST_H
#define UROCE_DRIVERS_VERBS_HOST_H

#include <infiniband/verbs.h>

/**
 * The process's devices, which the first caller opens, after starting EAL. Any thread.
 *
 * @param devices	set to their contexts, which live as long as the process
 * @return	how many; 0 after a line on stderr that says why
 */
unsigned int uroce_host_devices(struct ibv_context *const **devices);

#endif /* UROCE_DRIVERS_VERBS_HOST_H */
