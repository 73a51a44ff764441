/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The memory copies that this machine can run: DPDK may be built without the wide registers that the machine has. No
 * state.
 */

#include <string.h>

#include <rte_common.h>
#include <rte_cpuflags.h>
#include <rte_memcpy.h>
#ifdef RTE_ARCH_X86_64
#include <immintrin.h>
#endif

#include "floor/copies.h"
#include "wire/copy.h"

static void
copy_rte(uint8_t *to, const uint8_t *from, size_t n)
{
	rte_memcpy(to, from, n);
}

static void
copy_libc(uint8_t *to, const uint8_t *from, size_t n)
{
	memcpy(to, from, n);
}

static void
copy_uroce(uint8_t *to, const uint8_t *from, size_t n)
{
	uroce_place(to, from, (uint32_t)n);
}

static bool
always(void)
{
	return true;
}

#ifdef RTE_ARCH_X86_64
__attribute__((target("avx512f"))) static void
copy_avx512(uint8_t *to, const uint8_t *from, size_t n)
{
	size_t at;

	for (at = 0; at + 256 <= n; at += 256) {
		const __m512i a = _mm512_loadu_si512(from + at);
		const __m512i b = _mm512_loadu_si512(from + at + 64);
		const __m512i c = _mm512_loadu_si512(from + at + 128);
		const __m512i d = _mm512_loadu_si512(from + at + 192);

		_mm512_storeu_si512(to + at, a);
		_mm512_storeu_si512(to + at + 64, b);
		_mm512_storeu_si512(to + at + 128, c);
		_mm512_storeu_si512(to + at + 192, d);
	}
	memcpy(to + at, from + at, n - at);
}

static bool
has_avx512(void)
{
	return rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX512F) == 1;
}

static void
copy_string(uint8_t *to, const uint8_t *from, size_t n)
{
	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}
#endif

const struct perf_copy uroce_perf_copies[] = {
	{ "rte_memcpy", copy_rte, always },
	{ "memcpy", copy_libc, always },
	{ "uroce", copy_uroce, always },
#ifdef RTE_ARCH_X86_64
	{ "rep movsb", copy_string, always },
	{ "avx512", copy_avx512, has_avx512 },
#endif
};

const unsigned int uroce_perf_nb_copies = RTE_DIM(uroce_perf_copies);
