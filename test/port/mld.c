/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * MLD byte for byte: reports of joined and left groups, replies to queries of both versions, and invalid queries.
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
#include "port/mcast.h"
#include "port/net/mld.h"
#include "tap.h"

#define L3  14
#define HBH (L3 + 40)
#define MLD (HBH + 8)
#define NO_TIME \
	UINT64_C(3600000000000000) /* later than any poll, so that polls do nothing by themselves */

#define ALERT   "3a 00 0502 0000 0100 "
#define GROUP   "ff150000000000000000000000010203"
#define NOBODY  "Z16"
#define NODES   "ff020000000000000000000000000001"
#define ROUTERS "ff020000000000000000000000000002"
#define V2_ALL  "ff020000000000000000000000000016"
#define PEER    "fe80000000000000000000000000fe00"

/* From the device's link-local address, or from a router's; the length covers all bytes behind the IPv6 header. */
#define IP(bytes, dst)       "86dd 60000000 " bytes " 00 01 L " dst " " ALERT
#define QUERY_IP(bytes, dst) "86dd 60000000 " bytes " 00 01 " PEER " " dst " " ALERT
#define TO_NODES             "333300000001 P "
#define TO_GROUP             "333300010203 P "

static const char *const cidrs[] = { "fd00::1/64", NULL };
static const union ibv_gid group = { .raw = { 0xff, 0x15, [13] = 1, 2, 3 } };
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

/* Fill in the ICMPv6 checksum, of the bytes behind the hop-by-hop header. */
static void
checksum(uint8_t *frame)
{
	uint32_t bytes = ((uint32_t)frame[L3 + 4] << 8 | frame[L3 + 5]) - 8;

	if (bytes > TAP_BYTES)
		return; /* shorter than the header */
	tap_put_checksum(frame + MLD + 2, tap_sum(tap_sum(bytes + 58, frame + L3 + 8, 32), frame + MLD, bytes));
}

static void
expect(const char *text)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(&tap, frame, text);

	checksum(frame);
	tap_expect(&tap, frame, bytes);
}

static void
send_text(const char *text)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(&tap, frame, text);

	checksum(frame);
	tap_send(&tap, frame, bytes);
}

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
test_v2_join_and_leave(void **state)
{
	assert_int_equal(uroce_port_mcast_join(&tap.port->dev, &group), 0);
	for (unsigned int i = 0; i < 2; i++) {
		expect("333300000016 M " IP("0024",
					    V2_ALL) "8f 00 0000 0000 0001 04 00 0000 " GROUP);
		tap_upkeep(&tap, NO_TIME);
	}
	tap_expect_nothing(&tap);
	assert_int_equal(tap_counter(&tap, "group_reports_sent"), 2);
	uroce_port_mcast_leave(&tap.port->dev, &group);
	for (unsigned int i = 0; i < 2; i++) {
		expect("333300000016 M " IP("0024",
					    V2_ALL) "8f 00 0000 0000 0001 03 00 0000 " GROUP);
		tap_upkeep(&tap, NO_TIME);
	}
	tap_expect_nothing(&tap);
}

static void
test_v2_query(void **state)
{
	join();
	send_text(TO_NODES QUERY_IP("0024", NODES) "82 00 0000 2710 0000 " NOBODY " 02 7d 0000");
	assert_int_equal(tap_counter(&tap, "group_queries"), 1);
	tap_upkeep(&tap, uroce_clock_ns() + UINT64_C(10000000000));
	expect("333300000016 M " IP("0024", V2_ALL) "8f 00 0000 0000 0001 02 00 0000 " GROUP);
	/* for the group, with a source; 0xffff: (0xfff | 0x1000) << (7 + 3) ms */
	send_text(TO_GROUP QUERY_IP("0034", GROUP) "82 00 0000 ffff 0000 " GROUP
						   " 02 7d 0001 " PEER);
	assert_int_equal(tap_counter(&tap, "group_queries"), 2);
	assert_true(tap.port->groups.entries[0].answer_ns <=
		    uroce_clock_ns() + 8191 * UINT64_C(1024000000));
	tap_upkeep(&tap, NO_TIME);
	expect("333300000016 M " IP("0024", V2_ALL) "8f 00 0000 0000 0001 02 00 0000 " GROUP);
	/* for another group, and sent to the device's address */
	send_text("M P " QUERY_IP(
		"0024",
		"fd000000000000000000000000000001") "82 00 0000 03e8 0000 ff150000000000000000000000010204 02 7d 0000");
	assert_int_equal(tap_counter(&tap, "group_queries"), 3);
	tap_upkeep(&tap, NO_TIME);
	tap_expect_nothing(&tap);
	uroce_port_mcast_leave(&tap.port->dev, &group);
}

