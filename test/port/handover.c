/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Frames on the queue of a worker that does not have their QP, RC end to end: that worker hands them over to the QP's
 * worker, whether it is polled or not.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "eal.h"
#include "groups.h"
#include "net.h"
#include "port/worker/pool.h"

#define SPINS 500000u

/* A device with two queues receives all frames on the queue of the worker that does not have the QP. */
static void
test_handover(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	struct net net = { 0 };

	test_rings_create_funnel(&net.wire[0], &net.wire[1]);
	net_run_handed_over(&net, &conf);
}

/* Poll some workers until a completion comes. @return false after many polls */
static bool
poll_for_wc(struct uroce_worker *const *workers, unsigned int n, struct end *e, struct ibv_wc *wc)
{
	for (unsigned int i = 0; i < SPINS; i++) {
		if (uroce_poll_cq(e->cq, 1, wc) == 1)
			return true;
		test_poll(workers, n, 1);
	}
	return false;
}

/* Retransmit after a millisecond. */
static void
set_short_timeout(struct end *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .timeout = 8 };

	assert_int_equal(uroce_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(uroce_modify_qp(e->qp, &attr, IBV_QP_TIMEOUT), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
}

/* A worker that is not polled delays its own QPs only: frames for it do not take all mbufs. */
static void
test_handover_to_nobody(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	struct uroce_worker *asleep, *awake[2];
	struct end to[4], from[4];
	struct test_rings wire[2];
	struct ibv_context *a, *b;
	struct net net = { 0 };
	struct ibv_wc wc;

	test_rings_create_funnel(&wire[0], &wire[1]);
	net_create_workers(&net, 2);
	asleep = uroce_create_worker(-1);
	assert_non_null(asleep);
	awake[0] = net.workers[0];
	awake[1] = net.workers[1];
	a = uroce_open_port(wire[0].port_id, &conf, (struct uroce_worker *[]){ awake[0], asleep },
			    2);
	b = uroce_open_port(wire[1].port_id, &conf, &awake[1], 1);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(uroce_add_address(a, "10.0.0.1/24"), 0);
	assert_int_equal(uroce_add_address(b, "10.0.0.2/24"), 0);
	for (unsigned int i = 0; i < RTE_DIM(to); i++) {
		end_open_on(&to[i], a, END_MEMORY_MALLOC, (int)i % 2);
		end_open(&from[i], b, END_MEMORY_MALLOC);
		end_connect(&to[i], &from[i]);
		end_connect(&from[i], &to[i]);
	}
	for (unsigned int i = 1; i < RTE_DIM(to); i += 2) { /* to the worker that is not polled */
		set_short_timeout(&from[i]);
		for (unsigned int j = 0; j < 32; j++)
			end_post(&from[i], IBV_WR_RDMA_WRITE, &to[i], END_BYTES, 0);
		assert_true(poll_for_wc(awake, 2, &from[i], &wc));
		assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	}
	end_post(&from[0], IBV_WR_RDMA_WRITE, &to[0], END_BYTES, 0);
	assert_true(poll_for_wc(awake, 2, &from[0], &wc));
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_true(test_counter(a, "drop_handover") > 0);
	for (unsigned int i = 0; i < RTE_DIM(to); i++) {
		end_close(&to[i]);
		end_close(&from[i]);
	}
	assert_int_equal(uroce_close_device(a), 0);
	assert_int_equal(uroce_close_device(b), 0);
	net_destroy_workers(&net);
	assert_int_equal(uroce_destroy_worker(asleep), 0);
	rte_eth_dev_close(wire[1].port_id);
	test_rings_destroy(&wire[0]);
	assert_int_equal(uroce_pools_retired(), 0);
}

UROCE_TESTS(port_handover)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handover),
		cmocka_unit_test(test_handover_to_nobody),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
