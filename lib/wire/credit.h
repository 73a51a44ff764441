/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Encodes the end-to-end credits of an ACK's AETH (R30): 5 bits for a number of receive WQEs. From 2 on, each number is
 * a third to a half larger than the one before. Code 0x1f, UROCE_AETH_CREDITS_UNLIMITED, is not a number.
 */

#ifndef UROCE_WIRE_CREDIT_H
#define UROCE_WIRE_CREDIT_H

#include <stdint.h>

#define UROCE_CREDITS_MAX 32768		/* code 30 */

/* @param code	not 0x1f. @return 0, 1, 2, 3, 4, 6, 8, 12, 16, 24 … 32768 */
static inline uint32_t
uroce_credits_decode(uint8_t code)
{
	return code < 2 ? code : (2u + (code & 1)) << (code / 2 - 1);
}

/* Round the count down to a number that has a code. */
static inline uint8_t
uroce_credits_encode(uint32_t count)
{
	uint32_t log2;

	if (count < 2)
		return (uint8_t)count;
	if (count >= UROCE_CREDITS_MAX)
		return 30;
	log2 = 31 - (uint32_t)__builtin_clz(count);
	return (uint8_t)(2 * log2 + (count >> (log2 - 1) & 1));
}

#endif /* UROCE_WIRE_CREDIT_H */
