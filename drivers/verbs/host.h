/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Starts DPDK inside a verbs program when the program first lists devices: a device for each port, and a thread that
 * polls the ports while the program does not.
 */

#ifndef UROCE_DRIVERS_VERBS_HOST_H
#define UROCE_DRIVERS_VERBS_HOST_H

#include <infiniband/verbs.h>

/**
 * Get the process's devices; the first call starts EAL and opens them. Any thread.
 *
 * @param devices	set to their contexts, which live as long as the process
 * @return	number of devices; 0 after a message on stderr with the reason
 */
unsigned int uroce_host_devices(struct ibv_context *const **devices);

#endif /* UROCE_DRIVERS_VERBS_HOST_H */
