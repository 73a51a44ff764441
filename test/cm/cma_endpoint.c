/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Synchronous IDs and endpoints, with a thread for each end: each call waits for its result, or returns its error.
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

#define setup    world_setup_threaded
#define teardown world_teardown

static const struct ibv_qp_init_attr plain = {
	.cap = { .max_send_wr = 3, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
};

static struct rdma_addrinfo *
address(const char *node, const char *service, int flags, int ps)
{
	const struct rdma_addrinfo hints = { .ai_flags = flags | RAI_NUMERICHOST,
					     .ai_port_space = ps };
	struct rdma_addrinfo *res;

	assert_int_equal(uroce_rdma_getaddrinfo(node, service, &hints, &res), 0);
	return res;
}

struct server {
	pthread_t thread;
	struct rdma_cm_id *listener;
	int requests;
	bool reject;
};

static struct rdma_cm_id *
endpoint(const char *node, const char *service, int flags, int ps)
{
	struct rdma_addrinfo *res = address(node, service, flags, ps);
	struct ibv_qp_init_attr attr = plain;
	struct rdma_cm_id *id = NULL;

	assert_int_equal(uroce_rdma_create_ep(&id, res, NULL, &attr), 0);
	uroce_rdma_freeaddrinfo(res);
	return id;
}

static void *
serve(void *arg)
{
	struct server *s = arg;
	struct rdma_cm_id *id;

	for (int i = 0; i < s->requests; i++) {
		assert_int_equal(uroce_rdma_get_request(s->listener, &id), 0);
		assert_non_null(id->qp);
		assert_non_null(id->event);
		assert_int_equal(id->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
		if (s->reject) {
			assert_int_equal(uroce_rdma_reject(id, NULL, 0), 0);
		} else {
			assert_int_equal(uroce_rdma_accept(id, NULL), 0);
			assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
			assert_int_equal(uroce_rdma_disconnect(id), 0);
		}
		uroce_rdma_destroy_ep(id);
	}
	return NULL;
}

static void
start_server(struct server *s, int requests, bool reject)
{
	s->listener = endpoint("10.0.0.2", "7174", RAI_PASSIVE, RDMA_PS_TCP);
	s->requests = requests;
	s->reject = reject;
	assert_null(s->listener->qp);
	assert_int_equal(uroce_rdma_listen(s->listener, 0), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void
stop_server(struct server *s)
{
	pthread_join(s->thread, NULL);
	uroce_rdma_destroy_ep(s->listener);
}

static void
test_connect(void **state)
{
	struct server s;
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7 };

	start_server(&s, 3, false);
	for (int i = 0; i < 3; i++) {
		struct rdma_cm_id *id = endpoint("10.0.0.2", "7174", 0, RDMA_PS_TCP);
		struct ibv_qp_attr attr;

		assert_int_equal(id->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
		assert_int_equal(uroce_rdma_connect(id, i == 0 ? NULL : &param), 0);
		assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
		assert_int_equal(world_qp_state(id, &attr), IBV_QPS_RTS);
		assert_int_equal(uroce_rdma_disconnect(id), 0);
		uroce_rdma_destroy_ep(id);
	}
	stop_server(&s);
}

static void
test_refused(void **state)
{
	struct server s;
	struct rdma_cm_id *id;

	start_server(&s, 1, true);
	id = endpoint("10.0.0.2", "7174", 0, RDMA_PS_TCP);
	fails(uroce_rdma_connect(id, NULL), ECONNREFUSED);
	assert_int_equal(id->event->status, UROCE_CM_REJ_CONSUMER_DEFINED);
	uroce_rdma_destroy_ep(id);
	stop_server(&s);
	id = endpoint("10.0.0.2", "7174", 0, RDMA_PS_TCP);
	fails(uroce_rdma_connect(id, NULL), ECONNREFUSED);
	uroce_rdma_destroy_ep(id);
}

static void
test_errors(void **state)
{
	struct rdma_addrinfo *res = address("192.168.0.1", "1", 0, RDMA_PS_TCP);
	struct rdma_addrinfo *free_port = address("10.0.0.1", "77", RAI_PASSIVE, RDMA_PS_TCP);
	struct rdma_cm_id *id = NULL, *other = NULL;
	struct ibv_qp_init_attr attr = plain;

	fails(uroce_rdma_create_ep(&id, res, NULL, NULL), ENETUNREACH);
	assert_null(id);
	uroce_rdma_freeaddrinfo(res);
	assert_int_equal(uroce_rdma_create_ep(&id, free_port, NULL, NULL), 0);
	fails(uroce_rdma_create_ep(&other, free_port, NULL, &attr), EADDRINUSE);
	uroce_rdma_destroy_ep(id);
	uroce_rdma_freeaddrinfo(free_port);

	world.resolve = -EHOSTUNREACH;
	res = address("10.0.0.100", "1", 0, RDMA_PS_TCP);
	fails(uroce_rdma_create_ep(&id, res, NULL, NULL), EHOSTUNREACH);
	world.resolve = -EINPROGRESS;
	fails(uroce_rdma_create_ep(&id, res, NULL, NULL), ETIMEDOUT);
	res->ai_port_space = 99;
	fails(uroce_rdma_create_ep(&id, res, NULL, NULL), EINVAL);
	uroce_rdma_freeaddrinfo(res);
}

/* Private data of the address information comes before the application's. */
static void
test_connect_data(void **state)
{
	struct rdma_event_channel *channel = uroce_rdma_create_event_channel();
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0), *id;
	struct rdma_addrinfo *res = address("10.0.0.2", "7174", 0, RDMA_PS_TCP);
	struct rdma_conn_param param = { .private_data = "last",
					 .private_data_len = 5,
					 .qp_num = 3 };
	struct rdma_cm_event *event;
	int ret;

	res->ai_connect = strdup("first-");
	res->ai_connect_len = 6;
	assert_int_equal(uroce_rdma_create_ep(&id, res, NULL, NULL), 0);
	assert_int_equal(uroce_rdma_migrate_id(id, channel), 0);
	assert_int_equal(uroce_rdma_connect(id, &param), 0);
	ret = uroce_rdma_get_cm_event(channel, &event);
	assert_int_equal(ret, 0);
	assert_int_equal(event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_string_equal(event->param.conn.private_data, "first-last");
	uroce_rdma_destroy_ep(id);
	id = event->id;
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	destroy(id);
	destroy(listener);
	uroce_rdma_freeaddrinfo(res);
	uroce_rdma_destroy_event_channel(channel);
}

static void *
serve_datagrams(void *arg)
{
	struct server *s = arg;
	struct rdma_cm_id *id;

	assert_int_equal(uroce_rdma_get_request(s->listener, &id), 0);
	assert_int_equal(uroce_rdma_accept(id, NULL), 0); /* returns without waiting */
	assert_null(id->event);
	uroce_rdma_destroy_ep(id);
	return NULL;
}

static void
test_datagram(void **state)
{
	struct server s = { .listener = endpoint("10.0.0.2", "7174", RAI_PASSIVE, RDMA_PS_UDP) };
	struct rdma_cm_id *id;

	assert_int_equal(uroce_rdma_listen(s.listener, 0), 0);
	assert_int_equal(pthread_create(&s.thread, NULL, serve_datagrams, &s), 0);
	id = endpoint("10.0.0.2", "7174", 0, RDMA_PS_UDP);
	assert_int_equal(uroce_rdma_connect(id, NULL), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_not_equal(id->event->param.ud.qp_num, 0);
	uroce_rdma_destroy_ep(id);
	stop_server(&s);
}

static void
test_not_synchronous(void **state)
{
	struct rdma_event_channel *channel = uroce_rdma_create_event_channel();
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0), *id;

	fails(uroce_rdma_get_request(listener, &id), EINVAL);
	destroy(listener);
	uroce_rdma_destroy_event_channel(channel);
}

/* A port space of datagrams with the QP type of connections: the ID needs a QP. */
static void
test_no_qp(void **state)
{
	struct rdma_addrinfo *res = address("10.0.0.2", "7180", 0, RDMA_PS_UDP);
	struct rdma_cm_id *id = NULL;

	res->ai_qp_type = IBV_QPT_RC;
	assert_int_equal(uroce_rdma_create_ep(&id, res, NULL, NULL), 0);
	fails(uroce_rdma_connect(id, NULL), EINVAL);
	destroy(id);
	uroce_rdma_freeaddrinfo(res);
}

UROCE_TESTS(cma_endpoint)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(connect),      TEST(refused),  TEST(errors),
		TEST(connect_data), TEST(datagram), TEST(not_synchronous),
		TEST(no_qp),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
