/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks with DPDK's memory subsystem that a range is mapped, for registration. Control threads.
 */

#include <errno.h>

#include "mem/dpdk.h"
#include "mem/mapped.h"

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
	struct range r = { first, last };

	/* takes no lock, as the callers: see mr.c */
	return rte_memseg_list_walk_thread_unsafe(is_overlapped, &r) == 1;
}

int
uroce_dpdk_check(const struct uroce_dpdk_area *area, uint64_t first, uint64_t last, bool write)
{
	struct uroce_dpdk_area a = *area;
	uint64_t at = first;

	/* DPDK maps its own pages in use for reading and writing. The application may have mapped external memory in
	 * any way. */
	for (;;) {
		if (a.msl == NULL || a.msl->external)
			return uroce_mapped_check(at, last, write);
		if (a.end == at)
			return -EFAULT;
		if (a.end > last)
			return 0;
		at = a.end;
		a = uroce_dpdk_area(at);
	}
}
