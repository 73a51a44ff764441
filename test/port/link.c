/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Links in the terms of verbs: path MTUs that fit, widths and speeds that multiply to ethdev's speed, and ports that
 * are down. The test replaces ethdev's link query.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port/ethdev/link.h"

static struct {
	int ret;
	struct rte_eth_link link;
	uint16_t asked;
} ethdev;

/* Replaces DPDK's function, because net_ring has one speed only. */
int
rte_eth_link_get_nowait(uint16_t port_id, struct rte_eth_link *link)
{
	ethdev.asked = port_id;
	if (ethdev.ret == 0)
		*link = ethdev.link;
	return ethdev.ret;
}

static struct uroce_port port = { .port_id = 3, .mtu = 1500 };

static struct ibv_port_attr
query(uint32_t mbps, uint16_t status)
{
	struct ibv_port_attr attr = { 0 };

	ethdev.ret = 0;
	ethdev.link = (struct rte_eth_link){ .link_speed = mbps, .link_status = status };
	assert_int_equal(uroce_port_query(&port.dev, &attr), 0);
	assert_int_equal(ethdev.asked, 3);
	return attr;
}

static void
test_speed(void **state)
{
	/* InfiniBand's codes: lanes, and Gb/s per lane */
	static const struct {
		uint32_t mbps;
		uint8_t width;
		uint8_t speed;
	} cases[] = {
		{ RTE_ETH_SPEED_NUM_NONE, 1, 1 },    /* 1 x 2.5, the minimum */
		{ RTE_ETH_SPEED_NUM_UNKNOWN, 1, 1 }, /* not the maximum */
		{ RTE_ETH_SPEED_NUM_10M, 1, 1 },           { RTE_ETH_SPEED_NUM_1G, 1, 1 },
		{ RTE_ETH_SPEED_NUM_2_5G, 1, 8 },          { RTE_ETH_SPEED_NUM_10G, 1, 8 },
		{ RTE_ETH_SPEED_NUM_20G, 2, 2 },           { RTE_ETH_SPEED_NUM_25G, 1, 32 },
		{ RTE_ETH_SPEED_NUM_40G, 2, 8 },           { RTE_ETH_SPEED_NUM_50G, 1, 64 },
		{ RTE_ETH_SPEED_NUM_56G, 2, 32 },          { RTE_ETH_SPEED_NUM_100G, 2, 32 },
		{ RTE_ETH_SPEED_NUM_200G, 2, 64 },         { 400000, 2, 128 },
		{ RTE_ETH_SPEED_NUM_UNKNOWN - 1, 2, 128 },
	};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		struct ibv_port_attr attr = query(cases[i].mbps, RTE_ETH_LINK_UP);

		assert_int_equal(attr.active_width, cases[i].width);
		assert_int_equal(attr.active_speed, cases[i].speed);
	}
}

static void
test_state(void **state)
{
	struct ibv_port_attr attr = query(RTE_ETH_SPEED_NUM_10G, RTE_ETH_LINK_UP);

	assert_int_equal(attr.state, IBV_PORT_ACTIVE);
	assert_int_equal(attr.phys_state, 5); /* LinkUp */
	assert_int_equal(attr.max_vl_num, 1);
	attr = query(RTE_ETH_SPEED_NUM_10G, RTE_ETH_LINK_DOWN);
	assert_int_equal(attr.state, IBV_PORT_DOWN);
	assert_int_equal(attr.phys_state, 3); /* Disabled */
}

static void
test_active_mtu(void **state)
{
	struct ibv_port_attr attr = query(RTE_ETH_SPEED_NUM_10G, RTE_ETH_LINK_UP);

	assert_int_equal(attr.max_mtu, IBV_MTU_4096);
	assert_int_equal(attr.active_mtu, IBV_MTU_1024);
	port.mtu = 4200;
	attr = query(RTE_ETH_SPEED_NUM_10G, RTE_ETH_LINK_UP);
	assert_int_equal(attr.active_mtu, IBV_MTU_4096);
	port.mtu = 1500;
}

static void
test_error(void **state)
{
	struct ibv_port_attr attr = { 0 };

	ethdev.ret = -ENODEV;
	assert_int_equal(uroce_port_query(&port.dev, &attr), -ENODEV);
}

/* With one byte less than a packet with all headers needs, the next smaller MTU counts. */
static void
test_mtu(void **state)
{
	enum ibv_mtu smaller = 0;

	assert_int_equal(uroce_mtu_of_ethernet(0), 0);
	for (enum ibv_mtu m = IBV_MTU_256; m <= IBV_MTU_4096; m++) {
		uint16_t least = (uint16_t)((128u << m) + 84);

		assert_int_equal(uroce_mtu_of_ethernet(least - 1), smaller);
		assert_int_equal(uroce_mtu_of_ethernet(least), m);
		smaller = m;
	}
	assert_int_equal(uroce_mtu_of_ethernet(UINT16_MAX), IBV_MTU_4096);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_speed),      cmocka_unit_test(test_state),
		cmocka_unit_test(test_active_mtu), cmocka_unit_test(test_error),
		cmocka_unit_test(test_mtu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
