/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Ten thousand connections are established and closed at once, twice: each event arrives, and nothing leaks.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

#include <cmocka.h>

#include <malloc.h>

#include "cma_world.h"
#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"

#define MANY 10000

static struct rdma_event_channel *clients_channel, *servers_channel;
static struct rdma_cm_id *clients[MANY], *servers[MANY];

static unsigned int
index_of(const struct rdma_cm_id *id)
{
	return (unsigned int)((uintptr_t)id->context - 1);
}

static void
connect_all(void)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };

	for (unsigned int i = 0; i < MANY; i++) {
		assert_int_equal(uroce_rdma_create_id(clients_channel, &clients[i],
						      (void *)(uintptr_t)(i + 1), RDMA_PS_TCP),
				 0);
		assert_int_equal(uroce_rdma_resolve_addr(clients[i], NULL, world_v4(2, 7174), 1000),
				 0);
	}
	for (unsigned int i = 0; i < MANY; i++) {
		struct rdma_cm_id *id = world_take(clients_channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);

		assert_int_equal(uroce_rdma_resolve_route(id, 1000), 0);
	}
	for (unsigned int i = 0; i < MANY; i++) {
		struct rdma_cm_id *id = world_take(clients_channel, RDMA_CM_EVENT_ROUTE_RESOLVED,
						   0);

		param.qp_num = 2 + index_of(id);
		assert_int_equal(uroce_rdma_connect(id, &param), 0);
	}
	for (unsigned int i = 0; i < MANY; i++) {
		servers[i] = world_take(servers_channel, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
		param.qp_num = 2 + MANY + i;
		assert_int_equal(uroce_rdma_accept(servers[i], &param), 0);
	}
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(uroce_rdma_establish(world_take(
					 clients_channel, RDMA_CM_EVENT_CONNECT_RESPONSE, 0)),
				 0);
	for (unsigned int i = 0; i < MANY; i++)
		world_take(servers_channel, RDMA_CM_EVENT_ESTABLISHED, 0);
}

static void
disconnect_all(void)
{
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(uroce_rdma_disconnect(clients[i]), 0);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(uroce_rdma_disconnect(world_take(servers_channel,
								  RDMA_CM_EVENT_DISCONNECTED, 0)),
				 0);
	for (unsigned int i = 0; i < MANY; i++)
		world_take(clients_channel, RDMA_CM_EVENT_DISCONNECTED, 0);
	world_no_event(clients_channel);
	world_no_event(servers_channel);
	for (unsigned int i = 0; i < MANY; i++) {
		assert_int_equal(uroce_rdma_destroy_id(clients[i]), 0);
		assert_int_equal(uroce_rdma_destroy_id(servers[i]), 0);
	}
	/* connections stay in TIMEWAIT after their IDs are destroyed */
	world_pass(120000 * WORLD_MS);
}

static void
test_many(void **state)
{
	struct rdma_cm_id *listener;
	size_t before;

	clients_channel = world_channel();
	servers_channel = world_channel();
	listener = world_listener(servers_channel, 0, 7174, RDMA_PS_TCP, 0);
	connect_all();
	disconnect_all();
	before = mallinfo2().uordblks;
	connect_all();
	disconnect_all();
	/* as much as before, except the C library's own use */
	assert_uint_in_range(mallinfo2().uordblks, 0, before + 65536);
	assert_int_equal(uroce_rdma_destroy_id(listener), 0);
	uroce_rdma_destroy_event_channel(clients_channel);
	uroce_rdma_destroy_event_channel(servers_channel);
}

UROCE_TESTS(cma_many)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_many, world_setup, world_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
