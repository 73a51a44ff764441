/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Socket addresses and GIDs: each family in both directions, wildcards, groups, and comparisons.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>

#include <cmocka.h>

#include "cm/rdma/cma_sockaddr.h"
#include "groups.h"

static struct sockaddr *
v4(const char *text, uint16_t port)
{
	static struct sockaddr_in addrs[4];
	static unsigned int next;
	struct sockaddr_in *a = &addrs[next++ % 4];

	memset(a, 0, sizeof(*a));
	a->sin_family = AF_INET;
	a->sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, text, &a->sin_addr), 1);
	return (struct sockaddr *)a;
}

static struct sockaddr *
v6(const char *text, uint16_t port)
{
	static struct sockaddr_in6 addrs[4];
	static unsigned int next;
	struct sockaddr_in6 *a = &addrs[next++ % 4];

	memset(a, 0, sizeof(*a));
	a->sin6_family = AF_INET6;
	a->sin6_port = htons(port);
	assert_int_equal(inet_pton(AF_INET6, text, &a->sin6_addr), 1);
	return (struct sockaddr *)a;
}

static void
test_lengths(void **state)
{
	struct sockaddr other = { .sa_family = AF_UNIX };

	assert_int_equal(uroce_cma_addr_len(v4("10.0.0.1", 0)), sizeof(struct sockaddr_in));
	assert_int_equal(uroce_cma_addr_len(v6("fd00::1", 0)), sizeof(struct sockaddr_in6));
	assert_int_equal(uroce_cma_addr_len(&other), 0);
	assert_int_equal(uroce_cma_addr_len(NULL), 0);
}

static void
test_gids(void **state)
{
	static const union ibv_gid four = { .raw = { [10] = 0xff, [11] = 0xff, 10, 1, 2, 3 } };
	static const union ibv_gid six = { .raw = { 0xfd, [15] = 7 } };
	struct sockaddr_storage back;
	union ibv_gid gid;

	uroce_cma_addr_to_gid(v4("10.1.2.3", 5), &gid);
	assert_memory_equal(&gid, &four, sizeof(gid));
	assert_true(uroce_cma_addr_from_gid(&back, AF_INET, &gid));
	assert_memory_equal(&back, v4("10.1.2.3", 0), sizeof(struct sockaddr_in));
	assert_true(uroce_cma_addr_from_gid(&back, AF_INET6, &gid));
	assert_memory_equal(&back, v6("::ffff:10.1.2.3", 0), sizeof(struct sockaddr_in6));

	uroce_cma_addr_to_gid(v6("fd00::7", 5), &gid);
	assert_memory_equal(&gid, &six, sizeof(gid));
	assert_true(uroce_cma_addr_from_gid(&back, AF_INET6, &gid));
	assert_memory_equal(&back, v6("fd00::7", 0), sizeof(struct sockaddr_in6));
	assert_false(uroce_cma_addr_from_gid(&back, AF_INET, &gid));
}

static void
test_wildcards(void **state)
{
	assert_true(uroce_cma_addr_any(v4("0.0.0.0", 1)));
	assert_true(uroce_cma_addr_any(v6("::", 1)));
	assert_true(uroce_cma_addr_any(v6("::ffff:0.0.0.0", 1)));
	assert_false(uroce_cma_addr_any(v4("0.0.0.1", 0)));
	assert_false(uroce_cma_addr_any(v6("::1", 0)));
	assert_false(uroce_cma_addr_any(v6("8000::", 0)));
	assert_true(uroce_cma_addr_unspecific(v4("0.0.0.0", 1)));
	assert_true(uroce_cma_addr_unspecific(v6("::", 1)));
	assert_true(uroce_cma_addr_unspecific(v4("127.0.0.1", 1)));
	assert_true(uroce_cma_addr_unspecific(v4("127.255.255.255", 1)));
	assert_true(uroce_cma_addr_unspecific(v6("::1", 1)));
	assert_true(uroce_cma_addr_unspecific(v6("::ffff:127.0.0.1", 1)));
	assert_false(uroce_cma_addr_unspecific(v4("126.0.0.1", 0)));
	assert_false(uroce_cma_addr_unspecific(v4("128.0.0.1", 0)));
	assert_false(uroce_cma_addr_unspecific(v6("::2", 0)));
	assert_false(uroce_cma_addr_unspecific(v6("fd00::1", 0)));
}

static void
test_groups(void **state)
{
	assert_true(uroce_cma_addr_multicast(v4("224.0.0.1", 0)));
	assert_true(uroce_cma_addr_multicast(v4("239.255.255.255", 0)));
	assert_true(uroce_cma_addr_multicast(v6("::ffff:224.0.0.1", 0)));
	assert_true(uroce_cma_addr_multicast(v6("ff02::1", 0)));
	assert_false(uroce_cma_addr_multicast(v4("223.255.255.255", 0)));
	assert_false(uroce_cma_addr_multicast(v4("240.0.0.1", 0)));
	assert_false(uroce_cma_addr_multicast(v6("fe80::1", 0)));
}

static void
test_same(void **state)
{
	assert_true(uroce_cma_addr_same(v4("10.0.0.1", 1), v4("10.0.0.1", 2)));
	assert_true(uroce_cma_addr_same(v4("10.0.0.1", 1), v6("::ffff:10.0.0.1", 2)));
	assert_false(uroce_cma_addr_same(v4("10.0.0.1", 1), v4("10.0.0.2", 1)));
	assert_false(uroce_cma_addr_same(v6("::1", 1), v6("::2", 1)));
}

static void
test_ports(void **state)
{
	struct sockaddr *four = v4("10.0.0.1", 258), *six = v6("fd00::1", 259);
	struct sockaddr other = { .sa_family = AF_UNIX };

	assert_int_equal(uroce_cma_addr_port(four), htons(258));
	assert_int_equal(uroce_cma_addr_port(six), htons(259));
	assert_int_equal(uroce_cma_addr_port(&other), 0);
	uroce_cma_addr_set_port(four, htons(7));
	uroce_cma_addr_set_port(six, htons(8));
	assert_memory_equal(four, v4("10.0.0.1", 7), sizeof(struct sockaddr_in));
	assert_memory_equal(six, v6("fd00::1", 8), sizeof(struct sockaddr_in6));
}

UROCE_TESTS(cma_sockaddr)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),   cmocka_unit_test(test_gids),
		cmocka_unit_test(test_wildcards), cmocka_unit_test(test_groups),
		cmocka_unit_test(test_same),      cmocka_unit_test(test_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
