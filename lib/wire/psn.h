/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Arithmetic on 24-bit packet sequence numbers (R11): half the space is ahead, half is behind.
 */

#ifndef UROCE_WIRE_PSN_H
#define UROCE_WIRE_PSN_H

#include <stdint.h>

#define UROCE_PSN_MASK 0xffffffu
#define UROCE_PSN_HALF 0x800000u

static inline uint32_t
uroce_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & UROCE_PSN_MASK;
}

/* How far a is ahead of b: -2^23 .. 2^23 - 1. */
static inline int32_t
uroce_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* How many PSNs from b up to a, going forward: 0 .. 2^24 - 1. */
static inline uint32_t
uroce_psn_distance(uint32_t a, uint32_t b)
{
	return (a - b) & UROCE_PSN_MASK;
}

#endif /* UROCE_WIRE_PSN_H */
