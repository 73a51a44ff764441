/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Neighbor discovery byte for byte, with each of the checks of RFC 4861, 7.1.1 and 7.1.2.
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

#define IP     14 /* offsets in an untagged frame */
#define ICMP   54
#define OPTION 78

#define OURS      "fd000000000000000000000000000001"
#define PEERS     "fd000000000000000000000000000002"
#define GROUP     "ff0200000000000000000001ff000001" /* the solicited-node group of OURS */
#define ALL_NODES "ff020000000000000000000000000001"

/* fd00::2 asks for fd00::1, with its own MAC address; and the device's answer */
#define SOLICIT \
	"3333ff000001 P 86dd 60000000 0020 3a ff" PEERS GROUP "87 00 0000 00000000" OURS "0101 P"
#define ADVERT "P M 86dd 60000000 0020 3a ff" OURS PEERS "88 00 0000 60000000" OURS "0201 M"

static const char *const cidrs[] = { "fd00::1/64", NULL };

static void
send6(struct tap *t, const char *text)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(t, frame, text);

	tap_checksum_icmp6(frame, IP);
	tap_send(t, frame, bytes);
}

static void
expect6(struct tap *t, const char *text)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(t, frame, text);

	tap_checksum_icmp6(frame, IP);
	tap_expect(t, frame, bytes);
}

static void
drop6(struct tap *t, const char *text, const char *counter)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(t, frame, text);

	tap_checksum_icmp6(frame, IP);
	tap_expect_drop(t, frame, bytes, counter);
}

static void
test_solicit(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	send6(&t, SOLICIT);
	expect6(&t, ADVERT);
	/* unicast, without the option: answered to the sender's MAC address */
	send6(&t, "M P 86dd 60000000 0018 3a ff" PEERS OURS "87 00 0000 00000000" OURS);
	expect6(&t, ADVERT);
	/* asks for the link-local address */
	send6(&t, "M P 86dd 60000000 0020 3a ff" PEERS OURS "87 00 0000 00000000 L 0101 P");
	expect6(&t, "P M 86dd 60000000 0020 3a ff L" PEERS "88 00 0000 60000000 L 0201 M");
	tap_expect_nothing(&t);
	assert_int_equal(tap_counter(&t, "nd_answered"), 3);
	tap_close(&t);
}

/* RFC 4862: another host checks whether the device's address is free. The reply to all nodes says that it is in use. */
static void
test_duplicate_address(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	send6(&t, "3333ff000001 P 86dd 60000000 0018 3a ff Z16" GROUP "87 00 0000 00000000" OURS);
	expect6(&t, "333300000001 M 86dd 60000000 0020 3a ff" OURS ALL_NODES
		    "88 00 0000 20000000" OURS "0201 M");
	/* not to a group; with an option */
	drop6(&t, "M P 86dd 60000000 0018 3a ff Z16" OURS "87 00 0000 00000000" OURS, "drop_icmp");
	drop6(&t,
	      "3333ff000001 P 86dd 60000000 0020 3a ff Z16" GROUP "87 00 0000 00000000" OURS
	      "0101 P",
	      "drop_icmp");
	tap_close(&t);
}

static void
test_announcement(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(uroce_add_address(t.context, "fd07::1/64"), 0);
	expect6(&t,
		"333300000001 M 86dd 60000000 0020 3a ff fd070000000000000000000000000001" ALL_NODES
		"88 00 0000 20000000 fd070000000000000000000000000001 0201 M");
	tap_expect_nothing(&t);
	tap_close(&t);
}

