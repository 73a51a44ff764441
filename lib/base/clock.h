/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The process's clock, which port/ passes down to the lower layers: nanoseconds since the first worker was created,
 * from the TSC. Any thread.
 */

#ifndef UROCE_BASE_CLOCK_H
#define UROCE_BASE_CLOCK_H

#include <stdint.h>

#include <rte_cycles.h>

struct uroce_clock {
	uint64_t base;         /* TSC */
	uint64_t ns_per_cycle; /* << 32 */
};

extern struct uroce_clock uroce_clock;

/** Idempotent, after rte_eal_init(). Any thread. */
void uroce_clock_init(void);

/** Never 0, which timers take for 'not armed'. */
static inline uint64_t
uroce_clock_ns(void)
{
	unsigned __int128 cycles = rte_rdtsc() - uroce_clock.base;

	return (uint64_t)(cycles * uroce_clock.ns_per_cycle >> 32);
}

#endif /* UROCE_BASE_CLOCK_H */
