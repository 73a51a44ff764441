/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Logs how much memory a worker or device needs, how much DPDK has, and the EAL option that helps. Control threads,
 * after the creation has failed.
 */

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "base/log.h"
#include "port/worker/shortage.h"

#define MIB	  ((size_t)1 << 20)
#define SPARE_MIB 8 /* for QPs, CQs and other objects of the application */

struct memory {
	size_t total;
	size_t free;
};

static size_t
in_mib(size_t bytes)
{
	return (bytes + MIB - 1) / MIB;
}

static void
count(struct memory *m)
{
	struct rte_malloc_socket_stats stats;

	for (unsigned int i = 0; i < rte_socket_count(); i++) {
		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) != 0)
			continue;
		m->total += stats.heap_totalsz_bytes;
		m->free += stats.heap_freesz_bytes;
	}
}

/* @return a sufficient value of EAL's -m, a power of two */
static size_t
enough_mib(const struct memory *m, size_t bytes)
{
	size_t least = in_mib(m->total - m->free + bytes) + SPARE_MIB;

	return rte_align64pow2(RTE_MAX(least, m->total / MIB + 1));
}

void
uroce_log_shortage(const char *what, size_t bytes)
{
	struct memory m = { 0, 0 };

	count(&m);
	if (rte_eal_has_hugepages())
		UROCE_LOG(ERR,
			  "%s needs %zu MiB of DPDK's memory, and too few hugepages are free: reserve more "
			  "(dpdk-hugepages.py --reserve), or start the program with --no-huge -m %zu\n",
			  what, in_mib(bytes), enough_mib(&m, bytes));
	else
		UROCE_LOG(ERR,
			  "%s needs %zu MiB of DPDK's memory, and %zu of %zu MiB are free: start the program with "
			  "-m %zu (uroce-run: --memory %zu)\n",
			  what, in_mib(bytes), m.free / MIB, m.total / MIB, enough_mib(&m, bytes),
			  enough_mib(&m, bytes));
}
