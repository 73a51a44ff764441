/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks that memory to be registered is mapped, once per registration, without touching it.
 */

#ifndef UROCE_MEM_MAPPED_H
#define UROCE_MEM_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Is every byte of first .. last mapped, readable, and writable if `write`? Any thread.
 *
 * A mapping beyond the end of its file counts as mapped: the kernel notices only when the page is touched.
 *
 * @return 0; -EFAULT; or the error of reading /proc/self/maps: -EMFILE, -ENOENT, …
 */
int uroce_mapped_check(uint64_t first, uint64_t last, bool write);

/** As uroce_mapped_check(), from all of /proc/self/maps, open as fd: for kernels before 6.11. */
int uroce_mapped_scan(int fd, uint64_t first, uint64_t last, bool write);

#endif /* UROCE_MEM_MAPPED_H */
