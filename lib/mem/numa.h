/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds the NUMA node of memory, so that other memory can be allocated on the same node.
 */

#ifndef UROCE_MEM_NUMA_H
#define UROCE_MEM_NUMA_H

/**
 * Find the NUMA node of the page at va. If the page is not there yet, the node is the one that the memory policy
 * demands. Does not touch the page. Any thread. @return -1: not known
 */
int uroce_numa_node(const void *va);

#endif /* UROCE_MEM_NUMA_H */
