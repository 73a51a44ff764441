/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Copying a payload of some size, from its first byte to its last. The C library's memcpy() begins at the end where two
 * buffers are as far into their pages as each other, which those of an RDMA program mostly are, and processors are
 * slower to fetch what is written in that order. Any thread.
 */

#include <string.h>

#include <rte_branch_prediction.h>

#include "wire/copy.h"

#ifdef RTE_ARCH_X86_64
#include <immintrin.h>

/* Tuned for what has AVX2: for what the library is built for, GCC makes two of each load and store. */
#define WIDE __attribute__((target("avx2,tune=haswell")))

#define STEP 128

static WIDE void
copy_wide(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	const uint8_t *end = from + (bytes & -(uint32_t)STEP);

	for (; from != end; from += STEP, to += STEP) {
		const __m256i a = _mm256_loadu_si256((const __m256i *)from);
		const __m256i b = _mm256_loadu_si256((const __m256i *)(from + 32));
		const __m256i c = _mm256_loadu_si256((const __m256i *)(from + 64));
		const __m256i d = _mm256_loadu_si256((const __m256i *)(from + 96));

		_mm256_storeu_si256((__m256i *)to, a);
		_mm256_storeu_si256((__m256i *)(to + 32), b);
		_mm256_storeu_si256((__m256i *)(to + 64), c);
		_mm256_storeu_si256((__m256i *)(to + 96), d);
	}
	memcpy(to, from, bytes & (STEP - 1));
}
#endif

void
uroce_copy_long(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
#ifdef RTE_ARCH_X86_64
	if (likely(__builtin_cpu_supports("avx2"))) {
		copy_wide(to, from, bytes);
		return;
	}
#endif
	memcpy(to, from, bytes);
}
