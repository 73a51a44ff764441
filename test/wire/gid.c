/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Conversion between GIDs and IP addresses: both directions, each bit of the prefix, the edges of the multicast ranges.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "groups.h"
#include "wire/gid.h"

/* The expected GID, from inet_pton(3), which shares no code with the library. */
static void
gid_of(uint8_t gid[16], const char *ipv6)
{
	assert_int_equal(inet_pton(AF_INET6, ipv6, gid), 1);
}

static void
test_ipv4(void **state)
{
	static const uint8_t constant[16] = UROCE_GID_IPV4(10, 77, 0, 255);
	uint8_t gid[16], want[16];

	(void)state;
	gid_of(want, "::ffff:10.77.0.255");
	memset(gid, 0xee, sizeof(gid));
	uroce_gid_from_ipv4(gid, inet_addr("10.77.0.255"));
	assert_memory_equal(gid, want, sizeof(gid));
	assert_memory_equal(constant, want, sizeof(constant));
	assert_int_equal(uroce_gid_to_ipv4(gid), inet_addr("10.77.0.255"));
}

static void
test_from_ip(void **state)
{
	uint8_t gid[16], want[16], packet[1 + 16];

	(void)state;
	gid_of(want, "fd12::3456:789a");
	memcpy(packet + 1, want, sizeof(want));
	uroce_gid_from_ip(gid, 6, packet + 1);
	assert_memory_equal(gid, want, sizeof(gid));

	gid_of(want, "::ffff:192.0.2.1");
	memcpy(packet + 1, want + 12, 4);
	uroce_gid_from_ip(gid, 4, packet + 1);
	assert_memory_equal(gid, want, sizeof(gid));
}

static void
test_each_bit_of_the_prefix(void **state)
{
	uint8_t gid[16];

	(void)state;
	gid_of(gid, "::ffff:1.2.3.4");
	assert_true(uroce_gid_is_ipv4(gid));
	for (unsigned int bit = 0; bit < 128; bit++) {
		gid[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		assert_int_equal(uroce_gid_is_ipv4(gid), bit >= 96);
		gid[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
	}
}

static void
test_multicast(void **state)
{
	static const struct {
		const char *gid;
		bool multicast;
	} cases[] = {
		{ "::ffff:223.255.255.255", false }, { "::ffff:224.0.0.0", true },
		{ "::ffff:239.255.255.255", true },  { "::ffff:240.0.0.0", false },
		{ "::ffff:255.255.255.255", false }, { "::", false },
		{ "::e000:1", false },               { "feff::1", false },
		{ "ff00::", true },                  { "ff02::1", true },
	};
	uint8_t gid[16];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		gid_of(gid, cases[i].gid);
		assert_int_equal(uroce_gid_is_multicast(gid), cases[i].multicast);
	}
}

UROCE_TESTS(wire_gid)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_from_ip),
		cmocka_unit_test(test_each_bit_of_the_prefix),
		cmocka_unit_test(test_multicast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
