/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The device and the source address for a peer, and whether the neighbor on the way is resolved: two devices whose
 * wires end in the test.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "eal.h"
#include "groups.h"
#include "port/registry.h"
#include "port/resolve.h"
#include "tap.h"

enum {
	LINK_LOCAL,
	IPV4,
	IPV6,
};

static const char *const cidrs[] = { "10.0.0.1/24", "fd00::1/64", NULL };
static const char *const other_cidrs[] = { "10.1.0.1/24", "fd01::1/64", NULL };
static struct tap tap, other;

static int
setup(void **state)
{
	tap_open(&tap, 0, cidrs);
	tap_open(&other, 0, other_cidrs);
	return 0;
}

static int
teardown(void **state)
{
	tap_close(&other);
	tap_close(&tap);
	return 0;
}

static const uint8_t *
gid(const char *address)
{
	static uint8_t value[16];

	assert_int_equal(uroce_gid_parse(value, address), 0);
	return value;
}

static void
expect_found(const char *address, const struct tap *t, unsigned int index)
{
	unsigned int found = UINT32_MAX;

	uroce_registry_lock();
	assert_ptr_equal(uroce_port_find(gid(address), &found), t != NULL ? t->port : NULL);
	uroce_registry_unlock();
	if (t != NULL)
		assert_int_equal(found, index);
}

static void
test_find(void **state)
{
	unsigned int index;

	expect_found("10.0.0.1", &tap, IPV4);
	expect_found("fd00::1", &tap, IPV6);
	expect_found("10.1.0.1", &other, IPV4);
	expect_found("fd01::1", &other, IPV6);
	expect_found("10.0.0.2", NULL, 0);
	uroce_registry_lock();
	assert_ptr_equal(uroce_port_find(other.port->gids[0].subnet.gid, &index), other.port);
	uroce_registry_unlock();
	assert_int_equal(index, LINK_LOCAL);
	/* at the former address's index */
	assert_int_equal(uroce_del_address(tap.context, "fd00::1/64"), 0);
	expect_found("fd00::1", NULL, 0);
	assert_int_equal(uroce_add_address(tap.context, "fd00::1/64"), 0);
	rte_pktmbuf_free(tap_receive(&tap)); /* its announcement */
}

static int
route(const char *sgid, const char *dgid, unsigned int *index)
{
	uint8_t from[16];
	int ret;

	if (sgid != NULL)
		memcpy(from, gid(sgid), sizeof(from));
	uroce_registry_lock();
	ret = uroce_port_route(tap.port, sgid != NULL ? from : NULL, gid(dgid), index);
	uroce_registry_unlock();
	return ret;
}

static void
test_route(void **state)
{
	static const struct {
		const char *sgid;
		const char *dgid;
		int route;
		unsigned int index;
	} cases[] = {
		{ NULL, "10.0.0.2", UROCE_ROUTE_LINK, IPV4 },
		{ NULL, "fd00::2", UROCE_ROUTE_LINK, IPV6 },
		{ NULL, "fe80::2", UROCE_ROUTE_LINK, LINK_LOCAL },
		{ NULL, "10.0.0.1", UROCE_ROUTE_OWN, IPV4 },
		{ NULL, "10.1.0.1", UROCE_ROUTE_PROCESS, IPV4 },
		{ NULL, "fd01::1", UROCE_ROUTE_PROCESS, IPV6 },
		{ NULL, "10.2.0.1", -ENETUNREACH, IPV4 },
		{ NULL, "fd02::1", -ENETUNREACH, IPV6 },
		{ "fd00::1", "fd01::2", -ENETUNREACH, IPV6 },
		{ "10.0.0.1", "10.0.0.2", UROCE_ROUTE_LINK, IPV4 },
		{ "fd00::1", "fe80::2", UROCE_ROUTE_LINK, IPV6 },
		{ "fd00::1", "10.0.0.2", -ENETUNREACH, IPV6 },
		{ "10.0.0.1", "fd00::2", -ENETUNREACH, IPV4 },
		{ "10.0.0.3", "10.0.0.2", -ENETUNREACH, IPV4 }, /* not an address of the device */
	};
	unsigned int index;

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		assert_int_equal(route(cases[i].sgid, cases[i].dgid, &index), cases[i].route);
		if (cases[i].route >= 0)
			assert_int_equal(index, cases[i].index);
	}
	assert_int_equal(uroce_set_gateway(tap.context, "10.0.0.254"), 0);
	assert_int_equal(route(NULL, "10.2.0.1", &index), UROCE_ROUTE_GATEWAY);
	assert_int_equal(index, IPV4);
	assert_int_equal(route(NULL, "10.1.0.1", &index), UROCE_ROUTE_PROCESS);
	assert_int_equal(route(NULL, "fd02::1", &index), -ENETUNREACH);
	assert_int_equal(uroce_set_gateway(tap.context, NULL), 0);
}

static void
test_route_to_group(void **state)
{
	uint8_t group[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };
	unsigned int index;

	uroce_registry_lock();
	assert_int_equal(uroce_port_route(tap.port, NULL, group, &index), UROCE_ROUTE_LINK);
	assert_int_equal(index, IPV4);
	assert_int_equal(uroce_port_resolve(tap.port, group), 0);
	memset(group, 0, sizeof(group));
	group[0] = 0xff;
	group[1] = 0x15;
	assert_int_equal(uroce_port_route(tap.port, NULL, group, &index), UROCE_ROUTE_LINK);
	assert_int_equal(index, IPV6);
	uroce_registry_unlock();
}

static int
resolve(const char *address)
{
	int ret;

	uroce_registry_lock();
	ret = uroce_port_resolve(tap.port, gid(address));
	uroce_registry_unlock();
	return ret;
}

static void
test_resolve(void **state)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes;

	assert_int_equal(resolve("10.0.0.1"), 0); /* the device's own address */
	assert_int_equal(resolve("10.1.0.1"), 0);
	assert_int_equal(resolve("10.2.0.1"), -ENETUNREACH);
	assert_int_equal(resolve("10.0.0.2"), -EINPROGRESS);
	tap_expect_text(&tap,
			"ffffffffffff M 0806 0001 0800 06 04 0001 M 0a000001 Z6 0a000002 Z18");
	assert_int_equal(resolve("10.0.0.2"), -EINPROGRESS);
	tap_expect_nothing(&tap);
	bytes = tap_frame(&tap, frame, "M P 0806 0001 0800 06 04 0002 P 0a000002 M 0a000001 Z18");
	tap_send(&tap, frame, bytes);
	assert_int_equal(resolve("10.0.0.2"), 0);
	tap_expect_nothing(&tap);
	/* the gateway is resolved, not the address behind it */
	assert_int_equal(uroce_set_gateway(tap.context, "10.0.0.2"), 0);
	assert_int_equal(resolve("10.2.0.1"), 0);
	assert_int_equal(uroce_set_gateway(tap.context, NULL), 0);
}

UROCE_TESTS(port_resolve)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_route),
		cmocka_unit_test(test_route_to_group),
		cmocka_unit_test(test_resolve),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, setup, teardown);
}