static void
test_v1(void **state)
{
	uint64_t later;

	join();
	send_text(TO_NODES QUERY_IP("0020", NODES) "82 00 0000 2710 0000 " NOBODY);
	later = uroce_clock_ns() + UINT64_C(70000000000);
	tap_upkeep(&tap, later);
	expect("333300010203 M " IP("0020", GROUP) "83 00 0000 0000 0000 " GROUP);
	/* another member reports first; there is a minute for it */
	send_text(TO_GROUP QUERY_IP("0020", GROUP) "82 00 0000 ffff 0000 " GROUP);
	send_text(TO_GROUP QUERY_IP("0020", GROUP) "83 00 0000 0000 0000 " GROUP);
	tap_upkeep(&tap, later);
	tap_expect_nothing(&tap);
	uroce_port_mcast_leave(&tap.port->dev, &group);
	expect("333300000002 M " IP("0020", ROUTERS) "84 00 0000 0000 0000 " GROUP);
	tap_upkeep(&tap, later);
	tap_expect_nothing(&tap);
}

/* Changing this one byte makes the query invalid. */
static void
drop(const char *text, size_t offset, uint8_t value, const char *counter)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(&tap, frame, text);

	frame[offset] = value;
	checksum(frame);
	tap_expect_drop(&tap, frame, bytes, counter);
}

static void
test_malformed(void **state)
{
#define GOOD TO_NODES QUERY_IP("0024", NODES) "82 00 0000 2710 0000 " NOBODY " 02 7d 0000"
	static const struct {
		size_t offset;
		uint8_t value;
		const char *counter;
	} changes[] = {
		{ L3 + 7, 2, "drop_icmp" },       /* hop limit above 1: from beyond the link */
		{ L3 + 8, 0xfd, "drop_icmp" },    /* a source that is not link-local */
		{ HBH, 17, "drop_ip_protocol" },  /* UDP behind it */
		{ HBH + 1, 4, "drop_ip_header" }, /* longer than the packet */
		{ HBH + 2, 1, "drop_icmp" },      /* no router alert, but padding */
		{ HBH + 2, 0xc5, "drop_icmp" },   /* an unknown option that must be understood */
		{ HBH + 3, 5, "drop_icmp" },      /* an option longer than the header */
		{ HBH + 7, 1, "drop_icmp" },      { MLD, 140, "drop_icmp" }, /* another type of message */
		{ MLD + 8, 0xfd, "drop_icmp" },                              /* for an address that is not a group */
		{ L3 + 5, 0x22, "drop_icmp" }, /* a length between those of the two versions */
		{ L3 + 5, 0x1e, "drop_icmp" }, /* too short for both */
		{ L3 + 5, 0x0a, "drop_icmp" },    { L3 + 5, 0x04, "drop_ip_header" },
	};
	uint8_t frame[TAP_BYTES];
	size_t bytes;

	join();
	for (unsigned int i = 0; i < RTE_DIM(changes); i++)
		drop(GOOD, changes[i].offset, changes[i].value, changes[i].counter);
	bytes = tap_frame(&tap, frame, GOOD);
	checksum(frame);
	frame[MLD + 3] ^= 1;
	tap_expect_drop(&tap, frame, bytes, "drop_icmp");
	/* without the hop-by-hop header */
	bytes = tap_frame(&tap, frame,
			  TO_NODES "86dd 60000000 001c 3a 01 " PEER NODES
				   "82 00 0000 2710 0000 " NOBODY " 02 7d 0000");
	tap_checksum_icmp6(frame, L3);
	tap_expect_drop(&tap, frame, bytes, "drop_icmp");
	/* to a group without members here */
	drop(TO_GROUP QUERY_IP("0020", GROUP) "82 00 0000 03e8 0000 " GROUP, L3 + 24 + 12, 9,
	     "drop_ip_address");
	/* a message for routers */
	send_text(TO_NODES QUERY_IP("0020", NODES) "84 00 0000 0000 0000 " GROUP);
	assert_int_equal(tap_counter(&tap, "group_queries"), 0);
	tap_upkeep(&tap, NO_TIME);
	tap_expect_nothing(&tap);
	uroce_port_mcast_leave(&tap.port->dev, &group);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

UROCE_TESTS(port_mld)
{
	const struct CMUnitTest tests[] = {
		TEST(v2_join_and_leave),
		TEST(v2_query),
		TEST(v1),
		TEST(malformed),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
