/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The pattern of --verify: 64-bit words in arithmetic progression; the start is mixed from QP and message number. The
 * compiler can vectorize it; buffers need no alignment. Any thread.
 */

#include <string.h>

#include <rte_common.h>

#include "measure/verify.h"

/* Odd, so that all words of a message differ, and each of their bytes changes often. */
#define STEP 0x9e3779b97f4a7c15ull

uint64_t
uroce_perf_pattern(uint32_t qp, uint64_t seq)
{
	uint64_t x = seq * STEP + ((uint64_t)qp << 40) + 0x2545f4914f6cdd1dull;

	/* the finalizer of splitmix64 */
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static inline void
put(uint8_t *p, size_t length, uint64_t word, uint64_t invert)
{
	size_t i = 0;

	for (; i + sizeof(word) <= length; i += sizeof(word), word += STEP) {
		uint64_t value = word ^ invert;

		memcpy(p + i, &value, sizeof(value));
	}
	word ^= invert;
	memcpy(p + i, &word, length - i);
}

void
uroce_perf_fill(void *buf, size_t length, uint64_t pattern)
{
	put(buf, length, pattern, 0);
}

void
uroce_perf_poison(void *buf, size_t length, uint64_t pattern)
{
	put(buf, length, pattern, UINT64_MAX);
}

/* Slow path: find the exact byte. */
static size_t
first_wrong(const uint8_t *p, size_t length, uint64_t word)
{
	for (size_t i = 0; i < length; i++) {
		if (p[i] != (uint8_t)((word + i / 8 * STEP) >> (i % 8 * 8)))
			return i;
	}
	return PERF_VERIFIED;
}

size_t
uroce_perf_check(const void *buf, size_t length, uint64_t pattern)
{
	const uint8_t *p = buf;
	uint64_t word = pattern, got, wrong = 0;
	size_t i = 0;

	for (; i + sizeof(word) <= length; i += sizeof(word), word += STEP) {
		memcpy(&got, p + i, sizeof(got));
		wrong |= got ^ word;
	}
	if (wrong == 0 && memcmp(p + i, &word, length - i) == 0)
		return PERF_VERIFIED;
	return first_wrong(p, length, pattern);
}
