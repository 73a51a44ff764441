/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Each field of each header: written among neighbors that are all ones, it is at the specification's place, reads back,
 * and leaves its neighbors unchanged; then the same among zeros.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "groups.h"
#include "wire/headers.h"

#define HEADER_MAX 32

/* Fail unless header holds value, big-endian, in bytes [at, at + bytes), and fill in all other bytes. */
static void
check_bytes(const void *header, size_t size, size_t at, size_t bytes, uint64_t value, uint8_t fill)
{
	uint8_t expected[HEADER_MAX];

	assert_true(size <= sizeof(expected));
	memset(expected, fill, size);
	for (size_t i = 0; i < bytes; i++)
		expected[at + i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
	assert_memory_equal(header, expected, size);
}

/* at and bytes: the field's place in the specification. put and get: the accessors under test. */
#define ROUND_TRIP(type, at, bytes, pattern, put, get)                              \
	do {                                                                        \
		static const uint8_t fills[] = { 0xff, 0x00 };                      \
		const uint64_t ones = UINT64_MAX >> (64 - 8 * (bytes));             \
		const uint64_t values[] = { 0, ones & (pattern), ones };            \
		for (unsigned int i = 0; i < RTE_DIM(fills); i++) {                 \
			for (unsigned int j = 0; j < RTE_DIM(values); j++) {        \
				uint64_t v = values[j];                             \
				struct type h;                                      \
				memset(&h, fills[i], sizeof(h));                    \
				put;                                                \
				check_bytes(&h, sizeof(h), at, bytes, v, fills[i]); \
				assert_true((get) == v);                            \
			}                                                           \
		}                                                                   \
	} while (0)

#define PATTERN                 0x123456789abcdef1ull
#define FIELD8(type, field, at) ROUND_TRIP(type, at, 1, PATTERN, h.field = (uint8_t)v, h.field)
#define FIELD16(type, field, at)                                                  \
	ROUND_TRIP(type, at, 2, PATTERN, h.field = rte_cpu_to_be_16((uint16_t)v), \
		   rte_be_to_cpu_16(h.field))
#define FIELD24(type, field, at) \
	ROUND_TRIP(type, at, 3, PATTERN, uroce_put24(h.field, (uint32_t)v), uroce_get24(h.field))
#define FIELD32(type, field, at)                                                  \
	ROUND_TRIP(type, at, 4, PATTERN, h.field = rte_cpu_to_be_32((uint32_t)v), \
		   rte_be_to_cpu_32(h.field))
#define FIELD64(type, field, at) \
	ROUND_TRIP(type, at, 8, PATTERN, h.field = rte_cpu_to_be_64(v), rte_be_to_cpu_64(h.field))

static void
test_bth(void **state)
{
	(void)state;
	FIELD8(uroce_bth, opcode, 0);
	FIELD8(uroce_bth, flags, 1);
	FIELD16(uroce_bth, pkey, 2);
	FIELD8(uroce_bth, ecn, 4);
	FIELD24(uroce_bth, dest_qp, 5);
	FIELD8(uroce_bth, ack, 8);
	FIELD24(uroce_bth, psn, 9);
}

static void
test_requests(void **state)
{
	(void)state;
	FIELD32(uroce_deth, qkey, 0);
	FIELD8(uroce_deth, reserved, 4);
	FIELD24(uroce_deth, src_qp, 5);
	FIELD64(uroce_reth, va, 0);
	FIELD32(uroce_reth, rkey, 8);
	FIELD32(uroce_reth, dma_len, 12);
	FIELD64(uroce_atomiceth, va, 0);
	FIELD32(uroce_atomiceth, rkey, 8);
	FIELD64(uroce_atomiceth, swap_add, 12);
	FIELD64(uroce_atomiceth, compare, 20);
	FIELD32(uroce_immdt, imm, 0);
	FIELD32(uroce_ieth, rkey, 0);
	FIELD8(uroce_xrceth, reserved, 0);
	FIELD24(uroce_xrceth, srq, 1);
	FIELD32(uroce_feth, bits, 0);
}

static void
test_answers(void **state)
{
	(void)state;
	FIELD8(uroce_aeth, syndrome, 0);
	FIELD24(uroce_aeth, msn, 1);
	FIELD64(uroce_atomicacketh, original, 0);
}

/* The bit fields of a byte are disjoint, and the rest is what the specification reserves. */
static void
test_bits(void **state)
{
	static const uint8_t flags[] = {
		UROCE_BTH_SE,
		UROCE_BTH_MIGREQ,
		UROCE_BTH_PAD_MASK,
		UROCE_BTH_TVER_MASK,
	};
	uint8_t seen = 0;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(flags); i++) {
		assert_int_equal(seen & flags[i], 0);
		seen |= flags[i];
	}
	assert_int_equal(seen, 0xff);
	assert_int_equal(3 << UROCE_BTH_PAD_SHIFT, UROCE_BTH_PAD_MASK);
	assert_int_equal(UROCE_BTH_FECN | UROCE_BTH_BECN, 0xc0);
	assert_int_equal(UROCE_BTH_ACKREQ, 0x80);
	assert_int_equal(UROCE_AETH_CLASS_MASK | UROCE_AETH_VALUE_MASK, 0xff);
	assert_int_equal(UROCE_AETH_CLASS_MASK & UROCE_AETH_VALUE_MASK, 0);
}