static void
test_malformed(void **state)
{
	static const struct {
		size_t offset;
		uint8_t value;
	} wrong[] = {
		{ IP + 7, 254 },                       /* a lower hop limit: a router has forwarded it */
		{ IP + 7, 0 },        { ICMP + 1, 1 }, /* code */
		{ ICMP + 8, 0xff },                    /* the target is a group */
		{ OPTION + 1, 0 },                     /* an option of length 0 */
		{ OPTION + 1, 2 },                     /* an option beyond the end */
		{ IP + 8, 0xff },                      /* the sender is a group */
		{ OPTION + 2, 0x01 },                  /* its MAC is a group's */
	};
	uint8_t frame[TAP_BYTES];
	struct tap t;
	size_t bytes;

	tap_open(&t, 0, cidrs);
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		bytes = tap_frame(&t, frame, SOLICIT);
		frame[wrong[i].offset] = wrong[i].value;
		tap_checksum_icmp6(frame, IP);
		tap_expect_drop(&t, frame, bytes, "drop_icmp");
	}
	bytes = tap_frame(&t, frame, SOLICIT);
	tap_checksum_icmp6(frame, IP);
	frame[ICMP + 2] ^= 1;
	tap_expect_drop(&t, frame, bytes, "drop_icmp");
	/* the message or its option is truncated */
	drop6(&t,
	      "M P 86dd 60000000 0017 3a ff" PEERS OURS
	      "87 00 0000 00000000 fd0000000000000000000000000000 Z1",
	      "drop_icmp");
	drop6(&t, "M P 86dd 60000000 0019 3a ff" PEERS OURS "87 00 0000 00000000" OURS "01",
	      "drop_icmp");
	/* from the device's own address */
	drop6(&t, "M P 86dd 60000000 0020 3a ff" OURS OURS "87 00 0000 00000000" OURS "0101 P",
	      "drop_icmp");
	/* for another address with the same solicited-node group */
	drop6(&t,
	      "3333ff000001 P 86dd 60000000 0020 3a ff" PEERS GROUP
	      "87 00 0000 00000000 fd010000000000000000000000000001 0101 P",
	      "drop_ip_address");
	tap_close(&t);
}

static uint64_t
lladdr(const struct uroce_neighbor *n)
{
	return __atomic_load_n(&n->lladdr, __ATOMIC_RELAXED);
}

#define SOLICITED "M P 86dd 60000000 0020 3a ff" PEERS OURS "88 00 0000 40000000" PEERS
#define OVERRIDE \
	"333300000001 P 86dd 60000000 0020 3a ff" PEERS ALL_NODES "88 00 0000 20000000" PEERS
#define NEITHER \
	"333300000001 P 86dd 60000000 0020 3a ff" PEERS ALL_NODES "88 00 0000 00000000" PEERS

static void
test_resolution(void **state)
{
	struct rte_ether_addr peer, other;
	struct uroce_neighbor *n;
	uint8_t gid[16];
	struct tap t;

	rte_ether_unformat_addr(TAP_PEER, &peer);
	rte_ether_unformat_addr("02:00:00:00:00:98", &other);
	tap_open(&t, 0, cidrs);
	uroce_gid_parse(gid, "fd00::2");
	n = uroce_neighbor_get(&t.port->neighbors, gid);
	uroce_port_upkeep_by(t.port, 0);
	expect6(&t,
		"3333ff000002 M 86dd 60000000 0020 3a ff" OURS "ff0200000000000000000001ff000002"
		"87 00 0000 00000000" PEERS "0101 M");
	assert_int_equal(lladdr(n), 0);
	send6(&t, SOLICITED "0201 P");
	assert_int_equal(lladdr(n), uroce_neighbor_mac_word(&peer));
	/* a new MAC address counts only with the override flag */
	send6(&t, NEITHER "0201 020000000098");
	assert_int_equal(lladdr(n), uroce_neighbor_mac_word(&peer));
	send6(&t, OVERRIDE "0201 020000000098");
	assert_int_equal(lladdr(n), uroce_neighbor_mac_word(&other));
	/* an advertisement to a group must not claim to be solicited */
	drop6(&t,
	      "333300000001 P 86dd 60000000 0020 3a ff" PEERS ALL_NODES "88 00 0000 60000000" PEERS
	      "0201 P",
	      "drop_icmp");
	/* nor may it be for the device's own address */
	drop6(&t,
	      "333300000001 P 86dd 60000000 0020 3a ff" OURS ALL_NODES "88 00 0000 20000000" OURS
	      "0201 P",
	      "drop_icmp");
	assert_int_equal(lladdr(n), uroce_neighbor_mac_word(&other));
	uroce_neighbor_put(&t.port->neighbors, n, uroce_clock_ns());
	tap_close(&t);
}

UROCE_TESTS(port_nd)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_solicit),      cmocka_unit_test(test_duplicate_address),
		cmocka_unit_test(test_announcement), cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_resolution),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
