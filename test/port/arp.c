/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ARP byte for byte: which requests are answered, which addresses are learned, and the drop counter of each bad packet.
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
#include "tap.h"

static const char *const cidrs[] = { "10.0.0.1/24", NULL };

/* A request of 10.0.0.2 for 10.0.0.1, and the device's reply */
#define REQUEST "ffffffffffff P 0806 0001 0800 06 04 0001 P 0a000002 Z6 0a000001"
#define REPLY   "P M 0806 0001 0800 06 04 0002 M 0a000001 P 0a000002 Z18"

static void
test_request(void **state)
{
	uint8_t frame[TAP_BYTES];
	struct tap t;

	tap_open(&t, 0, cidrs);
	tap_send(&t, frame, tap_frame(&t, frame, REQUEST));
	tap_expect_text(&t, REPLY);
	tap_expect_nothing(&t);
	assert_int_equal(tap_counter(&t, "arp_answered"), 1);
	tap_close(&t);
}

static void
test_request_vlan(void **state)
{
	uint8_t frame[TAP_BYTES];
	struct tap t;

	tap_open(&t, 42, cidrs);
	tap_send(&t, frame,
		 tap_frame(&t, frame,
			   "ffffffffffff P 8100 602a 0806 0001 0800 06 04 0001 "
			   "P 0a000002 Z6 0a000001"));
	tap_expect_text(&t, "P M 8100 002a 0806 0001 0800 06 04 0002 M 0a000001 P 0a000002 Z14");
	tap_close(&t);
}

/* RFC 5227: a host without an address asks whether the address is free. */
static void
test_probe(void **state)
{
	uint8_t frame[TAP_BYTES];
	struct tap t;

	tap_open(&t, 0, cidrs);
	tap_send(&t, frame,
		 tap_frame(&t, frame,
			   "ffffffffffff P 0806 0001 0800 06 04 0001 P 00000000 Z6 "
			   "0a000001"));
	tap_expect_text(&t, "P M 0806 0001 0800 06 04 0002 M 0a000001 P 00000000 Z18");
	tap_close(&t);
}

static void
test_announcement(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(uroce_add_address(t.context, "10.1.0.1/16"), 0);
	tap_expect_text(&t, "ffffffffffff M 0806 0001 0800 06 04 0001 M 0a010001 Z6 0a010001 Z18");
	tap_expect_nothing(&t);
	tap_close(&t);
}

static void
test_malformed(void **state)
{
	/* offset and value: each change by itself makes the request invalid */
	static const struct {
		size_t offset;
		uint8_t value;
	} wrong[] = {
		{ 15, 2 },                /* hardware type */
		{ 16, 9 },                /* protocol type */
		{ 18, 7 },                /* address lengths */
		{ 19, 16 }, { 21, 3 },    /* operation */
		{ 21, 0 },  { 22, 0x03 }, /* the sender's MAC is a group address */
	};
	uint8_t frame[TAP_BYTES];
	struct tap t;
	size_t bytes;

	tap_open(&t, 0, cidrs);
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		bytes = tap_frame(&t, frame, REQUEST);
		frame[wrong[i].offset] = wrong[i].value;
		tap_expect_drop(&t, frame, bytes, "drop_arp");
	}
	bytes = tap_frame(&t, frame, REQUEST);
	memset(frame + 22, 0, 6); /* the sender's MAC is 0 */
	tap_expect_drop(&t, frame, bytes, "drop_arp");
	for (bytes = 14; bytes < 42; bytes++) {
		tap_frame(&t, frame, REQUEST);
		tap_expect_drop(&t, frame, bytes, "drop_l2_short");
	}
	/* claims the device's own address */
	bytes = tap_frame(&t, frame,
			  "ffffffffffff P 0806 0001 0800 06 04 0001 P 0a000001 Z6 0a000001");
	tap_expect_drop(&t, frame, bytes, "drop_arp");
	/* asks for another host's address */
	bytes = tap_frame(&t, frame,
			  "ffffffffffff P 0806 0001 0800 06 04 0001 P 0a000002 Z6 0a000003");
	tap_expect_drop(&t, frame, bytes, "drop_ip_address");
	tap_close(&t);
}

static uint64_t
lladdr(const struct uroce_neighbor *n)
{
	return __atomic_load_n(&n->lladdr, __ATOMIC_RELAXED);
}

/* Resolution for a path: request, reply, and a change by an announcement. Packets for other hosts are ignored. */
static void
test_resolution(void **state)
{
	struct rte_ether_addr peer, other;
	uint8_t gid[16], frame[TAP_BYTES];
	struct uroce_neighbor *n;
	struct tap t;
	size_t bytes;

	rte_ether_unformat_addr(TAP_PEER, &peer);
	rte_ether_unformat_addr("02:00:00:00:00:98", &other);
	tap_open(&t, 0, cidrs);
	/* a request from an address that no path needs is not learned */
	tap_send(&t, frame, tap_frame(&t, frame, REQUEST));
	tap_expect_text(&t, REPLY);
	uroce_gid_parse(gid, "10.0.0.2");
	n = uroce_neighbor_get(&t.port->neighbors, gid);
	assert_non_null(n);
	assert_int_equal(lladdr(n), 0);
	uroce_port_upkeep_by(t.port, 0);
	tap_expect_text(&t, "ffffffffffff M 0806 0001 0800 06 04 0001 M 0a000001 Z6 0a000002 Z18");

	bytes = tap_frame(&t, frame, "M P 0806 0001 0800 06 04 0002 P 0a000002 M 0a000001");
	tap_send(&t, frame, bytes);
	assert_int_equal(lladdr(n), uroce_neighbor_mac_word(&peer));
	/* an announcement with a new MAC */
	bytes = tap_frame(&t, frame,
			  "ffffffffffff P 0806 0001 0800 06 04 0001 020000000098 0a000002 Z6 "
			  "0a000002");
	tap_send(&t, frame, bytes);
	assert_int_equal(lladdr(n), uroce_neighbor_mac_word(&other));
	/* a reply to another host is ignored */
	bytes = tap_frame(&t, frame,
			  "ffffffffffff P 0806 0001 0800 06 04 0002 P 0a000002 M 0a000007");
	tap_expect_drop(&t, frame, bytes, "drop_ip_address");
	assert_int_equal(lladdr(n), uroce_neighbor_mac_word(&other));
	/* a request from the peer is not */
	tap_send(&t, frame, tap_frame(&t, frame, REQUEST));
	tap_expect_text(&t, REPLY);
	assert_int_equal(lladdr(n), uroce_neighbor_mac_word(&peer));
	uroce_neighbor_put(&t.port->neighbors, n, uroce_clock_ns());
	tap_close(&t);
}

UROCE_TESTS(port_arp)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),   cmocka_unit_test(test_request_vlan),
		cmocka_unit_test(test_probe),     cmocka_unit_test(test_announcement),
		cmocka_unit_test(test_malformed), cmocka_unit_test(test_resolution),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
