/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The CRC of a few blocks by carry-less multiplication: each block by a constant of its own, which
 * takes it to where the last one is, so that none waits for another; then one reduction. Workers
 * call it for each frame, received or sent. No state.
 */

#include <string.h>

#include <isa-l/crc.h>
#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_debug.h>

#include "wire/crc.h"

uint32_t
uroce_crc_masked_portable(const uint8_t *data, const uint8_t *clear, const uint8_t *flip,
			  unsigned int blocks)
{
	uint8_t copy[UROCE_CRC_MAX_BLOCKS * UROCE_CRC_BLOCK];

	RTE_ASSERT(blocks > 0 && blocks <= UROCE_CRC_MAX_BLOCKS);
	for (unsigned int i = 0; i < blocks * UROCE_CRC_BLOCK; i++)
		copy[i] = (uint8_t)((data[i] & ~clear[i]) ^ flip[i]);
	return crc32_gzip_refl(~0u, copy, blocks * UROCE_CRC_BLOCK);
}

#ifdef RTE_ARCH_X86_64
#include <immintrin.h>

#define CLMUL __attribute__((target("pclmul,sse4.1")))

/*
 * Of a block with d blocks from it to the last: by what its first and its second 8 bytes are
 * multiplied, x^(128 * d + 32) and x^(128 * d - 32) modulo the polynomial P, bit-reflected in 64
 * bits and shifted left by one. V. Gopal et al., "Fast CRC Computation for Generic Polynomials
 * Using PCLMULQDQ Instruction", Intel, 2009.
 */
static const uint64_t fold[UROCE_CRC_MAX_BLOCKS - 1][2] __rte_aligned(16) = {
	/* 7 */ { 0x1ea89367e, 0x1d7cfc6ac },
	/* 6 */ { 0x0df068dc2, 0x18cb44e58 },
	/* 5 */ { 0x1c7569e54, 0x0ae0b5394 },
	/* 4 */ { 0x154442bd4, 0x1c6e41596 },
	/* 3 */ { 0x03db1ecdc, 0x174359406 },
	/* 2 */ { 0x0f1da05aa, 0x15a546366 },
	/* 1 */ { 0x1751997d0, 0x0ccaa009e },
};

#define FOLD_64 0x163cd6124 /* x^64 in the same way */
#define BARRETT 0x1f7011641 /* x^64 / P, bit-reflected */
#define P       0x1db710641 /* bit-reflected */

static inline CLMUL __m128i
load(const void *at)
{
	return _mm_loadu_si128(at);
}

static inline CLMUL __m128i
masked(const uint8_t *data, const uint8_t *clear, const uint8_t *flip)
{
	return _mm_xor_si128(_mm_andnot_si128(load(clear), load(data)), load(flip));
}

/* 128 bits, and 32 zeros behind them, modulo P. */
static inline CLMUL uint32_t
reduce(__m128i v)
{
	const __m128i low32 = _mm_set_epi32(0, 0, 0, -1);
	const __m128i barrett = _mm_set_epi64x(P, BARRETT);
	__m128i t;

	/* to 96 bits, and to 64 */
	t = _mm_clmulepi64_si128(v, load(fold[UROCE_CRC_MAX_BLOCKS - 2]), 0x10);
	v = _mm_xor_si128(_mm_srli_si128(v, 8), t);
	t = _mm_clmulepi64_si128(_mm_and_si128(v, low32), _mm_set_epi64x(0, FOLD_64), 0x00);
	v = _mm_xor_si128(_mm_srli_si128(v, 4), t);
	/* what is a multiple of P in these, and what is left */
	t = _mm_clmulepi64_si128(_mm_and_si128(v, low32), barrett, 0x00);
	t = _mm_clmulepi64_si128(_mm_and_si128(t, low32), barrett, 0x10);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(v, t), 1);
}

static CLMUL uint32_t
crc_masked_clmul(const uint8_t *data, const uint8_t *clear, const uint8_t *flip,
		 unsigned int blocks)
{
	const uint64_t(*k)[2] = &fold[UROCE_CRC_MAX_BLOCKS - blocks];
	__m128i sum = _mm_setzero_si128();

	RTE_ASSERT(blocks > 0 && blocks <= UROCE_CRC_MAX_BLOCKS);
	while (--blocks > 0) {
		__m128i v = masked(data, clear, flip), by = load(k);

		sum = _mm_xor_si128(sum, _mm_clmulepi64_si128(v, by, 0x00));
		sum = _mm_xor_si128(sum, _mm_clmulepi64_si128(v, by, 0x11));
		data += UROCE_CRC_BLOCK;
		clear += UROCE_CRC_BLOCK;
		flip += UROCE_CRC_BLOCK;
		k++;
	}
	return ~reduce(_mm_xor_si128(sum, masked(data, clear, flip)));
}
#endif

uint32_t
uroce_crc_masked(const uint8_t *data, const uint8_t *clear, const uint8_t *flip,
		 unsigned int blocks)
{
#ifdef RTE_ARCH_X86_64
	if (likely(__builtin_cpu_supports("pclmul")))
		return crc_masked_clmul(data, clear, flip, blocks);
#endif
	return uroce_crc_masked_portable(data, clear, flip, blocks);
}
