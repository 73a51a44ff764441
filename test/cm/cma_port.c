/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Ports and listeners: which bindings conflict, ephemeral ports, wildcards, the backlog, and devices that come and go
 * under a listener.
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
#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "uroce_config.h"

static void
reuse(struct rdma_cm_id *id)
{
	int on = 1;

	assert_int_equal(uroce_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on,
					       sizeof(on)),
			 0);
}

static void
afonly(struct rdma_cm_id *id)
{
	int on = 1;

	assert_int_equal(
		uroce_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)),
		0);
}

static void
test_in_use(void **state)
{
	struct rdma_cm_id *a = world_id(channel, RDMA_PS_TCP), *b = world_id(channel, RDMA_PS_TCP);
	struct rdma_cm_id *udp = world_id(channel, RDMA_PS_UDP);

	assert_int_equal(uroce_rdma_bind_addr(a, world_v4(1, 500)), 0);
	fails(uroce_rdma_bind_addr(b, world_v4(1, 500)), EADDRINUSE);
	fails(uroce_rdma_bind_addr(b, world_v4(0, 500)), EADDRINUSE);
	/* another address, and another port space */
	assert_int_equal(uroce_rdma_bind_addr(b, world_v4(2, 500)), 0);
	assert_int_equal(uroce_rdma_bind_addr(udp, world_v4(1, 500)), 0);
	destroy(a);
	destroy(b);
	/* free again */
	a = world_id(channel, RDMA_PS_TCP);
	assert_int_equal(uroce_rdma_bind_addr(a, world_v4(0, 500)), 0);
	b = world_id(channel, RDMA_PS_TCP);
	fails(uroce_rdma_bind_addr(b, world_v4(1, 500)), EADDRINUSE);
	destroy(a);
	destroy(b);
	destroy(udp);
}

static void
test_reuse(void **state)
{
	struct rdma_cm_id *a = world_id(channel, RDMA_PS_TCP), *b = world_id(channel, RDMA_PS_TCP);
	struct rdma_cm_id *c = world_id(channel, RDMA_PS_TCP);

	reuse(a);
	reuse(b);
	assert_int_equal(uroce_rdma_bind_addr(a, world_v4(1, 500)), 0);
	fails(uroce_rdma_bind_addr(c, world_v4(1, 500)), EADDRINUSE);
	assert_int_equal(uroce_rdma_bind_addr(b, world_v4(1, 500)), 0);
	/* only one ID may listen, and no other may be bound */
	fails(uroce_rdma_listen(a, 1), EADDRINUSE);
	destroy(b);
	assert_int_equal(uroce_rdma_listen(a, 1), 0);
	reuse(c);
	fails(uroce_rdma_bind_addr(c, world_v4(1, 500)), EADDRINUSE);
	destroy(a);
	destroy(c);
}

static void
test_families(void **state)
{
	struct rdma_cm_id *four = world_id(channel, RDMA_PS_TCP),
			  *six = world_id(channel, RDMA_PS_TCP);

	assert_int_equal(uroce_rdma_bind_addr(four, world_v4(0, 500)), 0);
	fails(uroce_rdma_bind_addr(six, world_v6(0, 500)), EADDRINUSE);
	afonly(six);
	assert_int_equal(uroce_rdma_bind_addr(six, world_v6(0, 500)), 0);
	destroy(four);
	destroy(six);
}

static void
test_ephemeral(void **state)
{
	struct rdma_cm_id *ids[200];

	for (unsigned int i = 0; i < 200; i++) {
		ids[i] = world_id(channel, RDMA_PS_TCP);
		assert_int_equal(uroce_rdma_bind_addr(ids[i], world_v4(0, 0)), 0);
		assert_uint_in_range(ntohs(uroce_rdma_get_src_port(ids[i])), UROCE_CMA_FIRST_PORT,
				UROCE_CMA_LAST_PORT);
		for (unsigned int j = 0; j < i; j++)
			assert_int_not_equal(uroce_rdma_get_src_port(ids[i]),
					     uroce_rdma_get_src_port(ids[j]));
	}
	for (unsigned int i = 0; i < 200; i++)
		destroy(ids[i]);
}

/* With all ephemeral ports in use, a bind fails. */
static void
test_exhausted(void **state)
{
	const unsigned int n = UROCE_CMA_LAST_PORT - UROCE_CMA_FIRST_PORT + 1;
	struct rdma_cm_id **ids = calloc(n, sizeof(*ids)), *one;

	assert_non_null(ids);
	for (unsigned int i = 0; i < n; i++) {
		ids[i] = world_id(channel, RDMA_PS_TCP);
		assert_int_equal(uroce_rdma_bind_addr(
					 ids[i], world_v4(0, (uint16_t)(UROCE_CMA_FIRST_PORT + i))),
				 0);
	}
	one = world_id(channel, RDMA_PS_TCP);
	fails(uroce_rdma_bind_addr(one, world_v4(0, 0)), EADDRNOTAVAIL);
	destroy(ids[77]);
	assert_int_equal(uroce_rdma_bind_addr(one, world_v4(0, 0)), 0);
	assert_int_equal(ntohs(uroce_rdma_get_src_port(one)), UROCE_CMA_FIRST_PORT + 77);
	destroy(one);
	for (unsigned int i = 0; i < n; i++)
		if (i != 77)
			destroy(ids[i]);
	free(ids);
}

