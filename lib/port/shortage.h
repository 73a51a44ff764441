/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Says what to do when DPDK has too little memory.
 */

#ifndef UROCE_PORT_SHORTAGE_H
#define UROCE_PORT_SHORTAGE_H

#include <stddef.h>

/**
 * Log that `what` could not be made: what it takes of DPDK's memory, what there is, and the option that gives more.
 * Once all that was made of it has been freed, so that the free memory is what it can have.
 */
void uroce_log_shortage(const char *what, size_t bytes);

#endif /* UROCE_PORT_SHORTAGE_H */
