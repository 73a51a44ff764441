/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Logs the remedy when DPDK has too little memory.
 */

#ifndef UROCE_PORT_WORKER_SHORTAGE_H
#define UROCE_PORT_WORKER_SHORTAGE_H

#include <stddef.h>

/**
 * Log that `what` could not be created: the memory that it needs, DPDK's free memory, and the EAL option that adds
 * memory. Call this after the parts of `what` have been freed, so that the free memory includes them.
 */
void uroce_log_shortage(const char *what, size_t bytes);

#endif /* UROCE_PORT_WORKER_SHORTAGE_H */
