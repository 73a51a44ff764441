/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Addresses as text and as values, subnets, next hops and multicast MAC addresses.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "groups.h"
#include "port/net/address.h"

static void
test_parse_subnet(void **state)
{
	static const char *const wrong[] = {
		"",
		"/",
		"10.0.0.1",
		"10.0.0.1/",
		"10.0.0.1/0",
		"10.0.0.1/33",
		"10.0.0.1/-1",
		"10.0.0.1/ 8",
		"10.0.0.1/8x",
		"10.0.0/8",
		"10.0.0.256/8",
		"224.0.0.1/8",
		"0.0.0.0/8",
		"255.255.255.255/8",
		"240.0.0.1/8",
		"fd00::1",
		"fd00::1/0",
		"fd00::1/129",
		"fd00::1/99999999999999",
		"::/64",
		"::1/128",
		"ff02::1/64",
		"fd00::g/64",
		"::ffff:10.0.0.1/24",
		"::ffff:10.0.0.1/96",
		"fd00:0000:0000:0000:0000:0000:0000:0000:0000:0001/64",
	};
	struct uroce_subnet s;
	char text[INET6_ADDRSTRLEN];

	assert_int_equal(uroce_subnet_parse(&s, NULL), -EINVAL);
	assert_int_equal(uroce_subnet_parse(&s, "127.0.0.1/8"), 0);
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (uroce_subnet_parse(&s, wrong[i]) != -EINVAL)
			fail_msg("\"%s\" is accepted", wrong[i]);
	assert_int_equal(uroce_subnet_parse(&s, "10.0.0.1/24"), 0);
	assert_int_equal(s.prefix_bits, 120);
	assert_string_equal(uroce_gid_format(s.gid, text, sizeof(text)), "10.0.0.1");
	assert_int_equal(uroce_subnet_parse(&s, "::ffff:10.0.0.1/120"), 0);
	assert_int_equal(s.prefix_bits, 120);
	assert_int_equal(uroce_subnet_parse(&s, "fd00::a/64"), 0);
	assert_int_equal(s.prefix_bits, 64);
	assert_string_equal(uroce_gid_format(s.gid, text, sizeof(text)), "fd00::a");
	assert_int_equal(uroce_subnet_parse(&s, "fd00::a/128"), 0);
	assert_int_equal(uroce_subnet_parse(&s, "10.0.0.1/32"), 0);
	assert_int_equal(s.prefix_bits, 128);
}

static void
test_link_local(void **state)
{
	const struct rte_ether_addr mac = { { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 } };
	char text[INET6_ADDRSTRLEN];
	uint8_t gid[16];

	uroce_gid_link_local(gid, &mac);
	assert_string_equal(uroce_gid_format(gid, text, sizeof(text)), "fe80::5054:ff:fe12:3456");
}

static void
expect_mac(const char *address, const char *expected)
{
	struct rte_ether_addr mac, want;
	struct in_addr ipv4;
	uint8_t gid[16];

	if (inet_pton(AF_INET, address, &ipv4) == 1)
		uroce_gid_from_ipv4(gid, ipv4.s_addr);
	else
		assert_int_equal(inet_pton(AF_INET6, address, gid), 1);
	uroce_multicast_mac(&mac, gid);
	assert_int_equal(rte_ether_unformat_addr(expected, &want), 0);
	assert_memory_equal(&mac, &want, sizeof(mac));
	assert_true(uroce_gid_is_multicast(gid));
	assert_false(uroce_gid_is_host(gid));
}

static void
test_multicast(void **state)
{
	expect_mac("224.0.0.1", "01:00:5e:00:00:01");
	expect_mac("239.255.129.2", "01:00:5e:7f:81:02");
	expect_mac("ff02::1", "33:33:00:00:00:01");
	expect_mac("ff0e::1:ffab:cdef", "33:33:ff:ab:cd:ef");
}

static void
add(struct uroce_addresses *a, const char *cidr)
{
	struct uroce_subnet s;

	assert_int_equal(uroce_subnet_parse(&s, cidr), 0);
	a->subnets[a->count++] = s;
	if (strchr(cidr, ':') == NULL)
		memcpy(&a->ipv4[a->ipv4_count++], s.gid + 12, 4);
	else
		memcpy(a->ipv6[a->ipv6_count++], s.gid, 16);
}

