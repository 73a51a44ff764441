/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ICMP echo byte for byte: which requests are answered, how, and which are dropped.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "eal.h"
#include "groups.h"
#include "tap.h"

#define IP    14
#define ICMP  34
#define ICMP6 54

#define OURS  "fd000000000000000000000000000001"
#define PEERS "fd000000000000000000000000000002"

#define REQUEST \
	"M P 0800 45 00 0020 1234 0000 40 01 0000 0a000002 0a000001 08 00 0000 beef 0007 01020304"
#define REPLY \
	"P M 0800 45 00 0020 0000 4000 40 01 0000 0a000001 0a000002 00 00 0000 beef 0007 01020304 Z14"
#define REQUEST6 "M P 86dd 60000000 000c 3a 40" PEERS OURS "80 00 0000 beef 0007 01020304"
#define REPLY6   "P M 86dd 60000000 000c 3a 40" OURS PEERS "81 00 0000 beef 0007 01020304"

static const char *const cidrs[] = { "10.0.0.1/24", "fd00::1/64", NULL };

static void
test_ipv4(void **state)
{
	uint8_t frame[TAP_BYTES];
	struct tap t;
	size_t bytes;

	tap_open(&t, 0, cidrs);
	bytes = tap_frame(&t, frame, REQUEST);
	tap_checksum_icmp(frame, IP);
	tap_send(&t, frame, bytes);
	bytes = tap_frame(&t, frame, REPLY);
	tap_checksum_icmp(frame, IP);
	tap_expect(&t, frame, bytes);
	assert_int_equal(tap_counter(&t, "echo_answered"), 1);
	tap_close(&t);
}

/* The largest packet for the link, with an odd length; it needs a payload mbuf. */
static void
test_ipv4_large(void **state)
{
	uint8_t frame[TAP_BYTES], reply[TAP_BYTES];
	struct tap t;
	size_t bytes;

	tap_open(&t, 0, cidrs);
	tap_frame(
		&t, frame,
		"M P 0800 45 00 05db 1234 0000 40 01 0000 0a000002 0a000001 08 00 0000 beef 0007");
	bytes = IP + 0x5db;
	for (size_t i = ICMP + 8; i < bytes; i++)
		frame[i] = (uint8_t)i;
	memcpy(reply, frame, bytes);
	tap_checksum_icmp(frame, IP);
	tap_send(&t, frame, bytes);
	tap_frame(
		&t, reply,
		"P M 0800 45 00 05db 0000 4000 40 01 0000 0a000001 0a000002 00 00 0000 beef 0007");
	tap_checksum_icmp(reply, IP);
	tap_expect(&t, reply, bytes);
	tap_close(&t);
}

static void
test_ipv6(void **state)
{
	uint8_t frame[TAP_BYTES];
	struct tap t;
	size_t bytes;

	tap_open(&t, 0, cidrs);
	bytes = tap_frame(&t, frame, REQUEST6);
	tap_checksum_icmp6(frame, IP);
	tap_send(&t, frame, bytes);
	bytes = tap_frame(&t, frame, REPLY6);
	tap_checksum_icmp6(frame, IP);
	tap_expect(&t, frame, bytes);
	/* to all nodes: answered from one of the device's addresses */
	bytes = tap_frame(&t, frame,
			  "333300000001 P 86dd 60000000 000c 3a 40" PEERS
			  "ff020000000000000000000000000001 80 00 0000 beef 0007 01020304");
	tap_checksum_icmp6(frame, IP);
	tap_send(&t, frame, bytes);
	bytes = tap_frame(&t, frame, REPLY6);
	tap_checksum_icmp6(frame, IP);
	tap_expect(&t, frame, bytes);
	tap_close(&t);
}

static void
test_vlan(void **state)
{
	uint8_t frame[TAP_BYTES];
	struct tap t;
	size_t bytes;

	tap_open(&t, 5, cidrs);
	bytes = tap_frame(&t, frame,
			  "M P 8100 0005 0800 45 00 0020 1234 0000 40 01 0000 0a000002 0a000001 "
			  "08 00 0000 beef 0007 01020304");
	tap_checksum_icmp(frame, IP + 4);
	tap_send(&t, frame, bytes);
	bytes = tap_frame(&t, frame,
			  "P M 8100 0005 0800 45 00 0020 0000 4000 40 01 0000 0a000001 0a000002 "
			  "00 00 0000 beef 0007 01020304 Z10");
	tap_checksum_icmp(frame, IP + 4);
	tap_expect(&t, frame, bytes);
	tap_close(&t);
}

