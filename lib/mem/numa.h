/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds the NUMA node of memory, so that what is used with it can be allocated on the same node.
 */

#ifndef UROCE_MEM_NUMA_H
#define UROCE_MEM_NUMA_H

/**
 * The NUMA node of the page at va, or, while it has no page, the one it has to come from.
 * Does not touch the page. Any thread. @return -1: not known
 */
int uroce_numa_node(const void *va);

#endif /* UROCE_MEM_NUMA_H */
