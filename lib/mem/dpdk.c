/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The questions to DPDK's memory subsystem that need a walk. Control threads, at registration.
 */

#include "mem/dpdk.h"

struct range {
	uint64_t first;
	uint64_t last;
};

static int
is_overlapped(const struct rte_memseg_list *msl, void *arg)
{
	const struct range *r = arg;

	return r->first < msl->addr_64 + msl->len && r->last >= msl->addr_64;
}

bool
uroce_dpdk_overlaps(uint64_t first, uint64_t last)
{
	struct range r = {first, last};

	/* "unsafe" does not take the lock, which the caller has */
	return rte_memseg_list_walk_thread_unsafe(is_overlapped, &r) == 1;
}
