/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The MTU of a port, from its driver's limits and the requested MTU.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <net/if.h>

#include "groups.h"
#include "port/ethdev/mtu.h"
#include "uroce_config.h"

static void
test_choose(void **state)
{
	static const struct {
		const char *driver;
		uint32_t max_rx_pktlen;
		uint16_t max_mtu;
		uint16_t min_mtu;
		uint16_t wanted;
		int ret;
		uint16_t mtu;
		uint16_t configured;
	} cases[] = {
		/* no limit: the default or the requested MTU */
		{ "net_ring", UINT32_MAX, UINT16_MAX, 46, 0, 0, UROCE_PORT_MTU, UROCE_PORT_MTU },
		{ "net_ring", UINT32_MAX, UINT16_MAX, 46, 9000, 0, 9000, 9000 },
		{ "net_ring", UINT32_MAX, UINT16_MAX, 46, 339, -EINVAL, 0, 0 },
		{ "net_ring", UINT32_MAX, UINT16_MAX, 46, 340, 0, 340, 340 },
		/* a limit on the frame, on the MTU, or on both */
		{ "net_x", 1518, UINT16_MAX, 46, 0, 0, 1500, 1500 },
		{ "net_x", 1518, UINT16_MAX, 46, 1501, -EINVAL, 0, 0 },
		{ "net_x", 9728, 9706, 68, 9706, 0, 9706, 9706 },
		{ "net_x", 9728, 9706, 68, 9707, -EINVAL, 0, 0 },
		{ "net_x", 9728, 2000, 68, 0, 0, 2000, 2000 },
		{ "net_x", 9728, 9706, 1500, 1400, -EINVAL, 0, 0 },
		{ "net_x", 10, UINT16_MAX, 46, 0, -EINVAL, 0, 0 },
		{ NULL, 1518, UINT16_MAX, 46, 0, 0, 1500, 1500 },
		/* these drivers allow more than they announce: the default size of their buffers */
		{ "net_memif", 1518, UINT16_MAX, 46, 0, 0, 2030, 1500 },
		{ "net_memif", 1518, UINT16_MAX, 46, 2031, -EINVAL, 0, 0 },
		/* without an interface, the announced limit */
		{ "net_af_packet", 1518, UINT16_MAX, 46, 0, 0, 1500, 1500 },
		/* less than announced: the page must also hold the mbuf */
		{ "net_af_xdp", 3520, 3502, 68, 0, 0, 2794, 2794 },
		{ "net_af_xdp", 3520, 3502, 68, 2795, -EINVAL, 0, 0 },
		{ "net_af_xdp", 1518, 1500, 68, 0, 0, 1500, 1500 },
	};
	struct uroce_mtu got;

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		const struct rte_eth_dev_info info = {
			.driver_name = cases[i].driver,
			.max_rx_pktlen = cases[i].max_rx_pktlen,
			.max_mtu = cases[i].max_mtu,
			.min_mtu = cases[i].min_mtu,
		};

		assert_int_equal(uroce_mtu_choose(&info, cases[i].wanted, &got), cases[i].ret);
		if (cases[i].ret != 0)
			continue;
		assert_int_equal(got.mtu, cases[i].mtu);
		assert_int_equal(got.configured, cases[i].configured);
	}
}

/* The kernel's interface below net_af_packet determines the MTU; the loopback interface has 65536. */
static void
test_interface(void **state)
{
	const struct rte_eth_dev_info info = {
		.driver_name = "net_af_packet",
		.max_rx_pktlen = 1518,
		.max_mtu = UINT16_MAX,
		.min_mtu = 46,
		.if_index = if_nametoindex("lo"),
	};
	struct uroce_mtu got;

	if (info.if_index == 0)
		skip();
	assert_int_equal(uroce_mtu_choose(&info, 0, &got), 0);
	assert_int_equal(got.mtu, UROCE_PORT_MTU);
	assert_int_equal(got.configured, 1500);
}

UROCE_TESTS(port_mtu)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choose),
		cmocka_unit_test(test_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
