/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the measurement of the floors, on one lcore and on two, for loads of every shape. The better of two
 * measurements counts. The speed depends on the machine and is not checked.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "floor/copies.h"
#include "eal.h"
#include "groups.h"
#include "measure/endpoint.h"
#include "floor/floor.h"

static const struct perf_floor_load loads[] = {
	{ 65536, 4096, 1 << 20 },
	{ 65536, 1024, 1 << 20 },
	{ 65, 4096, 8192 },
	{ 4097, 256, 4160 },
	{ 1 << 20, 4096, 1 }, /* a window smaller than a message holds one */
};

static const struct perf_params params = {
	.op = PERF_WRITE, .size = 65536, .mtu = 4096, .qps = 1, .depth = 128
};

static bool
is_copy(const char *name)
{
	for (unsigned int i = 0; i < uroce_perf_nb_copies; i++) {
		if (strcmp(uroce_perf_copies[i].name, name) == 0)
			return true;
	}
	return false;
}

static void
test_bytes(void **state)
{
	for (unsigned int i = 0; i < RTE_DIM(loads); i++) {
		struct perf_floor f = { 0 };

		assert_int_equal(uroce_perf_floor_bytes(&f, &loads[i]), 0);
		assert_true(f.gbps > 0);
		assert_true(is_copy(f.copy));
	}
}

static void
test_pair(void **state)
{
	for (unsigned int i = 0; i < RTE_DIM(loads); i++) {
		struct perf_floor f = { .copy = "uroce" };

		assert_int_equal(uroce_perf_floor_pair(&f, &loads[i], rte_get_next_lcore(-1, 1, 0)), 0);
		assert_true(f.pair_gbps > 0);
		assert_null(rte_ring_lookup("uroce_floor_pair"));
	}
}

static void
test_no_memory(void **state)
{
	const struct perf_floor_load load = { 65536, 4096, (size_t)1 << 40 };
	struct perf_floor f = { .gbps = 1, .copy = "uroce", .pair_gbps = 1 };

	assert_int_equal(uroce_perf_floor_bytes(&f, &load), -ENOMEM);
	assert_true(f.gbps == 0);
	f.copy = "uroce";
	assert_int_equal(uroce_perf_floor_pair(&f, &load, rte_get_next_lcore(-1, 1, 0)), -ENOMEM);
	assert_true(f.pair_gbps == 0);
}

static void
check_rings(unsigned int lcore, double rtt_ns)
{
	/* twice: the first measurement must leave no state */
	for (unsigned int i = 0; i < 2; i++) {
		struct perf_floor f = { 0 };

		assert_int_equal(uroce_perf_floor_rings(&f, lcore, rtt_ns), 0);
		assert_true((f.span > 0) == (rtt_ns > 0) && (f.span_ns > 0) == (rtt_ns > 0));
		assert_true(f.span_p999_ns >= f.span_ns);
		assert_true(f.mops > 0);
		assert_true(f.rtt_ns > 0);
		assert_null(rte_ring_lookup("uroce_floor_there"));
		assert_null(rte_mempool_lookup("uroce_floor"));
	}
}

static void
test_rings(void **state)
{
	check_rings(LCORE_ID_ANY, 0);
	check_rings(LCORE_ID_ANY, 1500);
	check_rings(rte_get_next_lcore(-1, 1, 0), 0);
}

static void
test_take(void **state)
{
	const struct perf_floor_place here = { true, LCORE_ID_ANY, 1 }, elsewhere = { false, LCORE_ID_ANY, 3 };
	struct perf_floor f = { 0 };

	assert_int_equal(uroce_perf_floor_take(&f, &params, &here, 0), 0);
	assert_true(f.gbps > 0 && f.mops > 0 && f.rtt_ns > 0 && f.cores == 1);
	f = (struct perf_floor){ .gbps = 1e9, .copy = "none", .mops = 1e9, .rtt_ns = 1e-9 };
	assert_int_equal(uroce_perf_floor_take(&f, &params, &here, 0), 0);
	assert_true(f.gbps == 1e9 && f.mops == 1e9 && f.rtt_ns == 1e-9);
	assert_string_equal(f.copy, "none");
	f = (struct perf_floor){ 0 };
	assert_int_equal(uroce_perf_floor_take(&f, &params, &elsewhere, 0), 0);
	assert_true(f.gbps > 0 && f.mops == 0 && f.rtt_ns == 0 && f.cores == 3);
}

/* For payloads in the header's cache lines, packets are the bound. */
static void
test_small(void **state)
{
	const struct perf_floor_place here = { true, LCORE_ID_ANY, 1 };
	struct perf_params p = params;
	struct perf_floor f = { 0 };

	p.size = RTE_CACHE_LINE_SIZE - 1;
	assert_int_equal(uroce_perf_floor_take(&f, &p, &here, 0), 0);
	assert_true(f.gbps == 0 && f.mops > 0);
}

UROCE_TESTS(perf_floor)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes), cmocka_unit_test(test_pair), cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_rings), cmocka_unit_test(test_take),
		cmocka_unit_test(test_small),
	};

	test_eal_init("--lcores", "0@0,1@0", NULL); /* each machine has CPU 0 */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
