/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Places a payload in address order. The C library's memcpy() stores the last bytes early. If both buffers have the
 * same offset in their pages, as RDMA buffers mostly do, it even begins at the end, which processors fetch more
 * slowly. Any thread.
 */

#include "wire/copy.h"

typedef uint32_t u32 __attribute__((may_alias));
typedef uint16_t u16 __attribute__((may_alias));
typedef uint64_t vec __attribute__((vector_size(16), may_alias));

/* The order of all stores except that of the last word, which is a release and pairs with the acquire of a program that
 * polls the last byte. */
#ifdef RTE_ARCH_X86_64
#define IN_ORDER __ATOMIC_RELEASE	/* costs nothing */
#else
#define IN_ORDER __ATOMIC_RELAXED
#endif

/* Copy one word to an aligned address, and advance. */
#define STORE(type, order) \
	do { \
		type word_; \
		memcpy(&word_, from, sizeof(word_)); \
		__atomic_store_n((type *)to, word_, order); \
		to += sizeof(word_); \
		from += sizeof(word_); \
		bytes -= (uint32_t)sizeof(word_); \
	} while (0)

/* Does a store of `size` bytes align the rest to twice `size`? `to` is aligned to `size` already. */
#define IS_ODD(size) (((uintptr_t)to & (size)) != 0 && bytes >= (size))

#define COMPILER_BARRIER() asm volatile("" : : : "memory")

static inline vec
load(const uint8_t *from)
{
	vec v;

	memcpy(&v, from, sizeof(v));
	return v;
}

static inline void
store(uint8_t *to, vec v)
{
	*(vec *)to = v;
	COMPILER_BARRIER();
}

#ifdef RTE_ARCH_X86_64
#include <immintrin.h>

/* Tuned for processors with AVX2: for the library's own target GCC would split each load in two. */
#define WIDE __attribute__((target("avx2,tune=haswell")))

#define STEP 128

static inline WIDE __m256i
load_wide(const uint8_t *from)
{
	return _mm256_loadu_si256((const __m256i *)from);
}

static inline WIDE void
store_wide(uint8_t *to, __m256i v)
{
	_mm256_store_si256((__m256i *)to, v);
	COMPILER_BARRIER();
}

/* Copy whole steps to an address that is aligned to 32 bytes. */
static WIDE void
place_wide(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	for (const uint8_t *end = from + bytes; from != end; from += STEP, to += STEP) {
		const __m256i a = load_wide(from), b = load_wide(from + 32);
		const __m256i c = load_wide(from + 64), d = load_wide(from + 96);

		store_wide(to, a);
		store_wide(to + 32, b);
		store_wide(to + 64, c);
		store_wide(to + 96, d);
	}
}

/* As place_vectors(), for a long payload except its end. */
static uint32_t
place_steps(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t first = IS_ODD(16) ? 16 : 0, n;

	if (bytes < UROCE_COPY_LONG_BYTES || unlikely(!__builtin_cpu_supports("avx2")))
		return 0;
	if (first != 0)
		store(to, load(from));
	n = (bytes - first - 1) & -(uint32_t)STEP;
	place_wide(to + first, from + first, n);
	return first + n;
}
#else
static uint32_t
place_steps(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	(void)to;
	(void)from;
	(void)bytes;
	return 0;
}
#endif

/* Copy to an address that is aligned to 16 bytes, except for the last 1 to 16 bytes. @return bytes copied */
static uint32_t
place_vectors(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	const uint8_t *start = from;

	for (; bytes > 64; bytes -= 64, from += 64, to += 64) {
		const vec a = load(from), b = load(from + 16), c = load(from + 32), d = load(from + 48);

		store(to, a);
		store(to + 16, b);
		store(to + 32, c);
		store(to + 48, d);
	}
	for (; bytes > 16; bytes -= 16, from += 16, to += 16)
		store(to, load(from));
	return (uint32_t)(from - start);
}

void
uroce_place_bytes(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t n;

	/* Any of these stores may be that of the last word: it pairs with the acquire of a program that polls it. */
	if (IS_ODD(1))
		STORE(uint8_t, __ATOMIC_RELEASE);
	if (IS_ODD(2))
		STORE(u16, __ATOMIC_RELEASE);
	if (IS_ODD(4))
		STORE(u32, __ATOMIC_RELEASE);
	if (bytes > 2 * sizeof(uint64_t)) {
		if (IS_ODD(8))
			STORE(uroce_copy_u64, IN_ORDER);
		n = place_steps(to, from, bytes);
		n += place_vectors(to + n, from + n, bytes - n);
		to += n;
		from += n;
		bytes -= n;
	}
	if (bytes > sizeof(uint64_t))
		STORE(uroce_copy_u64, IN_ORDER);
	if (bytes & 8)
		STORE(uroce_copy_u64, __ATOMIC_RELEASE);
	if (bytes & 4)
		STORE(u32, __ATOMIC_RELEASE);
	if (bytes & 2)
		STORE(u16, __ATOMIC_RELEASE);
	if (bytes & 1)
		STORE(uint8_t, __ATOMIC_RELEASE);
}
