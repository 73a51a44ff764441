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
#define UROCE_CAN_PERSIST false /* nobody has told us how to write these caches back */
#endif

/**
 * Is every byte of first .. last persistent as soon as it has left the caches: mapped with MAP_SYNC?
 * Control threads, at registration.
 * @return	0; -EINVAL: it is not, or this processor cannot be told to write its caches back; or what
 *		kept us from reading /proc/self/smaps
 */
int uroce_persistent_check(uint64_t first, uint64_t last);

/** The same from all of /proc/self/smaps, open as fd. */
int uroce_persistent_scan(int fd, uint64_t first, uint64_t last);

/** Write the caches back. Worker. */
void uroce_persist(const void *va, size_t bytes);

#endif /* UROCE_MEM_PERSISTENT_H */