static void
expect_hop(const struct uroce_addresses *a, const char *dst, const char *expected)
{
	uint8_t gid[16], hop[16];
	char text[INET6_ADDRSTRLEN];

	assert_int_equal(uroce_gid_parse(gid, dst), 0);
	if (expected == NULL) {
		assert_int_equal(uroce_addresses_next_hop(a, gid, hop), -ENETUNREACH);
		return;
	}
	assert_int_equal(uroce_addresses_next_hop(a, gid, hop), 0);
	assert_string_equal(uroce_gid_format(hop, text, sizeof(text)), expected);
}

static void
expect_source(const struct uroce_addresses *a, const char *dst, const char *expected)
{
	char text[INET6_ADDRSTRLEN];
	const uint8_t *src;
	uint8_t gid[16];

	assert_int_equal(uroce_gid_parse(gid, dst), 0);
	src = uroce_addresses_source(a, gid);
	if (expected == NULL) {
		assert_null(src);
		return;
	}
	assert_non_null(src);
	assert_string_equal(uroce_gid_format(src, text, sizeof(text)), expected);
}

static void
test_next_hop(void **state)
{
	struct uroce_addresses a = { 0 };

	add(&a, "fe80::1/64");
	add(&a, "10.0.0.1/22");
	expect_hop(&a, "10.0.3.255", "10.0.3.255");
	expect_hop(&a, "10.0.4.0", NULL);
	expect_hop(&a, "9.255.255.255", NULL);
	expect_hop(&a, "fe80::99", "fe80::99");
	expect_hop(&a, "fd00::1", NULL);
	add(&a, "fd00::1/127");
	expect_hop(&a, "fd00::", "fd00::");
	expect_hop(&a, "fd00::2", NULL);
	a.has_ipv4_gateway = true;
	uroce_gid_parse(a.ipv4_gateway, "10.0.0.254");
	expect_hop(&a, "8.8.8.8", "10.0.0.254");
	expect_hop(&a, "fd00::2", NULL);
	a.has_ipv6_gateway = true;
	uroce_gid_parse(a.ipv6_gateway, "fe80::fe");
	expect_hop(&a, "fd00::2", "fe80::fe");
}

static void
test_source(void **state)
{
	struct uroce_addresses a = { 0 };

	add(&a, "fe80::1/64");
	expect_source(&a, "10.0.0.2", NULL);
	expect_source(&a, "fd00::2", "fe80::1");
	add(&a, "10.0.0.1/24");
	add(&a, "10.1.0.1/24");
	add(&a, "fd00::1/64");
	expect_source(&a, "10.1.0.7", "10.1.0.1");
	expect_source(&a, "10.9.0.7", "10.0.0.1");
	expect_source(&a, "fd09::2", "fd00::1");
	expect_source(&a, "fe80::2", "fe80::1");
}

static void
test_own(void **state)
{
	struct uroce_addresses a = { 0 };
	struct rte_ether_addr mac;
	uint8_t gid[16];

	add(&a, "10.0.0.1/24");
	rte_ether_unformat_addr("33:33:00:00:00:01", &mac);
	assert_false(uroce_addresses_listen(&a, &mac));
	add(&a, "fd00::12:3456/64");
	assert_true(uroce_addresses_listen(&a, &mac));
	rte_ether_unformat_addr("33:33:ff:12:34:56", &mac);
	assert_true(uroce_addresses_listen(&a, &mac));
	rte_ether_unformat_addr("33:33:ff:12:34:57", &mac);
	assert_false(uroce_addresses_listen(&a, &mac));
	rte_ether_unformat_addr("33:33:fe:12:34:56", &mac);
	assert_false(uroce_addresses_listen(&a, &mac));
	uroce_gid_parse(gid, "10.0.0.1");
	assert_true(uroce_addresses_have(&a, gid));
	uroce_gid_parse(gid, "10.0.0.2");
	assert_false(uroce_addresses_have(&a, gid));
	uroce_gid_parse(gid, "fd00::12:3456");
	assert_true(uroce_addresses_have(&a, gid));
	uroce_gid_parse(gid, "fd00::12:3457");
	assert_false(uroce_addresses_have(&a, gid));
}

UROCE_TESTS(port_address)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_subnet), cmocka_unit_test(test_link_local),
		cmocka_unit_test(test_multicast),    cmocka_unit_test(test_next_hop),
		cmocka_unit_test(test_source),       cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
