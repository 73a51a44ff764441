/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Prints the DPDK memory of a worker and a device without objects, for doc/reference/memory.rst, and compares it with
 * what telemetry reports. An embedder with eight workers and two ports needs at most 128 MiB in the configuration of
 * that page.
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
#include "port/footprint.h"
#include "port/port.h"
#include "port/worker/worker.h"
#include "rings.h"

#define MIB (UINT64_C(1) << 20)
#define LARGER_MIB (RTE_CACHE_LINE_SIZE > 64 ? 5 : 0)	/* DPDK of arm64 aligns mbufs to lines of 128 bytes */
#define WORKERS 8
#define PORTS 2

/* doc/reference/memory.rst has the same configuration; test/doc/memory compares them. */
static const char compact[] =
	"header_mbufs=2047,payload_mbufs=255,inbox_frames=255,reorder_frames=1024,reorder_qps=64,"
	"recoveries=64,rates=256,nb_rx_desc=256,nb_tx_desc=256,rx_mbufs=703,log2_max_qp=14,log2_max_mr=14";

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

/* The sum that telemetry reports is right but for 2 %. */
static void
expect_sum(uint64_t sum, uint64_t bytes)
{
	assert_uint_in_range(sum, bytes - bytes / 50, bytes + bytes / 50);
}

static void
expect_worker_sum(const struct uroce_worker *w, uint64_t bytes)
{
	struct uroce_worker_footprint f;

	uroce_worker_footprint(&w->conf, &f);
	expect_sum(f.total, bytes);
}

static void
expect_port_sum(struct ibv_context *context, uint64_t bytes)
{
	struct uroce_port_footprint f;

	uroce_port_footprint(uroce_port_of_context(context), &f);
	expect_sum(f.total, bytes);
}

static void
device(const char *what, const struct uroce_port_conf *conf, uint16_t port_id, struct uroce_worker **workers,
       unsigned int n)
{
	uint64_t before = in_use(), bytes;
	struct ibv_context *context = uroce_open_port(port_id, conf, workers, n);

	assert_non_null(context);
	bytes = report(what, before);
	assert_uint_in_range(bytes, 1, n * (32 + LARGER_MIB) * MIB);
	expect_port_sum(context, bytes);
	assert_int_equal(uroce_close_device(context), 0);
}

static void
test_footprint(void **state)
{
	static const struct uroce_port_conf small = { .size = sizeof(small), .log2_max_qp = 8, .log2_max_mr = 8 };
	static const struct uroce_port_conf short_frames = { .size = sizeof(short_frames), .mtu = 1500 };
	static const struct uroce_port_conf go_back_n = { .size = sizeof(go_back_n), .go_back_n = 1 };
	static const struct uroce_port_conf large = { .size = sizeof(large), .max_neighbors = 16384 };
	const struct uroce_worker_conf window = { .size = sizeof(window), .numa_node = -1, .log2_window = 12 };
	struct uroce_worker *workers[3];
	struct test_rings rings;

	test_rings_create(&rings, 2);
	for (unsigned int i = 0; i < RTE_DIM(workers); i++) {
		uint64_t before = in_use(), bytes;

		workers[i] = uroce_create_worker_ex(i == 2 ? &window : NULL);
		assert_non_null(workers[i]);
		bytes = i == 1 ? in_use() - before : report(i == 0 ? "worker" : "worker of log2_window 12", before);
		assert_uint_in_range(bytes, 1, (i == 2 ? 56 : 28 + LARGER_MIB) * MIB);
		expect_worker_sum(workers[i], bytes);
	}
	device("device", NULL, rings.port_id, workers, 1);
	device("device with two queues", NULL, rings.port_id, workers, 2);
	device("device of 256 QPs and 256 MRs", &small, rings.port_id, workers, 1);
	device("device of MTU 1500", &short_frames, rings.port_id, workers, 1);
	device("device that goes back N", &go_back_n, rings.port_id, workers, 1);
	device("device of 16384 neighbors", &large, rings.port_id, workers, 1);
	for (unsigned int i = 0; i < RTE_DIM(workers); i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	test_rings_destroy(&rings);
}

static void
test_compact(void **state)
{
	struct uroce_worker_conf worker = { .size = sizeof(worker), .numa_node = -1 };
	struct uroce_port_conf port = { .size = sizeof(port) };
	struct uroce_worker *workers[WORKERS];
	struct ibv_context *contexts[PORTS];
	struct test_rings rings[PORTS];
	char reason[256];
	uint64_t before, bytes;

	for (unsigned int i = 0; i < PORTS; i++)
		test_rings_create(&rings[i], WORKERS);
	assert_int_equal(uroce_parse_limits(compact, &worker, &port, reason, sizeof(reason)), 0);
	before = in_use();
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_non_null(workers[i] = uroce_create_worker_ex(&worker));
	for (unsigned int i = 0; i < PORTS; i++)
		assert_non_null(contexts[i] = uroce_open_port(rings[i].port_id, &port, workers, WORKERS));
	bytes = report("8 workers and 2 ports, compact", before);
	if (RTE_CACHE_LINE_SIZE == 64)
		assert_uint_in_range(bytes, 1, 128 * MIB);
	for (unsigned int i = 0; i < PORTS; i++)
		assert_int_equal(uroce_close_device(contexts[i]), 0);
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	for (unsigned int i = 0; i < PORTS; i++)
		test_rings_destroy(&rings[i]);
}

UROCE_TESTS(port_footprint)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_footprint),
		cmocka_unit_test(test_compact),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
