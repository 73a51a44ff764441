/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * RDMA_PS_UDP: SIDR requests that are accepted, rejected, or not answered.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

#include <cmocka.h>

#include "cma_fixture.h"
#include "eal.h"
#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"

static void
test_exchange(void **state)
{
	struct rdma_conn_param param = { .private_data = "who?", .private_data_len = 5 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 900, RDMA_PS_UDP, 0);
	struct rdma_cm_id *client = world_resolved(channel, 2, 900, RDMA_PS_UDP), *server;
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr;

	world_qp(client);
	assert_int_equal(world_qp_state(client, &attr), IBV_QPS_RTS);
	assert_int_equal(attr.qkey, RDMA_UDP_QKEY);
	assert_int_equal(uroce_rdma_connect(client, &param), 0);
	event = world_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	server = event->id;
	assert_ptr_equal(event->listen_id, listener);
	assert_int_equal(event->param.ud.private_data_len, 180);
	assert_string_equal(event->param.ud.private_data, "who?");
	assert_ptr_equal(server->verbs, world_context(1));
	assert_int_equal(server->qp_type, IBV_QPT_UD);
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	world_qp(server);
	param.private_data = "me";
	param.private_data_len = 3;
	assert_int_equal(uroce_rdma_accept(server, &param), 0);
	event = world_event(channel, RDMA_CM_EVENT_ESTABLISHED);
	assert_ptr_equal(event->id, client);
	assert_int_equal(event->status, 0);
	assert_int_equal(event->param.ud.qp_num, server->qp->qp_num);
	assert_int_equal(event->param.ud.qkey, RDMA_UDP_QKEY);
	assert_int_equal(event->param.ud.private_data_len, 136);
	assert_string_equal(event->param.ud.private_data, "me");
	assert_int_equal(event->param.ud.ah_attr.is_global, 1);
	assert_int_equal(event->param.ud.ah_attr.port_num, 1);
	assert_int_equal(event->param.ud.ah_attr.grh.dgid.raw[15], 2);
	assert_int_equal(event->param.ud.ah_attr.grh.sgid_index, 0);
	assert_int_equal(event->param.ud.ah_attr.grh.hop_limit, UROCE_CMA_HOP_LIMIT);
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	world_no_event(channel);
	fails(uroce_rdma_accept(server, &param), EINVAL);
	fails(uroce_rdma_disconnect(client), EINVAL);
	uroce_rdma_destroy_ep(client);
	uroce_rdma_destroy_ep(server);
	destroy(listener);
}

static void
test_rejected(void **state)
{
	struct rdma_conn_param param = { .qp_num = 7 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 900, RDMA_PS_UDP, 0);
	struct rdma_cm_id *client = world_resolved(channel, 2, 900, RDMA_PS_UDP), *server;

	server = world_request(channel, client, &param);
	assert_int_equal(uroce_rdma_reject(server, NULL, 0), 0);
	world_take(channel, RDMA_CM_EVENT_UNREACHABLE, UROCE_CM_SIDR_REJECT);
	destroy(server);
	destroy(client);
	destroy(listener);
	/* no listener */
	client = world_resolved(channel, 2, 900, RDMA_PS_UDP);
	assert_int_equal(uroce_rdma_connect(client, &param), 0);
	world_take(channel, RDMA_CM_EVENT_UNREACHABLE, UROCE_CM_SIDR_UNSUPPORTED);
	destroy(client);
}

static bool
lose_all(const uint8_t *mad)
{
	return true;
}

static void
test_unanswered(void **state)
{
	struct rdma_cm_id *client = world_resolved(channel, 2, 900, RDMA_PS_UDP);

	world.lose = lose_all;
	assert_int_equal(uroce_rdma_connect(client, NULL), 0);
	world_pass(200000 * WORLD_MS);
	world_take(channel, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	assert_int_equal(world.mads, 1 + UROCE_CMA_MAX_RETRIES);
	destroy(client);
}

static void
test_parameters(void **state)
{
	uint8_t data[181] = { 0 };
	struct rdma_conn_param param = { .private_data = data, .private_data_len = 181 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 900, RDMA_PS_UDP, 0);
	struct rdma_cm_id *client = world_resolved(channel, 2, 900, RDMA_PS_UDP), *server;

	fails(uroce_rdma_connect(client, &param), EINVAL);
	param.private_data_len = 180;
	server = world_request(channel, client, &param);
	param.private_data_len = 137;
	fails(uroce_rdma_accept(server, &param), EINVAL);
	fails(uroce_rdma_accept(server, NULL), EINVAL);
	param.private_data_len = 136;
	param.qp_num = 9;
	assert_int_equal(uroce_rdma_accept(server, &param), 0);
	world_take(channel, RDMA_CM_EVENT_ESTABLISHED, 0);
	destroy(client);
	destroy(server);
	destroy(listener);
}

/* A request to a port in the other port space finds no listener. */
static void
test_spaces_apart(void **state)
{
	struct rdma_conn_param param = { .qp_num = 7 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 900, RDMA_PS_UDP, 0);
	struct rdma_cm_id *client = world_resolved(channel, 2, 900, RDMA_PS_TCP);

	assert_int_equal(uroce_rdma_connect(client, &param), 0);
	world_take(channel, RDMA_CM_EVENT_REJECTED, UROCE_CM_REJ_INVALID_SERVICE_ID);
	destroy(client);
	destroy(listener);
}

UROCE_TESTS(cma_datagram)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, channel_setup, channel_teardown)
	const struct CMUnitTest tests[] = {
		TEST(exchange),   TEST(rejected),     TEST(unanswered),
		TEST(parameters), TEST(spaces_apart),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
