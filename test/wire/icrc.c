/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The ICRC compared with one computed bit by bit over a masked copy of the frame, for each header shape, length and
 * segmentation; which bits it covers; and appending the ICRC to a frame.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "frames.h"
#include "groups.h"
#include "wire/headers.h"
#include "wire/icrc.h"

#define ROOM 8192

/* Shapes 0 to 10: IPv4 with that many words of options; shape 11: IPv6. */
#define SHAPES 12

struct shape {
	uint32_t l3, l4, bth; /* offsets in the frame */
	uint8_t bytes[ROOM];
};

static struct test_chain chain;

/* Random bytes, except the byte with the IP version and header length. */
static void
shape_init(struct shape *s, unsigned int index, uint32_t l2_bytes, uint64_t *random)
{
	for (unsigned int i = 0; i < sizeof(s->bytes); i++)
		s->bytes[i] = (uint8_t)test_random(random);
	s->l3 = l2_bytes;
	s->l4 = s->l3 + (index < 11 ? 20 + 4 * index : 40);
	s->bth = s->l4 + 8;
	s->bytes[s->l3] = index < 11 ? (uint8_t)(0x45 + index) : 0x60 | (s->bytes[s->l3] & 0x0f);
}

static uint32_t
crc_bit_by_bit(uint32_t crc, const uint8_t *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		crc ^= bytes[i];
		for (unsigned int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* Bits of the byte at this offset that the ICRC replaces with ones; from the annex, not from the code. */
static uint8_t
masked_bits(const struct shape *s, uint32_t at)
{
	uint32_t ip = at - s->l3;

	if (at == s->l4 + 6 || at == s->l4 + 7) /* UDP checksum */
		return 0xff;
	if (at == s->bth + 4) /* FECN, BECN, reserved */
		return 0xff;
	if (at >= s->l4)
		return 0;
	if (s->bytes[s->l3] >> 4 == 4) /* TOS, TTL, header checksum */
		return ip == 1 || ip == 8 || ip == 10 || ip == 11 ? 0xff : 0;
	if (ip == 0) /* traffic class, flow label, hop limit */
		return 0x0f;
	return (ip >= 1 && ip <= 3) || ip == 7 ? 0xff : 0;
}

static uint32_t
icrc_reference(const struct shape *s, uint32_t covered)
{
	static const uint8_t ones[8] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	uint32_t crc = crc_bit_by_bit(0xffffffff, ones, sizeof(ones));

	for (uint32_t at = s->l3; at < s->l3 + covered; at++) {
		uint8_t byte = s->bytes[at] | masked_bits(s, at);

		crc = crc_bit_by_bit(crc, &byte, 1);
	}
	return ~crc;
}

static uint32_t
icrc_of(const struct shape *s, uint32_t covered, uint32_t trailer, const uint32_t *cuts,
	unsigned int nb_cuts)
{
	struct rte_mbuf *m = test_chain_set(&chain, s->bytes, s->l3 + covered + trailer, cuts,
					    nb_cuts);

	return uroce_icrc(m, s->l3, s->l4, covered);
}

static void
test_every_length(void **state)
{
	static struct shape s;
	uint64_t random = 2;

	(void)state;
	for (unsigned int i = 0; i < SHAPES; i++) {
		shape_init(&s, i, i % 2 ? 14 : 18, &random);
		for (uint32_t covered = s.bth + 12 - s.l3; covered < 400; covered++)
			assert_int_equal(icrc_of(&s, covered, 0, NULL, 0),
					 icrc_reference(&s, covered));
		assert_int_equal(icrc_of(&s, 4200, 0, NULL, 0), icrc_reference(&s, 4200));
	}
}

/* A run of packets that differ in the last word of the BTH and in the bytes behind it. */
static void
test_run(void **state)
{
	static struct shape s;
	uint64_t random = 7;

	(void)state;
	for (unsigned int i = 0; i < SHAPES; i += SHAPES - 1) { /* IPv4 without options, and IPv6 */
		rte_be32_t first, word;
		uint32_t crc;

		shape_init(&s, i, i == 0 ? 14 : 18, &random);
		crc = uroce_icrc_head(s.bytes + s.l3, s.l4 - s.l3);
		memcpy(&first, s.bytes + s.bth + 8, sizeof(first));
		for (uint32_t bytes = 0; bytes <= 4096; bytes += 4 + bytes / 3) {
			word = (rte_be32_t)test_random(&random);
			memcpy(s.bytes + s.bth + 8, &word, sizeof(word));
			s.bytes[s.bth + 12 + bytes / 2]++;
			assert_int_equal(uroce_icrc_of_run(crc, first ^ word, s.bytes + s.bth + 12, bytes),
					 icrc_reference(&s, s.bth + 12 + bytes - s.l3));
		}
	}
}

/* The same for frames in one segment. */
static void
test_plain(void **state)
{
	static struct shape s;
	uint64_t random = 12;

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		shape_init(&s, i & 1 ? SHAPES - 1 : 0, i & 2 ? 14 : 18, &random);
		for (uint32_t covered = s.bth + 12 - s.l3; covered < 400; covered += 4)
			assert_int_equal(uroce_icrc_plain(s.bytes + s.l3, s.l4 - s.l3, covered),
					 icrc_reference(&s, covered));
	}
}

static void
test_every_cut(void **state)
{
	static struct shape s;
	uint64_t random = 3;

	(void)state;
	for (unsigned int i = 0; i < SHAPES; i++) {
		uint32_t covered = 300, expected;

		shape_init(&s, i, 14, &random);
		expected = icrc_reference(&s, covered);
		for (uint32_t cut = s.bth + 12; cut <= s.l3 + covered; cut++) {
			uint32_t cuts[] = { cut, cut, RTE_MIN(cut + 7, s.l3 + covered) };

			assert_int_equal(icrc_of(&s, covered, 0, cuts, 1), expected);
			assert_int_equal(icrc_of(&s, covered, 0, cuts, RTE_DIM(cuts)), expected);
		}
	}
}

/* Bytes behind the covered ones (the ICRC, Ethernet padding) have no influence, whichever segment holds them. */
static void
test_trailer(void **state)
{
	static struct shape s;
	uint64_t random = 4;
	uint32_t expected;

	(void)state;
	shape_init(&s, 0, 14, &random);
	expected = icrc_reference(&s, 200);
	for (uint32_t trailer = 0; trailer < 30; trailer++) {
		uint32_t cuts[] = { 100, 14 + 200 + trailer / 2 };

		assert_int_equal(icrc_of(&s, 200, trailer, NULL, 0), expected);
		assert_int_equal(icrc_of(&s, 200, trailer, cuts, 2), expected);
	}
}

static void
test_what_is_covered(void **state)
{
	static struct shape s;
	uint64_t random = 5;

	(void)state;
	for (unsigned int i = 0; i < SHAPES; i++) {
		uint32_t covered = 200, right;

		shape_init(&s, i, 14, &random);
		right = icrc_of(&s, covered, 0, NULL, 0);
		for (uint32_t at = 0; at < s.l3 + covered; at++) {
			for (uint8_t bit = 1; bit != 0; bit = (uint8_t)(bit << 1)) {
				int same;

				if (at == s.l3 && bit >= 0x10) /* the IP version */
					continue;
				s.bytes[at] ^= bit;
				same = icrc_of(&s, covered, 0, NULL, 0) == right;
				s.bytes[at] ^= bit;
				assert_int_equal(same,
						 at < s.l3 || (masked_bits(&s, at) & bit) != 0);
			}
		}
	}
}

/* Packets of messages: the cached header CRC covers headers that differ only in AckReq and PSN. Now and then another
 * byte changes, or all of them. */
static void
test_headers_again(void **state)
{
	static struct shape shapes[SHAPES];
	struct shape *s = shapes;
	uint64_t random = 7;

	(void)state;
	for (unsigned int i = 0; i < SHAPES; i++)
		shape_init(&shapes[i], i, 14, &random);
	for (unsigned int i = 0; i < 5000; i++) {
		uint32_t covered = 150 + (uint32_t)(test_random(&random) % 100), cuts[1];

		if (i % 50 == 0)
			s = &shapes[test_random(&random) % 2 != 0 ? SHAPES - 1 : i / 50 % SHAPES];
		for (uint32_t at = s->bth + 8; at < s->bth + 12; at++)
			s->bytes[at] = (uint8_t)test_random(&random);
		if (i % 7 == 0)
			s->bytes[s->l3 + 1 + test_random(&random) % (s->bth + 7 - s->l3)] ^= 0x10;
		cuts[0] = s->bth + 12;
		assert_int_equal(icrc_of(s, covered, 0, cuts, i % 2), icrc_reference(s, covered));
	}
}

/* Append the ICRC to the head itself, or to an empty trailer behind a read-only payload. */
static void
test_append(void **state)
{
	static struct shape s, t;
	static uint8_t tail_bytes[8 + 1];
	uint64_t random = 6;

	(void)state;
	for (uint32_t payload = 0; payload < 64; payload++) {
		uint32_t pad = -payload & 3, len, covered;
		struct rte_mbuf head, middle, tail;
		rte_le32_t stored;

		shape_init(&s, payload % SHAPES, 14, &random);
		len = s.bth + 12 + payload;
		covered = len + pad - s.l3;
		t = s;
		memset(s.bytes + len, 0, pad);
		stored = rte_cpu_to_le_32(icrc_reference(&s, covered));
		memcpy(s.bytes + len + pad, &stored, 4);

		test_mbuf_init(&head, t.bytes, sizeof(t.bytes), len);
		uroce_icrc_append(&head, &head, s.l3, s.l4, pad);
		assert_int_equal(head.pkt_len, len + pad + 4);
		assert_int_equal(head.data_len, len + pad + 4);
		assert_memory_equal(t.bytes, s.bytes, sizeof(t.bytes));

		memset(tail_bytes, 0xee, sizeof(tail_bytes));
		test_mbuf_init(&head, s.bytes, (uint32_t)(len - payload), len - payload);
		test_mbuf_init(&middle, s.bytes + len - payload, payload, payload);
		test_mbuf_init(&tail, tail_bytes, 8, 0);
		head.next = &middle;
		middle.next = &tail;
		head.nb_segs = 3;
		head.pkt_len = len;
		uroce_icrc_append(&head, &tail, s.l3, s.l4, pad);
		assert_int_equal(head.pkt_len, len + pad + 4);
		assert_int_equal(head.data_len, len - payload);
		assert_int_equal(middle.data_len, payload);
		assert_int_equal(tail.data_len, pad + 4);
		assert_memory_equal(tail_bytes, s.bytes + len, pad + 4);
		assert_int_equal(tail_bytes[8], 0xee);
	}
}

static int
setup(void **state)
{
	(void)state;
	test_chain_init(&chain);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	test_chain_fini(&chain);
	return 0;
}

UROCE_TESTS(wire_icrc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length), cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_trailer),      cmocka_unit_test(test_what_is_covered),
		cmocka_unit_test(test_append),       cmocka_unit_test(test_headers_again),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
