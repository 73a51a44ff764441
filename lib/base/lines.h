/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The distance between memory that different threads write.
 */

#ifndef UROCE_BASE_LINES_H
#define UROCE_BASE_LINES_H

#include <rte_common.h>

/* In bytes. Two cache lines, since a CPU's prefetcher may load them in pairs: two workers whose counters had neighboring
 * lines lost a tenth of their messages. As RTE_CACHE_GUARD_LINES of DPDK. */
#define UROCE_LINES_APART (2 * RTE_CACHE_LINE_SIZE)

#endif /* UROCE_BASE_LINES_H */