struct change {
	size_t offset;
	uint8_t value;
};

static void
test_malformed_ipv4(void **state)
{
	static const struct change wrong[] = {
		{ ICMP, 3 },      /* neither a request nor a reply */
		{ ICMP, 0 },      /* a reply without a request */
		{ ICMP + 1, 1 },  /* code */
		{ IP + 12, 224 }, /* from a group */
		{ IP + 12, 127 }, /* from the loopback network */
		{ IP + 3, 27 },   /* shorter than an echo message */
		{ 6, 0x03 },      /* the reply would go to a group's MAC address */
	};
	uint8_t frame[TAP_BYTES];
	struct tap t;
	size_t bytes;

	tap_open(&t, 0, cidrs);
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		bytes = tap_frame(&t, frame, REQUEST);
		frame[wrong[i].offset] = wrong[i].value;
		tap_checksum_icmp(frame, IP);
		tap_expect_drop(&t, frame, bytes, "drop_icmp");
	}
	bytes = tap_frame(&t, frame, REQUEST);
	tap_checksum_icmp(frame, IP);
	frame[ICMP + 9] ^= 0x10;
	tap_expect_drop(&t, frame, bytes, "drop_icmp");
	tap_close(&t);
}

static void
test_malformed_ipv6(void **state)
{
	static const struct change wrong[] = {
		{ ICMP6, 1 }, { ICMP6, 129 }, { ICMP6 + 1, 1 }, { IP + 8, 0xff }, { 6, 0x03 },
	};
	uint8_t frame[TAP_BYTES];
	struct tap t;
	size_t bytes;

	tap_open(&t, 0, cidrs);
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		bytes = tap_frame(&t, frame, REQUEST6);
		frame[wrong[i].offset] = wrong[i].value;
		tap_checksum_icmp6(frame, IP);
		tap_expect_drop(&t, frame, bytes, "drop_icmp");
	}
	bytes = tap_frame(&t, frame, REQUEST6);
	tap_expect_drop(&t, frame, bytes, "drop_icmp"); /* no checksum */
	bytes = tap_frame(&t, frame,
			  "M P 86dd 60000000 0007 3a 40" PEERS OURS "80 00 0000 beef 00");
	tap_checksum_icmp6(frame, IP);
	tap_expect_drop(&t, frame, bytes, "drop_icmp");
	tap_close(&t);
}

/* Larger than any packet that the device can send. */
static void
test_too_large(void **state)
{
	uint8_t frame[TAP_BYTES] = { 0 };
	struct rte_mempool *pool;
	struct rte_mbuf *m;
	struct tap t;
	uint8_t *p;

	tap_open(&t, 0, cidrs);
	pool = rte_pktmbuf_pool_create("large", 15, 0, 0, 9000, SOCKET_ID_ANY);
	assert_non_null(pool);
	m = rte_pktmbuf_alloc(pool);
	p = (uint8_t *)rte_pktmbuf_append(m, IP + 8000);
	memset(p, 0, IP + 8000);
	tap_frame(
		&t, frame,
		"M P 0800 45 00 1f40 1234 0000 40 01 0000 0a000002 0a000001 08 00 0000 beef 0007");
	memcpy(p, frame, ICMP + 8);
	tap_checksum_icmp(p, IP);
	tap_send_mbuf(&t, m);
	assert_int_equal(tap_counter(&t, "tx_drop_local"), 1);
	assert_int_equal(tap_counter(&t, "echo_answered"), 0);
	tap_expect_nothing(&t);
	tap_close(&t);
	assert_true(rte_mempool_full(pool));
	rte_mempool_free(pool);
}

UROCE_TESTS(port_icmp)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),           cmocka_unit_test(test_ipv4_large),
		cmocka_unit_test(test_ipv6),           cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_malformed_ipv4), cmocka_unit_test(test_malformed_ipv6),
		cmocka_unit_test(test_too_large),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
