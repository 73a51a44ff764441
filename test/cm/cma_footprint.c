/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Prints the memory of one end of a connection without its QP: its ID and its state in the communication manager, for
 * doc/reference/memory.rst. Fails above a limit.
 */

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cma_world.h"
#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"

#define PAIRS 256
#define LIMIT_BYTES 2560 /* per end */

static struct rdma_event_channel *channel;
static struct rdma_cm_id *ids[2 * PAIRS];

/* Connect two ends without QPs, by QP numbers that the test chooses. */
static void
connect_pair(unsigned int i)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1, .qp_num = 2 + 2 * i };

	ids[2 * i] = world_resolved(channel, 2, 7174, RDMA_PS_TCP);
	ids[2 * i + 1] = world_request(channel, ids[2 * i], &param);
	param.qp_num++;
	assert_int_equal(uroce_rdma_accept(ids[2 * i + 1], &param), 0);
	assert_int_equal(uroce_rdma_establish(world_take(channel, RDMA_CM_EVENT_CONNECT_RESPONSE, 0)), 0);
	world_take(channel, RDMA_CM_EVENT_ESTABLISHED, 0);
}

static void
destroy_all(void)
{
	for (unsigned int i = 0; i < 2 * PAIRS; i++)
		assert_int_equal(uroce_rdma_destroy_id(ids[i]), 0);
	/* connections stay in TIMEWAIT after their IDs are destroyed */
	world_pass(120000 * WORLD_MS);
}

static void
test_footprint(void **state)
{
	struct rdma_cm_id *listener;
	size_t before, each;

	channel = world_channel();
	listener = world_listener(channel, 0, 7174, RDMA_PS_TCP, 0);
	before = mallinfo2().uordblks;
	for (unsigned int i = 0; i < PAIRS; i++)
		connect_pair(i);
	each = (mallinfo2().uordblks - before) / (2 * PAIRS);
	printf("%-32s %6zu bytes\n", "end of a connection", each);
	assert_uint_in_range(each, 0, LIMIT_BYTES); /* a sanitizer's allocator reports 0 */
	destroy_all();
	assert_int_equal(uroce_rdma_destroy_id(listener), 0);
	uroce_rdma_destroy_event_channel(channel);
}

UROCE_TESTS(cma_footprint)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_footprint, world_setup, world_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
