/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Turns the process's clock, so that a test need not wait for time to pass.
 */

#ifndef UROCE_TEST_CLOCK_H
#define UROCE_TEST_CLOCK_H

#include "base/clock.h"

/** Let at least ns pass at once. No other thread may read the clock meanwhile. */
static inline void
test_clock_advance(uint64_t ns)
{
	uroce_clock.base -= (uint64_t)(((unsigned __int128)ns << 32) / uroce_clock.ns_per_cycle) + 1;
}

/* Let the clock advance by so many ns a second from now on. */
static inline void
test_clock_run(uint64_t ns)
{
	const uint64_t now = uroce_clock_ns();

	uroce_clock.ns_per_cycle = (uint64_t)(((unsigned __int128)ns << 32) / rte_get_tsc_hz());
	uroce_clock.base = rte_rdtsc() - (uint64_t)(((unsigned __int128)now << 32) / uroce_clock.ns_per_cycle) - 1;
}

/** Let the clock run 1,000 times slower from now on, so that no timer fires because the test is delayed. No other thread
 * may read the clock meanwhile. */
static inline void
test_clock_slow(void)
{
	test_clock_run(NS_PER_S / 1000);
}

/** Let the clock run a million times slower from now on. No other thread may read the clock meanwhile. */
static inline void
test_clock_stop(void)
{
	test_clock_run(NS_PER_S / 1000000);
}

/** Let the clock run at its normal speed again. No other thread may read the clock meanwhile. */
static inline void
test_clock_go(void)
{
	test_clock_run(NS_PER_S);
}

#endif /* UROCE_TEST_CLOCK_H */
