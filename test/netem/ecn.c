/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ECN marking: each codepoint, IPv4 with options, IPv6, VLAN. Checksums stay right, other bits stay as they were, and
 * frames without a whole header stay unchanged.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_byteorder.h>
#include <rte_ip.h>

#include "ecn.h"
#include "groups.h"

#define FRAME_BYTES 128

/* @return the offset of the IP header; the bytes behind it are numbered */
static uint32_t
frame_make(uint8_t *frame, bool vlan, uint16_t type)
{
	uint32_t l3 = vlan ? 18 : 14;

	for (unsigned int i = 0; i < FRAME_BYTES; i++)
		frame[i] = (uint8_t)(i * 37);
	frame[12] = 0x81;
	frame[13] = 0;
	frame[l3 - 2] = (uint8_t)(type >> 8);
	frame[l3 - 1] = (uint8_t)type;
	return l3;
}

/* @return the bytes of the frame up to the end of the header */
static uint32_t
make_ipv4(uint8_t *frame, bool vlan, unsigned int options, uint8_t tos)
{
	uint32_t l3 = frame_make(frame, vlan, 0x0800);
	struct rte_ipv4_hdr *ip = (void *)(frame + l3);

	ip->version_ihl = (uint8_t)(0x45 + options);
	ip->type_of_service = tos;
	ip->hdr_checksum = 0;
	ip->hdr_checksum = (rte_be16_t)~rte_raw_cksum(ip, rte_ipv4_hdr_len(ip));
	return l3 + rte_ipv4_hdr_len(ip);
}

static void
test_ipv4(void **state)
{
	for (unsigned int i = 0; i < 256 * 4; i++) {
		uint8_t frame[FRAME_BYTES], before[FRAME_BYTES], tos = (uint8_t)i;
		unsigned int options = i >> 8 & 1 ? 10 : 0;
		uint32_t bytes = make_ipv4(frame, i >> 9, options, tos), l3 = i >> 9 ? 18 : 14;
		struct rte_ipv4_hdr *ip = (void *)(frame + l3);

		memcpy(before, frame, sizeof(frame));
		assert_int_equal(uroce_netem_ecn(frame, bytes), tos & 3);
		assert_true(uroce_netem_mark(frame, bytes));
		assert_int_equal(uroce_netem_ecn(frame, bytes), UROCE_ECN_CE);
		assert_int_equal(ip->type_of_service, tos | 3);
		assert_int_equal(rte_raw_cksum(ip, rte_ipv4_hdr_len(ip)), 0xffff);
		before[l3 + 1] = frame[l3 + 1];
		memcpy(before + l3 + 10, frame + l3 + 10, 2);
		assert_memory_equal(frame, before, sizeof(frame));
	}
}

/* Marking does not repair the checksum of a damaged header. */
static void
test_wrong_checksum(void **state)
{
	uint8_t frame[FRAME_BYTES];
	uint32_t bytes = make_ipv4(frame, false, 0, 0x40);

	frame[14 + 16] ^= 0x10;
	assert_true(uroce_netem_mark(frame, bytes));
	assert_int_not_equal(rte_raw_cksum(frame + 14, 20), 0xffff);
}

static void
test_ipv6(void **state)
{
	for (unsigned int i = 0; i < 256 * 2; i++) {
		uint8_t frame[FRAME_BYTES], before[FRAME_BYTES], class = (uint8_t)i;
		uint32_t l3 = frame_make(frame, i >> 8, 0x86dd);

		frame[l3] = (uint8_t)(0x60 | class >> 4);
		frame[l3 + 1] = (uint8_t)(class << 4 | 0x5);
		memcpy(before, frame, sizeof(frame));
		assert_int_equal(uroce_netem_ecn(frame, l3 + 40), class & 3);
		assert_true(uroce_netem_mark(frame, l3 + 40));
		assert_int_equal(uroce_netem_ecn(frame, l3 + 40), UROCE_ECN_CE);
		before[l3 + 1] |= 0x30;
		assert_memory_equal(frame, before, sizeof(frame));
	}
}

static void
test_not_whole(void **state)
{
	uint8_t frame[FRAME_BYTES], before[FRAME_BYTES];
	uint32_t bytes;

	for (unsigned int i = 0; i < 4; i++) {
		if (i < 2)
			bytes = make_ipv4(frame, i & 1, 3, 1);
		else
			bytes = frame_make(frame, i & 1, 0x86dd) + 40;
		memcpy(before, frame, sizeof(frame));
		for (uint32_t cut = 0; cut < bytes; cut++) {
			assert_int_equal(uroce_netem_ecn(frame, cut), 0);
			assert_false(uroce_netem_mark(frame, cut));
		}
		assert_memory_equal(frame, before, sizeof(frame));
	}
	bytes = make_ipv4(frame, false, 0, 1);
	frame[14] = 0x44;	/* shorter than any IPv4 header */
	assert_false(uroce_netem_mark(frame, bytes));
	frame_make(frame, false, 0x0806);
	assert_false(uroce_netem_mark(frame, sizeof(frame)));
	assert_int_equal(uroce_netem_ecn(frame, sizeof(frame)), 0);
}

UROCE_TESTS(netem_ecn)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_wrong_checksum),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_not_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
