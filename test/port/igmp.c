/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * IGMP byte for byte: reports of joined and left groups, replies to queries of each version, and invalid queries.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "eal.h"
#include "base/clock.h"
#include "groups.h"
#include "port/net/igmp.h"
#include "port/mcast.h"
#include "tap.h"

#define L3   14
#define IGMP 38
#define NO_TIME \
	UINT64_C(3600000000000000) /* later than any poll, so that polls do nothing by themselves */

/* IPv4 header, with its length and destination; source 10.0.0.1, router alert, TTL 1. */
#define IP(bytes, dst)       "0800 46 c0 " bytes " 0000 4000 01 02 0000 0a000001 " dst " 94040000"
#define QUERY_IP(bytes, dst) "0800 46 c0 " bytes " 0000 0000 01 02 0000 0a0000fe " dst " 94040000"
#define TO_ALL               "01005e000001 P "

static const char *const cidrs[] = { "10.0.0.1/24", NULL };
static const union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 129, 2, 3 } };
static struct tap tap;

static int
setup(void **state)
{
	tap_open(&tap, 0, cidrs);
	return 0;
}

static int
teardown(void **state)
{
	tap_close(&tap);
	return 0;
}

/* Fill in both checksums, for an IP header with an option. */
static void
checksums(uint8_t *frame)
{
	size_t bytes = (size_t)frame[L3 + 2] << 8 | frame[L3 + 3];

	tap_put_checksum(frame + L3 + 10, tap_sum(0, frame + L3, 24));
	tap_put_checksum(frame + IGMP + 2, tap_sum(0, frame + IGMP, bytes - 24));
}

static void
expect(const char *text)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(&tap, frame, text);

	checksums(frame);
	tap_expect(&tap, frame, bytes);
}

static void
send_text(const char *text)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(&tap, frame, text);

	checksums(frame);
	tap_send(&tap, frame, bytes);
}

/* Join the group, and drain its reports. */
static void
join(void)
{
	assert_int_equal(uroce_port_mcast_join(&tap.port->dev, &group), 0);
	rte_pktmbuf_free(tap_receive(&tap));
	tap_upkeep(&tap, NO_TIME);
	rte_pktmbuf_free(tap_receive(&tap));
	tap_expect_nothing(&tap);
}

static void
test_v3_join_and_leave(void **state)
{
	assert_int_equal(uroce_port_mcast_join(&tap.port->dev, &group), 0);
	for (unsigned int i = 0; i < 2; i++) {
		expect("01005e000016 M " IP(
			"0028", "e0000016") " 22 00 0000 0000 0001 04 00 0000 ef810203 Z6");
		tap_upkeep(&tap, NO_TIME);
	}
	tap_expect_nothing(&tap);
	assert_int_equal(tap_counter(&tap, "group_reports_sent"), 2);
	uroce_port_mcast_leave(&tap.port->dev, &group);
	for (unsigned int i = 0; i < 2; i++) {
		expect("01005e000016 M " IP(
			"0028", "e0000016") " 22 00 0000 0000 0001 03 00 0000 ef810203 Z6");
		tap_upkeep(&tap, NO_TIME);
	}
	tap_expect_nothing(&tap);
}

static void
test_v3_query(void **state)
{
	join();
	send_text(TO_ALL QUERY_IP("0024", "e0000001") " 11 64 0000 00000000 02 7d 0000 Z10");
	assert_int_equal(tap_counter(&tap, "group_queries"), 1);
	tap_upkeep(&tap, uroce_clock_ns() + UINT64_C(10000000000));
	expect("01005e000016 M " IP("0028",
				    "e0000016") " 22 00 0000 0000 0001 02 00 0000 ef810203 Z6");
	/* for the group, with sources, sent to the group */
	send_text("01005e010203 P " QUERY_IP(
		"0028", "ef810203") " 11 ff 0000 ef810203 02 7d 0001 0a000009 Z6");
	assert_int_equal(tap_counter(&tap, "group_queries"), 2);
	/* 0xff: (0xf | 0x10) << (7 + 3) tenths of a second */
	assert_true(tap.port->groups.entries[0].answer_ns <=
		    uroce_clock_ns() + 31744 * UINT64_C(100000000));
	tap_upkeep(&tap, NO_TIME);
	expect("01005e000016 M " IP("0028",
				    "e0000016") " 22 00 0000 0000 0001 02 00 0000 ef810203 Z6");
	/* for another group, and sent to the device's address */
	send_text("M P " QUERY_IP("0024", "0a000001") " 11 64 0000 ef810204 02 7d 0000 Z10");
	assert_int_equal(tap_counter(&tap, "group_queries"), 3);
	tap_upkeep(&tap, NO_TIME);
	tap_expect_nothing(&tap);
	uroce_port_mcast_leave(&tap.port->dev, &group);
}

