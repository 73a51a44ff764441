/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two devices on a wire find and ping each other: IPv4, IPv6, link-local, on a VLAN and not across
 * VLANs.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "eal.h"
#include "groups.h"
#include "port/net/address.h"
#include "port/worker/pool.h"
#include "rings.h"
#include "uroce.h"

#define TIMEOUT_MS 20000

struct net {
	struct test_rings wire[2];
	struct uroce_worker *workers[2];
	struct ibv_context *context[2];
};

static void
net_open(struct net *net, uint16_t vlan_a, uint16_t vlan_b)
{
	const uint16_t vlans[2] = { vlan_a, vlan_b };

	test_rings_create_pair(&net->wire[0], &net->wire[1]);
	for (unsigned int i = 0; i < 2; i++) {
		struct uroce_port_conf conf = { .size = sizeof(conf), .vlan = vlans[i], .no_loopback = 1 };

		net->workers[i] = uroce_create_worker(-1);
		assert_non_null(net->workers[i]);
		net->context[i] = uroce_open_port(net->wire[i].port_id, &conf, &net->workers[i], 1);
		assert_non_null(net->context[i]);
	}
}

static void
net_close(struct net *net)
{
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_close_device(net->context[i]), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_worker(net->workers[i]), 0);
	/* both ends share the rings: free them once */
	rte_eth_dev_close(net->wire[0].port_id);
	test_rings_destroy(&net->wire[1]);
	assert_int_equal(uroce_pools_retired(), 0);
}

static void
add(struct net *net, const char *a, const char *b)
{
	assert_int_equal(uroce_add_address(net->context[0], a), 0);
	assert_int_equal(uroce_add_address(net->context[1], b), 0);
}

static void
test_ipv4(void **state)
{
	struct net net;

	net_open(&net, 0, 0);
	add(&net, "10.0.0.1/24", "10.0.0.2/24");
	assert_int_equal(uroce_ping(net.context[0], "10.0.0.2", TIMEOUT_MS), 0);
	assert_int_equal(uroce_ping(net.context[1], "10.0.0.1", TIMEOUT_MS), 0);
	assert_int_equal(test_counter(net.context[0], "echo_answered"), 1);
	assert_int_equal(test_counter(net.context[1], "echo_answered"), 1);
	net_close(&net);
}

static void
test_ipv6(void **state)
{
	struct net net;

	net_open(&net, 0, 0);
	add(&net, "fd00::1/64", "fd00::2/64");
	assert_int_equal(uroce_ping(net.context[0], "fd00::2", TIMEOUT_MS), 0);
	assert_int_equal(uroce_ping(net.context[1], "fd00::1", TIMEOUT_MS), 0);
	assert_true(test_counter(net.context[0], "nd_answered") >= 1);
	net_close(&net);
}

static void
test_link_local(void **state)
{
	char text[64];
	union ibv_gid gid;
	struct net net;

	net_open(&net, 0, 0);
	assert_int_equal(uroce_query_gid(net.context[1], 1, 0, &gid), 0);
	uroce_gid_format(gid.raw, text, sizeof(text));
	assert_memory_equal(text, "fe80::", 6);
	assert_int_equal(uroce_ping(net.context[0], text, TIMEOUT_MS), 0);
	net_close(&net);
}

static void
test_vlan(void **state)
{
	struct net net;

	net_open(&net, 42, 42);
	add(&net, "10.0.0.1/24", "10.0.0.2/24");
	add(&net, "fd00::1/64", "fd00::2/64");
	assert_int_equal(uroce_ping(net.context[0], "10.0.0.2", TIMEOUT_MS), 0);
	assert_int_equal(uroce_ping(net.context[0], "fd00::2", TIMEOUT_MS), 0);
	net_close(&net);
}

static void
test_other_vlan(void **state)
{
	struct net net;

	net_open(&net, 42, 43);
	add(&net, "10.0.0.1/24", "10.0.0.2/24");
	assert_int_equal(uroce_ping(net.context[0], "10.0.0.2", 20), ETIMEDOUT);
	assert_true(test_counter(net.context[1], "drop_vlan") > 0);
	net_close(&net);
}

static void
test_gateway(void **state)
{
	struct net net;

	net_open(&net, 0, 0);
	add(&net, "10.0.0.1/24", "10.0.0.254/24");
	assert_int_equal(uroce_add_address(net.context[1], "192.168.7.1/24"), 0);
	assert_int_equal(uroce_ping(net.context[0], "192.168.7.1", TIMEOUT_MS), ENETUNREACH);
	assert_int_equal(uroce_set_gateway(net.context[0], "10.0.0.254"), 0);
	assert_int_equal(uroce_set_gateway(net.context[1], "10.0.0.1"), 0);
	assert_int_equal(uroce_ping(net.context[0], "192.168.7.1", TIMEOUT_MS), 0);
	net_close(&net);
}

static void
test_errors(void **state)
{
	struct net net;

	net_open(&net, 0, 0);
	add(&net, "10.0.0.1/24", "10.0.0.2/24");
	assert_int_equal(uroce_ping(net.context[0], "10.0.0.1", 0), 0);
	assert_int_equal(uroce_ping(net.context[0], "nonsense", 0), EINVAL);
	assert_int_equal(uroce_ping(net.context[0], "224.0.0.1", 0), EINVAL);
	assert_int_equal(uroce_ping(net.context[0], "fd00::1", 0), ENETUNREACH);
	assert_int_equal(uroce_ping(net.context[0], "10.0.0.9", 20), ETIMEDOUT);
	net_close(&net);
}

UROCE_TESTS(port_ping)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),       cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_link_local), cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_other_vlan), cmocka_unit_test(test_gateway),
		cmocka_unit_test(test_errors),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
