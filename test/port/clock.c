/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The process's clock: how it starts, and that it counts nanoseconds and never goes back.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "base/clock.h"
#include "groups.h"

static uint64_t
system_ns(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void
nap(void)
{
	const struct timespec t = { .tv_nsec = 20000000 };

	nanosleep(&t, NULL);
}

/* The first test: the clock is not started. */
static void
test_start(void **state)
{
	uint64_t hz = rte_get_tsc_hz(), second;
	struct uroce_clock started;

	assert_int_equal(uroce_clock.ns_per_cycle, 0);
	uroce_clock_init();
	started = uroce_clock;
	second = (uint64_t)((unsigned __int128)hz * started.ns_per_cycle >> 32);
	assert_uint_in_range(second, NS_PER_S - 10, NS_PER_S);
	/* never 0, even on a core whose TSC lags behind: the clock starts at one second */
	assert_true(uroce_clock_ns() >= second);
	/* a second call changes nothing: otherwise timers would fire at wrong times */
	uroce_clock_init();
	assert_memory_equal(&uroce_clock, &started, sizeof(started));
}

static void
test_monotonic(void **state)
{
	uint64_t last = uroce_clock_ns();

	for (unsigned int i = 0; i < 100000; i++) {
		uint64_t now = uroce_clock_ns();

		assert_true(now >= last);
		last = now;
	}
}

/* Compare with the system's clock, one measurement inside the other: time in which the thread does not run counts
 * for the outer one. */
static void
test_nanoseconds(void **state)
{
	uint64_t outer, inner;

	outer = system_ns();
	inner = uroce_clock_ns();
	nap();
	inner = uroce_clock_ns() - inner;
	outer = system_ns() - outer;
	assert_true(inner / 2 <= outer);

	outer = uroce_clock_ns();
	inner = system_ns();
	nap();
	inner = system_ns() - inner;
	outer = uroce_clock_ns() - outer;
	assert_true(inner / 2 <= outer);
}

/* A year of cycles also converts right: the product exceeds 64 bits. */
static void
test_years(void **state)
{
	const struct uroce_clock started = uroce_clock;
	uint64_t year = (uint64_t)365 * 24 * 3600, ns;

	uroce_clock.base = rte_rdtsc() - year * rte_get_tsc_hz();
	ns = uroce_clock_ns();
	uroce_clock = started;
	/* within seconds per year, by the rounding of each conversion */
	assert_true(ns >= (year - 60) * NS_PER_S);
	assert_true(ns / NS_PER_S < 2 * year);
}

UROCE_TESTS(port_clock)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_monotonic),
		cmocka_unit_test(test_nanoseconds),
		cmocka_unit_test(test_years),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
