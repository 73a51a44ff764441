/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * RC end to end over ports of the process: SEND, WRITE, READ and atomics; on a wire and looped back, with one worker
 * and with two, and while control calls create and destroy objects.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_lcore.h>

#include "eal.h"
#include "groups.h"
#include "net.h"
#include "port/worker/pool.h"

static void
test_wire(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	struct net net;

	net_open(&net, &conf, 1, "10.0.0.1/24", "10.0.0.2/24");
	net_run_operations(&net);
	assert_true(test_counter(net.ends[0].context, "zero_copy_packets") > 0);
	assert_int_equal(test_counter(net.ends[0].context, "loopback_frames"), 0);
	net_close(&net);
}

static void
test_wire_two_workers(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	struct net net;

	net_open(&net, &conf, 2, "10.0.0.1/24", "10.0.0.2/24");
	net_run_operations(&net);
	net_close(&net);
}

static void
test_wire_ipv6_vlan(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1, .vlan = 7 };
	struct net net;

	net_open(&net, &conf, 1, "fd00::1/64", "fd00::2/64");
	net_run_operations(&net);
	net_close(&net);
}

static void
test_wire_threads(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	unsigned int lcore = rte_get_next_lcore((unsigned int)-1, 1, 0);
	struct net net;

	net_open(&net, &conf, 2, "10.0.0.1/24", "10.0.0.2/24");
	for (unsigned int i = 0; i < 2; i++, lcore = rte_get_next_lcore(lcore, 1, 0))
		assert_int_equal(uroce_worker_launch(net.workers[i], lcore), 0);
	assert_int_equal(uroce_worker_launch(net.workers[0], lcore), EINVAL);
	assert_int_equal(uroce_destroy_worker(net.workers[0]), EBUSY);
	net.threads = true;
	for (unsigned int i = 0; i < 20; i++)
		net_run_operations(&net);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_worker_stop(net.workers[i]), 0);
	assert_int_equal(uroce_worker_stop(net.workers[0]), EINVAL);
	net_close(&net);
}

/* While two lcores poll and carry traffic, control calls create and destroy all other objects. */
static void
test_control_under_load(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	unsigned int lcore = rte_get_next_lcore((unsigned int)-1, 1, 0);
	struct uroce_counter counters[8];
	struct test_rings extra;
	struct net net;

	net_open(&net, &conf, 2, "10.0.0.1/24", "10.0.0.2/24");
	test_rings_create(&extra, 1);
	for (unsigned int i = 0; i < 2; i++, lcore = rte_get_next_lcore(lcore, 1, 0))
		assert_int_equal(uroce_worker_launch(net.workers[i], lcore), 0);
	net.threads = true;
	for (unsigned int i = 0; i < 20; i++) {
		struct end *a = &net.ends[0], other;
		struct ibv_context *context;

		end_fill(a, i);
		end_post(a, IBV_WR_RDMA_WRITE, &net.ends[1], END_BYTES, 0);
		context = uroce_open_port(extra.port_id, NULL, net.workers, 1);
		assert_non_null(context);
		assert_int_equal(uroce_add_address(context, "10.1.0.1/24"), 0);
		end_open(&other, context, END_MEMORY_DPDK);
		assert_int_equal(uroce_add_address(a->context, "10.2.0.1/24"), 0);
		assert_int_equal(uroce_ping(a->context, "10.0.0.2", 60000), 0);
		assert_true(uroce_query_counters(context, counters, RTE_DIM(counters)) >
			    RTE_DIM(counters));
		assert_int_equal(uroce_del_address(a->context, "10.2.0.1/24"), 0);
		assert_int_equal(uroce_close_device(context), EBUSY);
		end_close(&other);
		assert_int_equal(uroce_close_device(context), 0);
		net_expect_ok(&net, a, IBV_WC_RDMA_WRITE);
		assert_memory_equal(a->buffer, net.ends[1].buffer, END_BYTES);
	}
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_worker_stop(net.workers[i]), 0);
	test_rings_destroy(&extra);
	net_close(&net);
}

/* Two devices of the process communicate without a wire. */
static void
test_loopback_devices(void **state)
{
	struct net net;

	net_open(&net, NULL, 2, "10.0.0.1/24", "192.168.0.1/24");
	net_run_operations(&net);
	assert_true(test_counter(net.ends[0].context, "loopback_frames") > 0);
	/* announcements only, no payload */
	assert_true(test_counter(net.ends[0].context, "tx_frames") < 10);
	net_close(&net);
}

/* Two QPs of one device on two workers, without a peer on the wire. */
static void
test_loopback_self(void **state)
{
	struct ibv_context *context;
	struct net net = { 0 };

	test_rings_create(&net.wire[0], 2);
	net_create_workers(&net, 2);
	context = uroce_open_port(net.wire[0].port_id, NULL, net.workers, 2);
	assert_non_null(context);
	assert_int_equal(uroce_add_address(context, "10.0.0.1/24"), 0);
	for (unsigned int i = 0; i < 2; i++)
		end_open(&net.ends[i], context, END_MEMORY_DPDK);
	net_connect(&net);
	net_run_operations(&net);
	assert_true(test_counter(context, "loopback_frames") > 0);
	assert_int_equal(uroce_close_device(context), EBUSY);
	net_run_operations(&net); /* traffic still works */
	for (unsigned int i = 0; i < 2; i++)
		end_close(&net.ends[i]);
	assert_int_equal(uroce_close_device(context), 0);
	net_destroy_workers(&net);
	test_rings_destroy(&net.wire[0]);
	assert_int_equal(uroce_pools_retired(), 0);
}

UROCE_TESTS(port_rc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wire),
		cmocka_unit_test(test_wire_two_workers),
		cmocka_unit_test(test_wire_ipv6_vlan),
		cmocka_unit_test(test_loopback_devices),
		cmocka_unit_test(test_loopback_self),
		cmocka_unit_test(test_wire_threads),
		cmocka_unit_test(test_control_under_load),
	};

	test_eal_init("--lcores", "0,1@(0-1),2@(0-1)", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