static void
test_v2(void **state)
{
	uint64_t later;

	join();
	send_text(TO_ALL QUERY_IP("0020", "e0000001") " 11 64 0000 00000000 Z14");
	later = uroce_clock_ns() + UINT64_C(10000000000);
	tap_upkeep(&tap, later);
	expect("01005e010203 M " IP("0020", "ef810203") " 16 00 0000 ef810203 Z14");
	/* another member reports first */
	send_text("01005e010203 P " QUERY_IP("0020", "ef810203") " 11 0a 0000 ef810203 Z14");
	send_text("01005e010203 P " QUERY_IP("0020", "ef810203") " 16 00 0000 ef810203 Z14");
	tap_upkeep(&tap, later);
	tap_expect_nothing(&tap);
	uroce_port_mcast_leave(&tap.port->dev, &group);
	expect("01005e000002 M " IP("0020", "e0000002") " 17 00 0000 ef810203 Z14");
	tap_upkeep(&tap, later);
	tap_expect_nothing(&tap);
}

static void
test_v1(void **state)
{
	join();
	send_text(TO_ALL QUERY_IP("0020", "e0000001") " 11 00 0000 00000000 Z14");
	tap_upkeep(&tap, uroce_clock_ns() + UINT64_C(10000000000));
	expect("01005e010203 M " IP("0020", "ef810203") " 12 00 0000 ef810203 Z14");
	uroce_port_mcast_leave(&tap.port->dev, &group);
	tap_expect_nothing(&tap);
}

/* Without an IPv4 address the device reports from 0.0.0.0. */
static void
test_no_address(void **state)
{
	assert_int_equal(uroce_del_address(tap.context, "10.0.0.1/24"), 0);
	assert_int_equal(uroce_port_mcast_join(&tap.port->dev, &group), 0);
	expect("01005e000016 M 0800 46 c0 0028 0000 4000 01 02 0000 00000000 e0000016 94040000"
	       " 22 00 0000 0000 0001 04 00 0000 ef810203 Z6");
	uroce_port_mcast_leave(&tap.port->dev, &group);
	rte_pktmbuf_free(tap_receive(&tap));
}

static void
drop(const char *text, bool good_checksum, const char *counter)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(&tap, frame, text);

	checksums(frame);
	frame[IGMP + 2] ^= good_checksum ? 0 : 1;
	tap_expect_drop(&tap, frame, bytes, counter);
}

static void
test_malformed(void **state)
{
	join();
	drop(TO_ALL QUERY_IP("0020", "e0000001") " 11 64 0000 00000000 Z14", false, "drop_igmp");
	/* too short, and of a length between the versions */
	drop(TO_ALL QUERY_IP("001e", "e0000001") " 11 64 0000 0000 Z16", true, "drop_igmp");
	drop(TO_ALL QUERY_IP("0022", "e0000001") " 11 64 0000 00000000 0000 Z12", true,
	     "drop_igmp");
	/* for an address that is not a group */
	drop(TO_ALL QUERY_IP("0020", "e0000001") " 11 64 0000 0a000001 Z14", true, "drop_igmp");
	/* not to the group of all hosts, or to another MAC address */
	drop(TO_ALL QUERY_IP("0020", "e0000005") " 11 64 0000 00000000 Z14", true,
	     "drop_ip_address");
	drop("01005e000002 P " QUERY_IP("0020", "e0000001") " 11 64 0000 00000000 Z14", true,
	     "drop_l2_address");
	drop("M P " QUERY_IP("0020", "e0000001") " 11 64 0000 00000000 Z14", true,
	     "drop_l2_address");
	/* other messages are for routers */
	send_text(TO_ALL QUERY_IP("0020", "e0000001") " 17 00 0000 ef810203 Z14");
	assert_int_equal(tap_counter(&tap, "group_queries"), 0);
	tap_upkeep(&tap, NO_TIME);
	tap_expect_nothing(&tap);
	uroce_port_mcast_leave(&tap.port->dev, &group);
}

/* Reports on a VLAN have its tag. */
static void
test_vlan(void **state)
{
	uint8_t frame[TAP_BYTES];
	struct tap t;
	size_t bytes;

	tap_open(&t, 7, cidrs);
	assert_int_equal(uroce_port_mcast_join(&t.port->dev, &group), 0);
	bytes = tap_frame(
		&t, frame,
		"01005e000016 M 8100 0007 " IP(
			"0028", "e0000016") " 22 00 0000 0000 0001 04 00 0000 ef810203 Z2");
	tap_put_checksum(frame + L3 + 4 + 10, tap_sum(0, frame + L3 + 4, 24));
	tap_put_checksum(frame + IGMP + 4 + 2, tap_sum(0, frame + IGMP + 4, 16));
	tap_expect(&t, frame, bytes);
	uroce_port_mcast_leave(&t.port->dev, &group);
	tap_close(&t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

UROCE_TESTS(port_igmp)
{
	const struct CMUnitTest tests[] = {
		TEST(v3_join_and_leave), TEST(v3_query),  TEST(v2),   TEST(v1),
		TEST(no_address),        TEST(malformed), TEST(vlan),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
