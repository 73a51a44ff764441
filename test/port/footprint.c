/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Prints the DPDK memory of a worker and a device without objects: mbuf pools and tables, for
 * doc/explanation/memory.rst. Fails above a limit.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_malloc.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "rings.h"

#define MIB (UINT64_C(1) << 20)
#define LARGER_MIB (RTE_CACHE_LINE_SIZE > 64 ? 5 : 0)	/* DPDK of arm64 aligns mbufs to lines of 128 bytes */

static uint64_t
in_use(void)
{
	struct rte_malloc_socket_stats stats;
	uint64_t bytes = 0;

	for (int node = 0; node < RTE_MAX_NUMA_NODES; node++)
		if (rte_malloc_get_socket_stats(node, &stats) == 0)
			bytes += stats.heap_allocsz_bytes;
	return bytes;
}

static uint64_t
report(const char *what, uint64_t before)
{
	uint64_t bytes = in_use() - before;

	printf("%-32s %6.1f MiB\n", what, (double)bytes / MIB);
	return bytes;
}

static void
device(const char *what, const struct uroce_port_conf *conf, uint16_t port_id, struct uroce_worker **workers,
       unsigned int n)
{
	uint64_t before = in_use();
	struct ibv_context *context = uroce_open_port(port_id, conf, workers, n);

	assert_non_null(context);
	assert_uint_in_range(report(what, before), 1, n * (32 + LARGER_MIB) * MIB);
	assert_int_equal(uroce_close_device(context), 0);
}

static void
test_footprint(void **state)
{
	static const struct uroce_port_conf small = { .size = sizeof(small), .log2_max_qp = 8, .log2_max_mr = 8 };
	static const struct uroce_port_conf short_frames = { .size = sizeof(short_frames), .mtu = 1500 };
	static const struct uroce_port_conf go_back_n = { .size = sizeof(go_back_n), .go_back_n = 1 };
	struct uroce_worker *workers[2];
	struct test_rings rings;

	test_rings_create(&rings, RTE_DIM(workers));
	for (unsigned int i = 0; i < RTE_DIM(workers); i++) {
		uint64_t before = in_use();

		workers[i] = uroce_create_worker(-1);
		assert_non_null(workers[i]);
		assert_uint_in_range(report("worker", before), 1, (28 + LARGER_MIB) * MIB);
	}
	device("device", NULL, rings.port_id, workers, 1);
	device("device with two queues", NULL, rings.port_id, workers, 2);
	device("device of 256 QPs and 256 MRs", &small, rings.port_id, workers, 1);
	device("device of MTU 1500", &short_frames, rings.port_id, workers, 1);
	device("device that goes back N", &go_back_n, rings.port_id, workers, 1);
	for (unsigned int i = 0; i < RTE_DIM(workers); i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	test_rings_destroy(&rings);
}

UROCE_TESTS(port_footprint)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_footprint),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