static struct rdma_cm_id *
request_from(struct sockaddr *src, struct sockaddr *dst, struct rdma_cm_id **client)
{
	struct rdma_conn_param param = { .responder_resources = 1, .qp_num = 5 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *listener;

	*client = world_id(channel, RDMA_PS_TCP);
	assert_int_equal(uroce_rdma_resolve_addr(*client, src, dst, 1), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(uroce_rdma_resolve_route(*client, 1), 0);
	world_take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(uroce_rdma_connect(*client, &param), 0);
	world_deliver();
	assert_int_equal(uroce_rdma_get_cm_event(channel, &event), 0);
	listener = event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->listen_id : NULL;
	if (listener != NULL) {
		struct rdma_cm_id *server = event->id;

		assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
		destroy(server);
		world_take(channel, RDMA_CM_EVENT_REJECTED, UROCE_CM_REJ_CONSUMER_DEFINED);
	} else {
		assert_int_equal(event->event, RDMA_CM_EVENT_REJECTED);
		assert_int_equal(event->status, UROCE_CM_REJ_INVALID_SERVICE_ID);
		assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	}
	return listener;
}

/* Which listener gets the request? */
static void
expect(struct sockaddr *src, struct sockaddr *dst, const struct rdma_cm_id *listener)
{
	struct rdma_cm_id *client;

	assert_ptr_equal(request_from(src, dst, &client), listener);
	destroy(client);
}

static void
test_wildcard(void **state)
{
	struct rdma_cm_id *any = world_id(channel, RDMA_PS_TCP);

	assert_int_equal(uroce_rdma_bind_addr(any, world_v4(0, 500)), 0);
	expect(NULL, world_v4(2, 500), NULL); /* bound, but not listening */
	assert_int_equal(uroce_rdma_listen(any, 0), 0);
	assert_null(any->verbs);
	expect(NULL, world_v4(2, 500), any);
	expect(world_v4(2, 0), world_v4(1, 500), any);
	expect(NULL, world_v6(2, 500), NULL);
	expect(NULL, world_v4(2, 501), NULL);
	destroy(any);
	expect(NULL, world_v4(2, 500), NULL);

	/* an IPv6 wildcard also accepts IPv4, unless an option forbids it */
	any = world_id(channel, RDMA_PS_TCP);
	assert_int_equal(uroce_rdma_bind_addr(any, world_v6(0, 500)), 0);
	assert_int_equal(uroce_rdma_listen(any, 0), 0);
	expect(NULL, world_v4(2, 500), any);
	expect(NULL, world_v6(2, 500), any);
	destroy(any);
	any = world_id(channel, RDMA_PS_TCP);
	afonly(any);
	assert_int_equal(uroce_rdma_bind_addr(any, world_v6(0, 500)), 0);
	assert_int_equal(uroce_rdma_listen(any, 0), 0);
	expect(NULL, world_v4(2, 500), NULL);
	expect(NULL, world_v6(2, 500), any);
	destroy(any);
}

static struct sockaddr *
loopback(uint16_t port)
{
	static struct sockaddr_in addr = { .sin_family = AF_INET };

	addr.sin_port = htons(port);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return (struct sockaddr *)&addr;
}

/* Binding to 127.0.0.1 binds to the wildcard. */
static void
test_loopback(void **state)
{
	struct rdma_cm_id *a = world_id(channel, RDMA_PS_TCP), *b = world_id(channel, RDMA_PS_TCP);

	assert_int_equal(uroce_rdma_bind_addr(a, loopback(500)), 0);
	fails(uroce_rdma_bind_addr(b, world_v4(1, 500)), EADDRINUSE);
	destroy(a);
	assert_int_equal(uroce_rdma_bind_addr(b, world_v4(1, 500)), 0);
	a = world_id(channel, RDMA_PS_TCP);
	fails(uroce_rdma_bind_addr(a, loopback(500)), EADDRINUSE);
	assert_int_equal(uroce_rdma_bind_addr(a, loopback(501)), 0);
	assert_int_equal(uroce_rdma_listen(a, 0), 0);
	expect(NULL, world_v4(2, 501), a);
	destroy(a);
	destroy(b);
}

static void
test_specific(void **state)
{
	struct rdma_cm_id *one = world_listener(channel, 1, 500, RDMA_PS_TCP, 0);
	struct rdma_cm_id *two = world_listener(channel, 2, 500, RDMA_PS_TCP, 0);
	struct rdma_cm_id *six = world_id(channel, RDMA_PS_TCP);

	assert_int_equal(uroce_rdma_bind_addr(six, world_v6(2, 500)), 0);
	assert_int_equal(uroce_rdma_listen(six, 0), 0);
	expect(NULL, world_v4(2, 500), two);
	expect(NULL, world_v6(2, 500), six);
	expect(world_v4(2, 0), world_v4(1, 500), one);
	expect(world_v6(2, 0), world_v6(1, 500), NULL);
	destroy(two);
	expect(NULL, world_v4(2, 500), NULL);
	expect(NULL, world_v6(2, 500), six);
	destroy(one);
	destroy(six);
}

static void
test_listen(void **state)
{
	struct rdma_cm_id *id = world_id(channel, RDMA_PS_TCP);

	/* not bound: listens on an ephemeral port of the wildcard */
	assert_int_equal(uroce_rdma_listen(id, 1), 0);
	assert_uint_in_range(ntohs(uroce_rdma_get_src_port(id)), UROCE_CMA_FIRST_PORT,
			UROCE_CMA_LAST_PORT);
	fails(uroce_rdma_listen(id, 1), EINVAL);
	fails(uroce_rdma_resolve_addr(id, NULL, world_v4(2, 1), 1), EINVAL);
	destroy(id);
}

static void
test_backlog(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1, .qp_num = 5 };
	struct rdma_event_channel *listening = world_channel();
	struct rdma_cm_id *listener = world_listener(listening, 2, 500, RDMA_PS_TCP, 2);
	struct rdma_cm_id *clients[4], *server;

	for (unsigned int i = 0; i < 4; i++)
		clients[i] = world_resolved(channel, 2, 500, RDMA_PS_TCP);
	for (unsigned int i = 0; i < 3; i++) {
		param.qp_num = 5 + i;
		assert_int_equal(uroce_rdma_connect(clients[i], &param), 0);
	}
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_REJECTED, UROCE_CM_REJ_NO_RESOURCES),
			 clients[2]);
	/* a request that was read makes room in the backlog */
	server = world_take(listening, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	param.qp_num = 8;
	assert_int_equal(uroce_rdma_connect(clients[3], &param), 0);
	world_no_event(channel);
	destroy(server);
	for (unsigned int i = 0; i < 2; i++)
		destroy(world_take(listening, RDMA_CM_EVENT_CONNECT_REQUEST, 0));
	world_no_event(listening);
	for (unsigned int i = 0; i < 3; i++)
		world_take(channel, RDMA_CM_EVENT_REJECTED, UROCE_CM_REJ_CONSUMER_DEFINED);
	for (unsigned int i = 0; i < 4; i++)
		destroy(clients[i]);
	destroy(listener);
	uroce_rdma_destroy_event_channel(listening);
}

