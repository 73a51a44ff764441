/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Arithmetic on 24-bit packet sequence numbers (R11): half of the space is ahead of a PSN, half is behind it.
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

/* @return a - b: positive if a is ahead of b; -2^23 .. 2^23 - 1 */
static inline int32_t
uroce_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* @return the number of PSNs from b forward to a: 0 .. 2^24 - 1 */
static inline uint32_t
uroce_psn_distance(uint32_t a, uint32_t b)
{
	return (a - b) & UROCE_PSN_MASK;
}

#endif /* UROCE_WIRE_PSN_H */
