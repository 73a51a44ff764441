/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Both CRC functions for a few blocks, compared with a CRC computed bit by bit: each single bit of each number of
 * blocks, random data and masks, any alignment, and a CRC that continues. The same for payloads: any length, alignment
 * and initial CRC, and each bit of some payloads. ISA-L leaves no upper halves
 * of vector registers in use.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <isa-l/crc.h>
#include <rte_common.h>

#include "frames.h"
#include "groups.h"
#include "wire/crc.h"

#define ROOM (UROCE_CRC_MAX_BLOCKS * UROCE_CRC_BLOCK)

typedef uint32_t crc_fn(const uint8_t *data, const uint8_t *clear, const uint8_t *flip,
			unsigned int blocks);

static crc_fn *const ways[] = { uroce_crc_masked, uroce_crc_masked_portable };
static const uint8_t none[ROOM];

typedef uint32_t payload_fn(uint32_t crc, const uint8_t *data, uint32_t bytes);

/* Payload CRCs: the one that the library chose for this machine, and those that it may have left out in favor of
 * ISA-L's. */
static payload_fn *const payload_ways[] = { uroce_crc, uroce_crc_wide, uroce_crc_widest };

static bool
can_payload(unsigned int way, uint32_t bytes)
{
	if (payload_ways[way] == uroce_crc_wide)
		return uroce_crc_wide_can() && bytes > 0 && bytes % UROCE_CRC_STEP == 0;
	if (payload_ways[way] == uroce_crc_widest)
		return uroce_crc_widest_can() && bytes > 0 && bytes % 4 == 0;
	return true;
}

static uint32_t
crc_bit_by_bit_from(uint32_t crc, const uint8_t *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		crc ^= bytes[i];
		for (unsigned int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static uint32_t
crc_bit_by_bit(const uint8_t *bytes, uint32_t len)
{
	return crc_bit_by_bit_from(0, bytes, len);
}

/* A CRC is linear: if each single bit is right, all data is. */
static void
test_every_bit(void **state)
{
	uint8_t data[ROOM] = { 0 };

	for (unsigned int blocks = 1; blocks <= UROCE_CRC_MAX_BLOCKS; blocks++) {
		const uint32_t bytes = blocks * UROCE_CRC_BLOCK;

		for (uint32_t bit = 0; bit < 8 * bytes; bit++) {
			data[bit / 8] = (uint8_t)(1u << bit % 8);
			for (unsigned int i = 0; i < RTE_DIM(ways); i++)
				assert_int_equal(ways[i](data, none, none, blocks),
						 crc_bit_by_bit(data, bytes));
			data[bit / 8] = 0;
		}
		for (unsigned int i = 0; i < RTE_DIM(ways); i++)
			assert_int_equal(ways[i](data, none, none, blocks), 0xffffffff);
	}
}

static void
test_masks(void **state)
{
	uint8_t data[ROOM + 16], clear[ROOM + 16], flip[ROOM + 16], masked[ROOM];
	uint64_t random = 1;

	for (unsigned int n = 0; n < 4096; n++) {
		const unsigned int blocks = 1 + n % UROCE_CRC_MAX_BLOCKS;
		const uint8_t *d = data + test_random(&random) % 16;
		const uint8_t *c = clear + test_random(&random) % 16;
		const uint8_t *f = flip + test_random(&random) % 16;

		for (unsigned int i = 0; i < sizeof(data); i++) {
			data[i] = (uint8_t)test_random(&random);
			clear[i] = (uint8_t)test_random(&random);
			flip[i] = (uint8_t)test_random(&random);
		}
		for (unsigned int i = 0; i < sizeof(masked); i++)
			masked[i] = (uint8_t)((d[i] & ~c[i]) ^ f[i]);
		for (unsigned int i = 0; i < RTE_DIM(ways); i++)
			assert_int_equal(ways[i](d, c, f, blocks),
					 crc_bit_by_bit(masked, blocks * UROCE_CRC_BLOCK));
	}
}

static void
test_goes_on(void **state)
{
	uint8_t data[ROOM + 100];
	uint64_t random = 3;

	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)test_random(&random);
	for (unsigned int i = 0; i < RTE_DIM(ways); i++) {
		uint32_t crc = ways[i](data, none, none, UROCE_CRC_MAX_BLOCKS);

		assert_int_equal(crc32_gzip_refl(crc, data + ROOM, 100),
				 crc_bit_by_bit(data, sizeof(data)));
	}
}

/* Each length below 1,024, the MTUs, and random lengths, half of them multiples of the step. */
static void
test_payloads(void **state)
{
	static const uint32_t mtus[] = { 1024, 2048, 4096 };
	static uint8_t data[8192 + 64];
	uint64_t random = 5;

	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)test_random(&random);
	for (uint32_t n = 0; n < 4096; n++) {
		const uint8_t *from = data + test_random(&random) % 64;
		const uint32_t crc = (uint32_t)test_random(&random);
		uint32_t bytes = n < 1024 ? n : (uint32_t)(test_random(&random) % 8192);

		if (n % 4 == 3)
			bytes = n < 2048 ? mtus[n % RTE_DIM(mtus)] : bytes & -(uint32_t)UROCE_CRC_STEP;
		for (unsigned int i = 0; i < RTE_DIM(payload_ways); i++)
			if (can_payload(i, bytes))
				assert_int_equal(payload_ways[i](crc, from, bytes),
						 crc_bit_by_bit_from(~crc, from, bytes));
	}
}

static void
test_payloads_every_bit(void **state)
{
	static uint8_t data[8 * UROCE_CRC_STEP];

	for (uint32_t bytes = UROCE_CRC_STEP; bytes <= sizeof(data); bytes *= 2)
		for (uint32_t bit = 0; bit < 8 * bytes; bit++) {
			data[bit / 8] = (uint8_t)(1u << bit % 8);
			for (unsigned int i = 0; i < RTE_DIM(payload_ways); i++)
				if (can_payload(i, bytes))
					assert_int_equal(payload_ways[i](~0u, data, bytes),
							 crc_bit_by_bit(data, bytes));
			data[bit / 8] = 0;
		}
}

#ifdef RTE_ARCH_X86_64
#include <cpuid.h>

#define USED_YMM (1u << 2) /* the upper halves of 256-bit and of 512-bit registers, in XINUSE */
#define USED_ZMM (1u << 6)

/* Does the processor tell which registers are in use? */
static bool
tells_used(void)
{
	unsigned int a = 0, b, c, d;

	return uroce_crc_widest_can() && __get_cpuid_count(0xd, 1, &a, &b, &c, &d) != 0 && (a & 4) != 0;
}

static uint32_t
used(void)
{
	uint32_t low, high;

	asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
	return low & (USED_YMM | USED_ZMM);
}

/* The caller's SSE instructions wait for upper halves of registers that are in use, on Intel's processors. With
 * AVX-512, ISA-L computes CRCs of these lengths. In uroce's own functions, an optimizing compiler clears them. */
static void
test_leaves_no_upper_halves(void **state)
{
	static uint8_t data[4096];

	if (!tells_used())
		skip();
	for (uint32_t bytes = 256; bytes <= sizeof(data); bytes += 256) {
		uroce_crc(0, data, bytes);
		assert_int_equal(used(), 0);
	}
}
#else
static void
test_leaves_no_upper_halves(void **state)
{
	skip();
}
#endif

UROCE_TESTS(wire_crc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_payloads),
		cmocka_unit_test(test_payloads_every_bit),
		cmocka_unit_test(test_leaves_no_upper_halves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
