/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests which floor bounds a result, and the result's share of it.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "groups.h"
#include "report.h"
#include "floor/floor_ratio.h"

/* 100 Gb/s are 12.5 GB/s: 64 KiB take 5.24288 us, their 16 packets 0.16 us */
static const struct perf_row base = {
	.params = { .op = PERF_WRITE, .mode = PERF_BW, .size = 65536, .mtu = 4096 },
	.seconds = 2,
	.ops = 200000,
	.lat_us = { .p50 = 4 },
	.floor = { .gbps = 100, .copy = "memcpy", .cores = 1, .mops = 100, .rtt_ns = 500 },
};

static void
expect(const struct perf_row *row, double share, enum perf_bound bound)
{
	enum perf_bound got = PERF_BOUND_COUNT;
	double value = uroce_perf_floor_ratio(row, &got);

	assert_int_equal(got, bound);
	assert_true(fabs(value - share) < 1e-9);
}

static void
test_bytes_bound(void **state)
{
	struct perf_row row = base;

	expect(&row, 65536 * 8 / 100e9 * 1e5, PERF_BOUND_BYTES);
	row.floor.cores = 2;
	expect(&row, 65536 * 8 / 200e9 * 1e5, PERF_BOUND_BYTES);
	row.params.mode = PERF_RATE;
	expect(&row, 65536 * 8 / 200e9 * 1e5, PERF_BOUND_BYTES);
}

static void
test_packets_bound(void **state)
{
	struct perf_row row = base;

	row.params.size = 8;
	row.floor.gbps = 0;
	row.ops = 30000000;
	expect(&row, 0.15, PERF_BOUND_PACKETS);
	row.params.size = 0;
	expect(&row, 0.15, PERF_BOUND_PACKETS);
	/* the last packet of a message counts, too */
	row.params.size = 4097;
	expect(&row, 0.3, PERF_BOUND_PACKETS);
	row.params.size = 8192;
	expect(&row, 0.3, PERF_BOUND_PACKETS);
}

/* For small packets the packet rate is the bound. */
static void
test_the_scarcer_bounds(void **state)
{
	struct perf_row row = base;

	row.params.size = 64; /* 5.12 ns of 10 */
	expect(&row, 0.001, PERF_BOUND_PACKETS);
	row.params.size = 250; /* 20 ns */
	expect(&row, 0.002, PERF_BOUND_BYTES);
}

static void
test_round_trip_bound(void **state)
{
	struct perf_row row = base;

	row.params.mode = PERF_LAT;
	row.params.size = 8;
	row.floor.gbps = 0;
	expect(&row, 0.125, PERF_BOUND_ROUND_TRIP);
	/* round trip: both directions */
	row.floor.gbps = 100;
	row.params.size = 12500;
	expect(&row, 0.5, PERF_BOUND_BYTES);
	/* payload in one direction */
	row.params.op = PERF_READ;
	expect(&row, 0.25, PERF_BOUND_BYTES);
}

static void
test_between_processes(void **state)
{
	struct perf_row row = base;

	row.floor.mops = 0;
	row.floor.rtt_ns = 0;
	expect(&row, 65536 * 8 / 100e9 * 1e5, PERF_BOUND_BYTES);
	row.params.size = 4096;
	expect(&row, 4096 * 8 / 100e9 * 1e5, PERF_BOUND_BYTES);
	row.params.size = 4095; /* less than a packet: the bound is unknown */
	expect(&row, 0, PERF_BOUND_NONE);
	row = base;
	row.params.mode = PERF_LAT;
	row.floor.rtt_ns = 0;
	expect(&row, 0, PERF_BOUND_NONE);
}

static void
test_nothing_known(void **state)
{
	struct perf_row row = base;

	row.floor = (struct perf_floor){ 0 };
	expect(&row, 0, PERF_BOUND_NONE);
	row = base;
	row.ops = 0;
	expect(&row, 0, PERF_BOUND_NONE);
	row = base;
	row.seconds = 0;
	expect(&row, 0, PERF_BOUND_NONE);
	row = base;
	row.params.mode = PERF_LAT;
	row.lat_us.p50 = 0;
	expect(&row, 0, PERF_BOUND_NONE);
}

UROCE_TESTS(perf_floor_ratio)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_bound),
		cmocka_unit_test(test_packets_bound),
		cmocka_unit_test(test_the_scarcer_bounds),
		cmocka_unit_test(test_round_trip_bound),
		cmocka_unit_test(test_between_processes),
		cmocka_unit_test(test_nothing_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
