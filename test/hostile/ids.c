/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The numbers of connection management: communication IDs, transaction IDs, first PSNs and ports. For 100,000 of each,
 * in use and drawn again, the next is unpredictable.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "cma_world.h"
#include "cm/ib/internal.h"
#include "cmocka_compat.h"
#include "eal.h"
#include "base/random.h"
#include "groups.h"
#include "pair.h"
#include "statistics.h"
#include "uroce_config.h"

#define DRAWS 100000
#define HELD  64

static uint32_t values[DRAWS], upper[DRAWS], ids[DRAWS];
static struct test_pair pair;

static void
expect_unpredictable(const uint32_t *drawn, unsigned int bits)
{
	const char *wrong = statistics_check(drawn, DRAWS, bits);

	if (wrong != NULL)
		fail_msg("%s", wrong);
}

static void
start_pair(void)
{
	test_pair_init_max(&pair, 1, 1u << 17);
	uroce_random_seed(0); /* seeded from the kernel, as in use */
	pair.cut[TEST_CLIENT] = pair.cut[TEST_SERVER] = true;
}

static void
communication_ids(void **state)
{
	static struct uroce_cm_conn *conns[DRAWS];

	start_pair();
	for (unsigned int i = 0; i < DRAWS; i++) {
		conns[i] = uroce_cm_conn_create(pair.end[0].cm, NULL);
		assert_non_null(conns[i]);
		values[i] = conns[i]->local_id;
	}
	expect_unpredictable(values, 32);
	for (unsigned int i = 0; i < DRAWS; i++)
		uroce_cm_conn_destroy(conns[i], pair.now_ns);
	test_pair_fini(&pair);
}

/* A connection that is created and destroyed again and again gets another ID each time. */
static void
communication_ids_drawn_again(void **state)
{
	struct uroce_cm_conn *conns[HELD] = { NULL };

	start_pair();
	for (unsigned int i = 0; i < DRAWS; i++) {
		if (conns[i % HELD] != NULL)
			uroce_cm_conn_destroy(conns[i % HELD], pair.now_ns);
		conns[i % HELD] = uroce_cm_conn_create(pair.end[0].cm, NULL);
		values[i] = conns[i % HELD]->local_id;
	}
	expect_unpredictable(values, 32);
	for (unsigned int i = 0; i < HELD; i++)
		uroce_cm_conn_destroy(conns[i], pair.now_ns);
	test_pair_fini(&pair);
}

/* Both halves, as on the wire. */
static void
transaction_ids(void **state)
{
	uint64_t tid;

	start_pair();
	for (unsigned int i = 0; i < DRAWS; i++) {
		struct uroce_cm_conn *conn = test_end_connect(&pair.end[TEST_CLIENT],
							      100 + i % 1000);
		const uint8_t *mad = pair.last[TEST_SERVER].bytes;

		tid = rte_be_to_cpu_64(uroce_cm_header_const(mad)->tid);
		values[i] = (uint32_t)tid;
		upper[i] = (uint32_t)(tid >> 32);
		ids[i] = (uint32_t)uroce_cm_get(mad, REQ, LOCAL_COMM_ID);
		uroce_cm_conn_destroy(conn, pair.now_ns);
	}
	expect_unpredictable(values, 32);
	expect_unpredictable(upper, 32);
	expect_unpredictable(ids, 32);
	test_pair_fini(&pair);
}

static void
first_psns(void **state)
{
	struct rdma_event_channel *channel;

	assert_int_equal(world_setup(state), 0);
	channel = world_channel();
	for (unsigned int i = 0; i < DRAWS; i++) {
		struct rdma_cm_id *id = world_id(channel, RDMA_PS_TCP);

		values[i] = uroce_cma_id_of(id)->starting_psn;
		assert_int_equal(uroce_rdma_destroy_id(id), 0);
	}
	expect_unpredictable(values, 24);
	uroce_rdma_destroy_event_channel(channel);
	assert_int_equal(world_teardown(state), 0);
}

/* Ports of rdma_cm are 32768 to 60999: the lower 14 bits, without the last, shorter block. */
static void
rdma_cm_ports(void **state)
{
	struct rdma_event_channel *channel;
	unsigned int n = 0;

	assert_int_equal(world_setup(state), 0);
	channel = world_channel();
	while (n < DRAWS) {
		struct rdma_cm_id *id = world_id(channel, RDMA_PS_TCP);
		uint16_t port;

		assert_int_equal(uroce_rdma_bind_addr(id, world_v4(1, 0)), 0);
		port = rte_be_to_cpu_16(uroce_rdma_get_src_port(id));
		assert_uint_in_range(port, UROCE_CMA_FIRST_PORT, UROCE_CMA_LAST_PORT);
		if (port < UROCE_CMA_FIRST_PORT + (1 << 14))
			values[n++] = port;
		assert_int_equal(uroce_rdma_destroy_id(id), 0);
	}
	expect_unpredictable(values, 14);
	uroce_rdma_destroy_event_channel(channel);
	assert_int_equal(world_teardown(state), 0);
}

UROCE_TESTS(hostile_ids)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(communication_ids),
		cmocka_unit_test(communication_ids_drawn_again),
		cmocka_unit_test(transaction_ids),
		cmocka_unit_test(first_psns),
		cmocka_unit_test(rdma_cm_ports),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
