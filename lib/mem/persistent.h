/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Persistent memory: recognizes it, and writes caches back to it, for FLUSH (R25).
 */

#ifndef UROCE_MEM_PERSISTENT_H
#define UROCE_MEM_PERSISTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_config.h>

#if defined(RTE_ARCH_X86)
#define UROCE_CAN_PERSIST true
#else
#define UROCE_CAN_PERSIST false /* not implemented for this processor */
#endif

/**
 * Is every byte of first .. last mapped with MAP_SYNC, so that it is persistent once it has left the caches?
 * Control threads, at registration.
 * @return	0; -EINVAL: it is not, or UROCE_CAN_PERSIST is false; or the error of reading /proc/self/smaps
 */
int uroce_persistent_check(uint64_t first, uint64_t last);

/** As uroce_persistent_check(), from all of /proc/self/smaps, open as fd. */
int uroce_persistent_scan(int fd, uint64_t first, uint64_t last);

/** Write the caches back to persistent memory. Worker. */
void uroce_persist(const void *va, size_t bytes);

#endif /* UROCE_MEM_PERSISTENT_H */
