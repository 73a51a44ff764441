/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Starts the process's clock when the first worker is created.
 */

#include <pthread.h>

#include <rte_cycles.h>

#include "base/clock.h"

struct uroce_clock uroce_clock;

static void
clock_start(void)
{
	uint64_t hz = rte_get_tsc_hz();

	uroce_clock.ns_per_cycle = (uint64_t)(((unsigned __int128)NS_PER_S << 32) / hz);
	/* The base lies a second back: the clock is never 0, and does not wrap on a core whose TSC lags. */
	uroce_clock.base = rte_rdtsc() - hz;
}

void
uroce_clock_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, clock_start);
}