/* When a device is removed, its IDs get an event, and listeners stop on it; when it returns, wildcard listeners
 * resume. */
static void
test_devices(void **state)
{
	struct rdma_cm_id *any = world_listener(channel, 0, 500, RDMA_PS_TCP, 0);
	struct rdma_cm_id *two = world_listener(channel, 2, 501, RDMA_PS_TCP, 0);
	struct rdma_cm_id *client = world_resolved(channel, 2, 500, RDMA_PS_TCP);

	world_go(1);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_DEVICE_REMOVAL, 0), two);
	world_no_event(channel);
	fails(uroce_rdma_listen(two, 1), EINVAL);
	destroy(two);
	world_come(1);
	expect(NULL, world_v4(2, 500), any);
	destroy(client);
	destroy(any);
}

/* A device is removed while it has a listener and a connection; its communication manager runs on. */
static void
test_device_pulled(void **state)
{
	const struct rdma_cm_id *gone;
	struct world_pair pair;

	world_connect(&pair);
	world_go(1);
	for (unsigned int i = 0; i < 2; i++) {
		gone = world_take(pair.channel, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
		assert_true(gone == pair.server || gone == pair.listener);
	}
	uroce_rdma_destroy_qp(pair.server);
	destroy(pair.server);
	destroy(pair.listener);
	/* the manager disconnects, and its later events reach no ID */
	assert_ptr_equal(world_take(pair.channel, RDMA_CM_EVENT_DISCONNECTED, 0), pair.client);
	assert_int_equal(uroce_rdma_disconnect(pair.client), 0);
	world_pass(1000 * 1000 * WORLD_MS);
	expect(NULL, world_v4(2, 7174), NULL);
	uroce_rdma_destroy_qp(pair.client);
	destroy(pair.client);
	uroce_rdma_destroy_event_channel(pair.channel);
}

UROCE_TESTS(cma_port)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, channel_setup, channel_teardown)
	const struct CMUnitTest tests[] = {
		TEST(in_use),    TEST(reuse),    TEST(families),      TEST(ephemeral),
		TEST(exhausted), TEST(wildcard), TEST(loopback),      TEST(specific),
		TEST(listen),    TEST(backlog),  TEST(devices),       TEST(device_pulled),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
