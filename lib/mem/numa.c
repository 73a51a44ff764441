/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds the NUMA node of an address. Control threads, at registration.
 */

#include <limits.h>
#include <stdint.h>
#include <unistd.h>

#include <numa.h>
#include <numaif.h>

#include "mem/numa.h"

/* @return the node, if the memory policy of the address allows a single one; else -1 */
static int
node_by_policy(void *va)
{
	struct bitmask *nodes;
	int mode;
	int node = -1;

	/* if this fails, other calls of the library are undefined */
	if (numa_available() < 0)
		return -1;
	nodes = numa_allocate_nodemask();
	if (nodes == NULL)
		return -1;
	/* not MPOL_F_NODE: that would fault the page in */
	if (get_mempolicy(&mode, nodes->maskp, nodes->size + 1, va, MPOL_F_ADDR) == 0 &&
	    mode == MPOL_BIND && numa_bitmask_weight(nodes) == 1) {
		for (node = 0; !numa_bitmask_isbitset(nodes, (unsigned int)node);)
			node++;
	}
	numa_bitmask_free(nodes);
	return node;
}

int
uroce_numa_node(const void *va)
{
	void *page = (void *)((uintptr_t)va & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1));
	int status = -1;

	/* A plain system call, which needs no numa_available(). Without target nodes it only returns the node. */
	if (move_pages(0, 1, &page, NULL, &status, 0) == 0 && status >= 0)
		return status;
	return node_by_policy(page);
}
