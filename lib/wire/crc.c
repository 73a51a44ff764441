/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Computes CRCs by carry-less multiplication. For a few blocks, each block is multiplied by a constant that shifts it
 * to the position of the last one, independently of the others; one reduction follows. A payload is folded
 * UROCE_CRC_STEP bytes at a time. Workers call both for each frame. No state.
 */

#include <assert.h>
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
 * The factors of the first and the second 8 bytes of a block that is d blocks before the last one. They are
 * x^(128 * d + 32) and x^(128 * d - 32) modulo the polynomial P, bit-reflected in 64 bits and shifted left by one.
 * V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009.
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

/* @return the 128 bits of v, followed by 32 zeros, modulo P */
static inline CLMUL uint32_t
reduce(__m128i v)
{
	const __m128i low32 = _mm_set_epi32(0, 0, 0, -1);
	const __m128i barrett = _mm_set_epi64x(P, BARRETT);
	__m128i t;

	/* fold to 96 bits, then to 64 */
	t = _mm_clmulepi64_si128(v, load(fold[UROCE_CRC_MAX_BLOCKS - 2]), 0x10);
	v = _mm_xor_si128(_mm_srli_si128(v, 8), t);
	t = _mm_clmulepi64_si128(_mm_and_si128(v, low32), _mm_set_epi64x(0, FOLD_64), 0x00);
	v = _mm_xor_si128(_mm_srli_si128(v, 4), t);
	/* Barrett reduction: subtract the multiple of P */
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

/*
 * VPCLMULQDQ multiplies two blocks of a 256-bit register as fast as one block. ISA-L has loops for one block and, with
 * AVX-512, for four. This loop is twice as fast on processors and virtual machines that have VPCLMULQDQ without
 * AVX-512.
 */
#define WIDE __attribute__((target("avx2,pclmul,vpclmulqdq")))

/* As in fold[], with d the number of blocks in a step. */
#define STEP_FIRST  0x1e88ef372
#define STEP_SECOND 0x14a7fe880
static_assert(UROCE_CRC_STEP == 8 * UROCE_CRC_BLOCK, "STEP_FIRST, STEP_SECOND");

bool
uroce_crc_wide_can(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
}

static inline WIDE __m256i
load_wide(const void *at)
{
	return _mm256_lddqu_si256(at); /* GCC would split _mm256_loadu_si256() in two loads */
}

/* Shift v to the position of `there`, and add them. */
static inline WIDE __m256i
fold_wide(__m256i v, __m256i by, __m256i there)
{
	const __m256i first = _mm256_clmulepi64_epi128(v, by, 0x00), second = _mm256_clmulepi64_epi128(v, by, 0x11);

	return _mm256_xor_si256(_mm256_xor_si256(first, second), there);
}

WIDE uint32_t
uroce_crc_wide(uint32_t crc, const uint8_t *data, uint32_t bytes)
{
	const __m256i by = _mm256_broadcastsi128_si256(_mm_set_epi64x(STEP_SECOND, STEP_FIRST));
	const uint8_t *end = data + bytes;
	__m256i a = load_wide(data), b = load_wide(data + 32), c = load_wide(data + 64), d = load_wide(data + 96);
	__m128i v, k = load(fold[6]);

	RTE_ASSERT(bytes > 0 && bytes % UROCE_CRC_STEP == 0);
	a = _mm256_xor_si256(a, _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)~crc)));
	while ((data += UROCE_CRC_STEP) != end) {
		a = fold_wide(a, by, load_wide(data));
		b = fold_wide(b, by, load_wide(data + 32));
		c = fold_wide(c, by, load_wide(data + 64));
		d = fold_wide(d, by, load_wide(data + 96));
	}
	/* shift all blocks to the position of the last one */
	a = fold_wide(a, load_wide(fold[0]), fold_wide(b, load_wide(fold[2]), _mm256_setzero_si256()));
	a = fold_wide(c, load_wide(fold[4]), a);
	v = _mm_xor_si128(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
	v = _mm_xor_si128(v, _mm_clmulepi64_si128(_mm256_castsi256_si128(d), k, 0x00));
	v = _mm_xor_si128(v, _mm_clmulepi64_si128(_mm256_castsi256_si128(d), k, 0x11));
	return ~reduce(_mm_xor_si128(v, _mm256_extracti128_si256(d, 1)));
}

static bool wide_is_best;

RTE_INIT(wide_is_best_init)
{
	__builtin_cpu_init();
	wide_is_best = uroce_crc_wide_can() && !__builtin_cpu_supports("avx512f");
}
#else
static const bool wide_is_best = false;

bool
uroce_crc_wide_can(void)
{
	return false;
}

uint32_t
uroce_crc_wide(uint32_t crc, const uint8_t *data, uint32_t bytes)
{
	return crc32_gzip_refl(crc, data, bytes);
}
#endif

uint32_t
uroce_crc(uint32_t crc, const uint8_t *data, uint32_t bytes)
{
	const uint32_t steps = bytes & -(uint32_t)UROCE_CRC_STEP;

	if (wide_is_best && steps != 0) {
		crc = uroce_crc_wide(crc, data, steps);
		if (likely(steps == bytes))
			return crc;
		data += steps;
		bytes -= steps;
	}
	return crc32_gzip_refl(crc, data, bytes);
}

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