static void
test_24_bits(void **state)
{
	uint8_t b[5] = { 0xaa, 0, 0, 0, 0xaa };

	(void)state;
	for (uint32_t v = 0; v <= 0xffffff; v = v * 3 + 1) {
		uroce_put24(b + 1, v);
		assert_int_equal(uroce_get24(b + 1), v);
	}
	uroce_put24(b + 1, 0xff123456); /* the uppermost 8 bits are dropped */
	assert_int_equal(uroce_get24(b + 1), 0x123456);
	assert_int_equal(b[0], 0xaa);
	assert_int_equal(b[4], 0xaa);
}

static void
test_bth_write(void **state)
{
	static const uint8_t expected[12] = {
		0x0a, 0xb0, 0x12, 0x34, 0x00, 0xab, 0xcd, 0xef, 0x80, 0x56, 0x78, 0x9a,
	};
	static const uint8_t plain[12] = {
		0x11, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01, 0x00, 0xff, 0xff, 0xff,
	};
	struct uroce_bth bth;

	(void)state;
	memset(&bth, 0xff, sizeof(bth));
	uroce_bth_write(&bth, &(const struct uroce_bth_values){
		.opcode = 0x0a, .flags = UROCE_BTH_SE | 3 << UROCE_BTH_PAD_SHIFT, .pkey = 0x1234,
		.dest_qpn = 0xabcdef, .ack = UROCE_BTH_ACKREQ, .psn = 0x56789a,
	});
	assert_memory_equal(&bth, expected, sizeof(expected));
	memset(&bth, 0xff, sizeof(bth));
	uroce_bth_write(&bth, &(const struct uroce_bth_values){
		.opcode = 0x11, .pkey = UROCE_DEFAULT_PKEY, .dest_qpn = 1, .psn = 0xffffff,
	});
	assert_memory_equal(&bth, plain, sizeof(plain));
	memset(&bth, 0, sizeof(bth));
	uroce_bth_write(&bth, &(const struct uroce_bth_values){
		.opcode = 0x11, .pkey = UROCE_DEFAULT_PKEY, .dest_qpn = 0xff000001, .psn = 0x1ffffff,
	});
	assert_memory_equal(&bth, plain, sizeof(plain));
	uroce_bth_write(&bth, &(const struct uroce_bth_values){
		.opcode = 0x81, .pkey = UROCE_DEFAULT_PKEY, .dest_qpn = 0xff000001, .ecn = UROCE_BTH_BECN, .ack = 0x75,
	});
	assert_int_equal(bth.ecn, UROCE_BTH_BECN);
	assert_int_equal(uroce_get24(bth.dest_qp), 1);
	assert_int_equal(bth.ack, 0x75);
}

UROCE_TESTS(wire_headers)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bth),     cmocka_unit_test(test_requests),
		cmocka_unit_test(test_answers), cmocka_unit_test(test_bits),
		cmocka_unit_test(test_24_bits), cmocka_unit_test(test_bth_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
