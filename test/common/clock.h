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

#endif /* UROCE_TEST_CLOCK_H */
