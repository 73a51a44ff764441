/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The statistics of a device: each counter appears once, as the sum over queues and workers.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "eal.h"
#include "groups.h"
#include "port/counters.h"
#include "port/port.h"
#include "port/worker/worker.h"
#include "rings.h"

#define ALL (UROCE_PORT_COUNTER_COUNT + UROCE_ENGINE_COUNTER_COUNT + UROCE_VERDICT_COUNT)

static struct test_rings rings;
static struct uroce_worker *workers[2];
static struct ibv_context *context;
static struct uroce_port *port;

/* Two queues and two workers that are not polled, so that only the test counts. */
static int
setup(void **state)
{
	test_rings_create(&rings, RTE_DIM(workers));
	for (unsigned int i = 0; i < RTE_DIM(workers); i++) {
		workers[i] = uroce_create_worker(-1);
		assert_non_null(workers[i]);
	}
	context = uroce_open_port(rings.port_id, NULL, workers, RTE_DIM(workers));
	assert_non_null(context);
	port = uroce_port_of_context(context);
	return 0;
}

static int
teardown(void **state)
{
	assert_int_equal(uroce_close_device(context), 0);
	for (unsigned int i = 0; i < RTE_DIM(workers); i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	test_rings_destroy(&rings);
	return 0;
}

static void
test_names(void **state)
{
	struct uroce_counter counters[ALL];

	assert_int_equal(uroce_query_counters(context, counters, ALL), ALL);
	for (unsigned int i = 0; i < ALL; i++) {
		assert_non_null(counters[i].name);
		assert_true(strlen(counters[i].name) > 0);
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(counters[i].name, counters[j].name);
	}
	assert_string_equal(counters[0].name, "rx_frames");
}

/* The call returns the number of counters, and writes only as many as there is room for. */
static void
test_room(void **state)
{
	struct uroce_counter counters[ALL];

	assert_int_equal(uroce_query_counters(context, NULL, 0), ALL);
	for (unsigned int room = 0; room < ALL; room++) {
		memset(counters, 0, sizeof(counters));
		assert_int_equal(uroce_query_counters(context, counters, room), ALL);
		for (unsigned int i = 0; i < ALL; i++)
			assert_int_equal(counters[i].name != NULL, i < room);
	}
}

static void
test_sum_of_queues(void **state)
{
	uroce_counter_add(&port->queues[0].counters[UROCE_PORT_RX_FRAMES], 5);
	uroce_counter_add(&port->queues[1].counters[UROCE_PORT_RX_FRAMES], 7);
	uroce_counter_add(&port->queues[1].counters[UROCE_PORT_RX_FRAMES], 1);
	assert_int_equal(test_counter(context, "rx_frames"), 13);
	assert_int_equal(test_counter(context, "tx_frames"), 0);
	/* all 64 bits of the sum */
	uroce_counter_add(&port->queues[0].counters[UROCE_PORT_TX_FRAMES], UINT64_C(1) << 40);
	assert_int_equal(test_counter(context, "tx_frames"), UINT64_C(1) << 40);
}

/* Drops of the neighbor table and of the queues count as one counter. */
static void
test_unresolved(void **state)
{
	uroce_counter_add(&port->queues[1].counters[UROCE_PORT_TX_DROP_UNRESOLVED], 2);
	uroce_counter_add(&port->neighbors.dropped, 3);
	assert_int_equal(test_counter(context, "tx_drop_unresolved"), 5);
	assert_int_equal(test_counter(context, "tx_drop_local"), 0);
}

/* The port or the engine may drop a frame for the same reason. */
static void
test_verdicts(void **state)
{
	for (unsigned int i = 0; i < UROCE_VERDICT_COUNT; i++) {
		uint64_t before = test_counter(context, uroce_verdicts[i].name);

		uroce_counter_add(&port->queues[0].verdicts[i], 1);
		uroce_counter_add(&port->queues[1].verdicts[i], 10);
		uroce_counter_add(&workers[0]->engine.verdicts[i], 100);
		uroce_counter_add(&workers[1]->engine.verdicts[i], 1000);
		assert_int_equal(test_counter(context, uroce_verdicts[i].name), before + 1111);
	}
}

static void
test_engines(void **state)
{
	for (unsigned int i = 0; i < UROCE_ENGINE_COUNTER_COUNT; i++) {
		uint64_t before = test_counter(context, uroce_engine_counter_names[i]);

		uroce_counter_add(&workers[0]->engine.counters[i], 4);
		uroce_counter_add(&workers[1]->engine.counters[i], i);
		assert_int_equal(test_counter(context, uroce_engine_counter_names[i]),
				 before + 4 + i);
	}
}

UROCE_TESTS(port_counters)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sum_of_queues, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unresolved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verdicts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_engines, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
