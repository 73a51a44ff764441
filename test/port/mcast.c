/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The groups of a device: the workers' view, and the port's filter, which the test replaces.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "eal.h"
#include "port/mcast.h"
#include "tap.h"

static const char *const cidrs[] = { "10.0.0.1/24", "fd00::1/64", NULL };
static const union ibv_gid v4 = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
static const union ibv_gid v4_same_mac = { .raw = { [10] = 0xff, 0xff, 232, 129, 2, 3 } };
static const union ibv_gid v6 = { .raw = { 0xff, 0x15, [13] = 1, 2, 3 } };

static struct {
	int ret;
	uint32_t count;
	struct rte_ether_addr macs[UROCE_MAX_MCAST_GROUPS + UROCE_MAX_GID + 2];
	bool all;
} filter;

/* Replaces DPDK's function, because net_ring has no such filter. */
int
rte_eth_dev_set_mc_addr_list(uint16_t port_id, struct rte_ether_addr *macs, uint32_t count)
{
	assert_true(count <= RTE_DIM(filter.macs));
	if (filter.ret != 0)
		return filter.ret;
	filter.count = count;
	memcpy(filter.macs, macs, count * sizeof(*macs));
	return 0;
}

int
rte_eth_allmulticast_enable(uint16_t port_id)
{
	filter.all = true;
	return 0;
}

/* The number of times that the address is in the list. */
static unsigned int
listed(const char *text)
{
	struct rte_ether_addr mac;
	unsigned int n = 0;

	assert_int_equal(rte_ether_unformat_addr(text, &mac), 0);
	for (uint32_t i = 0; i < filter.count; i++)
		n += rte_is_same_ether_addr(&filter.macs[i], &mac);
	return n;
}

static bool
seen(const struct tap *t, const union ibv_gid *gid)
{
	return uroce_addresses_in_group(t->port->addresses, gid->raw);
}

static void
test_join_and_leave(void **state)
{
	static const union ibv_gid unicast = { .raw = { [10] = 0xff, 0xff, 10, 1, 2, 3 } };
	struct uroce_device *dev;
	struct tap t;

	tap_open(&t, 0, cidrs);
	dev = &t.port->dev;
	assert_int_equal(uroce_port_mcast_join(dev, &unicast), -EINVAL);
	assert_false(seen(&t, &v4));
	assert_int_equal(uroce_port_mcast_join(dev, &v4), 0);
	assert_int_equal(uroce_port_mcast_join(dev, &v4), 0);
	assert_int_equal(uroce_port_mcast_join(dev, &v6), 0);
	assert_true(seen(&t, &v4));
	assert_true(seen(&t, &v6));
	assert_false(seen(&t, &v4_same_mac));
	assert_int_equal(t.port->addresses->group_count, 2);
	uroce_port_mcast_leave(dev, &v4);
	assert_true(seen(&t, &v4));
	uroce_port_mcast_leave(dev, &v4);
	assert_false(seen(&t, &v4));
	assert_true(seen(&t, &v6));
	/* groups stay when addresses are added or deleted */
	assert_int_equal(uroce_del_address(t.context, "10.0.0.1/24"), 0);
	assert_true(seen(&t, &v6));
	uroce_port_mcast_leave(dev, &v6);
	assert_int_equal(t.port->addresses->group_count, 0);
	tap_close(&t);
}

static void
test_filter(void **state)
{
	struct uroce_device *dev;
	struct tap t;

	tap_open(&t, 0, cidrs);
	dev = &t.port->dev;
	assert_int_equal(listed("33:33:00:00:00:01"), 1); /* all nodes */
	assert_int_equal(listed("01:00:5e:00:00:01"), 1); /* all hosts */
	assert_int_equal(listed("33:33:ff:00:00:01"), 1); /* fd00::1's solicited-node group */
	assert_int_equal(filter.count, 4);                /* and the link-local address's */
	assert_int_equal(uroce_port_mcast_join(dev, &v4), 0);
	assert_int_equal(uroce_port_mcast_join(dev, &v6), 0);
	assert_int_equal(uroce_port_mcast_join(dev, &v4_same_mac), 0);
	assert_int_equal(listed("01:00:5e:01:02:03"), 1);
	assert_int_equal(listed("33:33:00:01:02:03"), 1);
	assert_int_equal(filter.count, 6);
	/* another QP still uses the group */
	uroce_port_mcast_leave(dev, &v4);
	assert_int_equal(listed("01:00:5e:01:02:03"), 1);
	uroce_port_mcast_leave(dev, &v4_same_mac);
	assert_int_equal(listed("01:00:5e:01:02:03"), 0);
	uroce_port_mcast_leave(dev, &v6);
	assert_int_equal(filter.count, 4);
	assert_false(filter.all);
	/* the filter is full */
	filter.ret = -ENOSPC;
	assert_int_equal(uroce_port_mcast_join(dev, &v4), 0);
	assert_true(filter.all);
	filter.ret = 0;
	uroce_port_mcast_leave(dev, &v4);
	tap_close(&t);
}

static void
test_full(void **state)
{
	union ibv_gid gid = v6;
	struct tap t;

	tap_open(&t, 0, cidrs);
	for (unsigned int i = 0; i < UROCE_MAX_MCAST_GROUPS; i++) {
		gid.raw[4] = (uint8_t)(i >> 8);
		gid.raw[5] = (uint8_t)i;
		assert_int_equal(uroce_port_mcast_join(&t.port->dev, &gid), 0);
		assert_true(seen(&t, &gid));
	}
	assert_int_equal(uroce_port_mcast_join(&t.port->dev, &v4), -ENOSPC);
	assert_false(seen(&t, &v4));
	for (unsigned int i = 0; i < UROCE_MAX_MCAST_GROUPS; i++) {
		gid.raw[4] = (uint8_t)(i >> 8);
		gid.raw[5] = (uint8_t)i;
		assert_true(seen(&t, &gid));
		uroce_port_mcast_leave(&t.port->dev, &gid);
	}
	tap_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_join_and_leave),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_full),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
