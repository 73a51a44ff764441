/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The process's clock, from the TSC. port/ reads it and passes the time down to the lower layers. Any thread.
 */

#ifndef UROCE_BASE_CLOCK_H
#define UROCE_BASE_CLOCK_H

#include <stdint.h>

#include <rte_cycles.h>

struct uroce_clock {
	uint64_t base;         /* TSC value at time 0 */
	uint64_t ns_per_cycle; /* fixed point, << 32 */
};

extern struct uroce_clock uroce_clock;

/** Start the clock; idempotent, after rte_eal_init(). Any thread. */
void uroce_clock_init(void);

/** @return nanoseconds; never 0, which in a timer means 'not armed' */
static inline uint64_t
uroce_clock_ns(void)
{
	unsigned __int128 cycles = rte_rdtsc() - uroce_clock.base;

	return (uint64_t)(cycles * uroce_clock.ns_per_cycle >> 32);
}

#endif /* UROCE_BASE_CLOCK_H */
