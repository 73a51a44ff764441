/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Computes CRCs by carry-less multiplication. For a few blocks, each block is multiplied by a constant that shifts it
 * to the position of the last one, independently of the others; one reduction follows. A payload is folded 128 or 256
 * bytes at a time. Workers call both for each frame. No state.
 */

#include <assert.h>
#include <string.h>

#include <isa-l/crc.h>
#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_debug.h>

#include "wire/crc.h"

#define ISAL_STEP 256u /* bytes of a step of ISA-L's loop with AVX-512 */
#define CRC_SHORT 64u  /* most bytes that ISA-L's functions always compute */

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
 * AVX-512. The loop after this one, for AVX-512, is as fast as ISA-L's for whole steps of ISAL_STEP bytes; ISA-L
 * computes the rest block by block.
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

#define WIDEST __attribute__((target("avx512f,avx512bw,pclmul,vpclmulqdq")))
#define CHUNK  64u /* bytes of a 512-bit register */

/* As in fold[], with d the number of blocks in four chunks. */
#define LOOP_FIRST  0x11542778a
#define LOOP_SECOND 0x1322d1430
static_assert(CHUNK == 4 * UROCE_CRC_BLOCK, "LOOP_FIRST, LOOP_SECOND, fold[3], fold[4]");

bool
uroce_crc_widest_can(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("vpclmulqdq");
}

static inline WIDEST __m512i
load_widest(const void *at)
{
	return _mm512_loadu_si512(at);
}

/* As fold_wide(). */
static inline WIDEST __m512i
fold_widest(__m512i v, __m512i by, __m512i there)
{
	const __m512i first = _mm512_clmulepi64_epi128(v, by, 0x00), second = _mm512_clmulepi64_epi128(v, by, 0x11);

	return _mm512_ternarylogic_epi64(first, second, there, 0x96);	/* XORs the three */
}

/* The first chunk: the first `bytes` of data behind zeros, which do not change a CRC's state of 0. */
static inline WIDEST __m512i
first_chunk(uint32_t crc, const uint8_t *data, uint32_t bytes)
{
	const uint32_t zeros = CHUNK - bytes;
	const __m512i v = _mm512_maskz_loadu_epi8(~0ull << zeros, data - zeros);

	return _mm512_xor_si512(v, _mm512_maskz_set1_epi32((__mmask16)(1u << zeros / sizeof(crc)), (int)~crc));
}

/* Shift the first three blocks of v to the position of the last one, and add all four. */
static inline WIDEST __m128i
fold_blocks(__m512i v)
{
	const __m512i by = _mm512_maskz_loadu_epi64(0x3f, fold[4]);
	const __m512i last = _mm512_maskz_mov_epi64(0xc0, v);
	__m256i half;

	v = fold_widest(v, by, last);
	half = _mm256_xor_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
	return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

WIDEST uint32_t
uroce_crc_widest(uint32_t crc, const uint8_t *data, uint32_t bytes)
{
	const __m512i by = _mm512_broadcast_i32x4(_mm_set_epi64x(LOOP_SECOND, LOOP_FIRST));
	const __m512i by_chunk = _mm512_broadcast_i32x4(load(fold[3]));
	const uint32_t start = (bytes - 1) % CHUNK + 1, chunks = (bytes - 1) / CHUNK;	/* chunks behind the first one */
	const uint8_t *end = data + bytes;
	__m512i a, b, c, d;

	RTE_ASSERT(bytes > 0 && bytes % sizeof(crc) == 0);
	a = b = c = _mm512_setzero_si512();
	d = first_chunk(crc, data, start);
	data += start;
	/* all chunks that do not fill the loop's four, with zeros before them */
	for (uint32_t i = 0; i < chunks % 4; i++, data += CHUNK) {
		a = b;
		b = c;
		c = d;
		d = load_widest(data);
	}
	for (; data != end; data += 4 * CHUNK) {
		a = fold_widest(a, by, load_widest(data));
		b = fold_widest(b, by, load_widest(data + CHUNK));
		c = fold_widest(c, by, load_widest(data + 2 * CHUNK));
		d = fold_widest(d, by, load_widest(data + 3 * CHUNK));
	}
	b = fold_widest(a, by_chunk, b);
	c = fold_widest(b, by_chunk, c);
	return ~reduce(fold_blocks(fold_widest(c, by_chunk, d)));
}

static bool wide_is_best, widest_is_best, has_avx;

RTE_INIT(wide_is_best_init)
{
	__builtin_cpu_init();
	has_avx = __builtin_cpu_supports("avx");
	widest_is_best = uroce_crc_widest_can();
	wide_is_best = uroce_crc_wide_can() && !__builtin_cpu_supports("avx512f");
}
#else
static const bool wide_is_best = false, widest_is_best = false;

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

bool
uroce_crc_widest_can(void)
{
	return false;
}

uint32_t
uroce_crc_widest(uint32_t crc, const uint8_t *data, uint32_t bytes)
{
	return crc32_gzip_refl(crc, data, bytes);
}
#endif

/* ISA-L leaves the upper halves of vector registers in use: until they are cleared, each SSE instruction of the caller
 * waits for them on Intel's processors. */
static inline uint32_t
crc_isal(uint32_t crc, const uint8_t *data, uint32_t bytes)
{
	crc = crc32_gzip_refl(crc, data, bytes);
#ifdef RTE_ARCH_X86_64
	if (likely(has_avx))
		asm volatile("vzeroupper");
#endif
	return crc;
}

/* ISA-L is faster for whole steps of its loop with at most one block behind them. */
static inline bool
widest_suits(uint32_t bytes)
{
	const uint32_t rest = bytes % ISAL_STEP;

	return bytes > CRC_SHORT && bytes % sizeof(uint32_t) == 0 && (bytes < ISAL_STEP || rest > UROCE_CRC_BLOCK);
}

uint32_t
uroce_crc(uint32_t crc, const uint8_t *data, uint32_t bytes)
{
	const uint32_t steps = bytes & -(uint32_t)UROCE_CRC_STEP;

	if (widest_is_best && widest_suits(bytes))
		return uroce_crc_widest(crc, data, bytes);
	if (wide_is_best && steps != 0) {
		crc = uroce_crc_wide(crc, data, steps);
		if (likely(steps == bytes))
			return crc;
		data += steps;
		bytes -= steps;
	}
	return crc_isal(crc, data, bytes);
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
