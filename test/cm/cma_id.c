/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * IDs and their events: when the service runs, readiness of a channel's descriptor, IDs that are destroyed while their
 * events are queued or reported, and IDs that move between channels.
 */

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
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

static bool
readable(const struct rdma_event_channel *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void
test_service_runs(void **state)
{
	struct rdma_event_channel *other;
	struct rdma_cm_id *id;

	assert_int_equal(world.starts, 1);
	other = world_channel();
	id = world_id(channel, RDMA_PS_TCP);
	uroce_rdma_destroy_event_channel(channel);
	uroce_rdma_destroy_event_channel(other);
	assert_int_equal(world.started, 1);
	destroy(id);
	assert_int_equal(world.started, 0);
	world.start_error = -ENOMEM;
	errno = 0;
	assert_null(uroce_rdma_create_event_channel());
	assert_int_equal(errno, ENOMEM);
	fails(uroce_rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), ENOMEM);
	world.start_error = 0;
	channel = world_channel();
	assert_int_equal(world.starts, 2);
}

/* A device whose service fails to start takes no part; the next start tries again. */
static void
test_one_device_fails(void **state)
{
	struct ibv_context **list;
	int n;

	uroce_rdma_destroy_event_channel(channel);
	world.second_fails = true;
	channel = world_channel();
	list = uroce_rdma_get_devices(&n);
	assert_non_null(list);
	assert_int_equal(n, 1);
	assert_ptr_equal(list[0], world_context(0));
	uroce_rdma_free_devices(list);
	uroce_rdma_destroy_event_channel(channel);
	world.second_fails = false;
	channel = world_channel();
	list = uroce_rdma_get_devices(&n);
	assert_non_null(list);
	assert_int_equal(n, 2);
	uroce_rdma_free_devices(list);
}

static void
test_create(void **state)
{
	struct rdma_cm_id *id;

	assert_int_equal(uroce_rdma_create_id(channel, &id, &world, RDMA_PS_UDP), 0);
	assert_ptr_equal(id->context, &world);
	assert_ptr_equal(id->channel, channel);
	assert_int_equal(id->ps, RDMA_PS_UDP);
	assert_int_equal(id->qp_type, IBV_QPT_UD);
	destroy(id);
	id = world_id(channel, RDMA_PS_IB);
	assert_int_equal(id->qp_type, IBV_QPT_RC);
	destroy(id);
	fails(uroce_rdma_create_id(channel, &id, NULL, RDMA_PS_IPOIB), EPROTONOSUPPORT);
	fails(uroce_rdma_create_id(channel, &id, NULL, (enum rdma_port_space)7), EINVAL);
}

static void
test_descriptor(void **state)
{
	struct rdma_cm_id *id = world_id(channel, RDMA_PS_TCP);
	struct rdma_cm_event *event;

	assert_false(readable(channel));
	world_no_event(channel);
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(2, 1), 1), 0);
	assert_true(readable(channel));
	event = world_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_false(readable(channel));
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	fails(uroce_rdma_ack_cm_event(NULL), EINVAL);
	fails(uroce_rdma_get_cm_event(channel, NULL), EINVAL);
	destroy(id);
}

/* Queued events of a destroyed ID are discarded; those of other IDs stay, in order. */
static void
test_destroy_with_queued(void **state)
{
	struct rdma_cm_id *ids[3];

	for (unsigned int i = 0; i < 3; i++) {
		ids[i] = world_id(channel, RDMA_PS_TCP);
		assert_int_equal(uroce_rdma_resolve_addr(ids[i], NULL, world_v4(2, 1), 1), 0);
	}
	destroy(ids[1]);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0), ids[0]);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0), ids[2]);
	assert_false(readable(channel));
	destroy(ids[0]);
	destroy(ids[2]);
}

/* Destroying a listener rejects the requests whose events were not read. */
static void
test_destroy_with_requests(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1, .qp_num = 5 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0);
	struct rdma_cm_id *clients[3];

	for (unsigned int i = 0; i < 3; i++)
		clients[i] = world_resolved(channel, 2, 7174, RDMA_PS_TCP);
	for (unsigned int i = 0; i < 3; i++) {
		param.qp_num = 5 + i;
		assert_int_equal(uroce_rdma_connect(clients[i], &param), 0);
	}
	world_deliver();
	destroy(listener);
	for (unsigned int i = 0; i < 3; i++) {
		world_take(channel, RDMA_CM_EVENT_REJECTED, UROCE_CM_REJ_CONSUMER_DEFINED);
		destroy(clients[i]);
	}
}

/* The application destroys a channel before its IDs, which is an error: their events are lost. */
static void
test_channel_goes_first(void **state)
{
	struct rdma_event_channel *first = world_channel();
	struct rdma_cm_id *id = world_id(first, RDMA_PS_TCP);

	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(2, 1), 1), 0);
	uroce_rdma_destroy_event_channel(first);
	assert_int_equal(uroce_rdma_resolve_route(id, 1), 0);
	destroy(id);
}

struct waiter {
	pthread_t thread;
	struct rdma_cm_id *id;
	struct rdma_event_channel *to; /* NULL: destroy the ID */
	bool done;                     /* atomic */
};

static void *
wait_for_ack(void *arg)
{
	struct waiter *w = arg;

	if (w->to != NULL)
		uroce_rdma_migrate_id(w->id, w->to);
	else
		uroce_rdma_destroy_id(w->id);
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool
leaving(struct rdma_cm_id *id)
{
	bool is;

	pthread_mutex_lock(&uroce_cm_lock);
	is = uroce_cma_id_of(id)->leaving;
	pthread_mutex_unlock(&uroce_cm_lock);
	return is;
}

/* Destroying an ID waits until the reported events are acknowledged. */
static void
test_destroy_waits(void **state)
{
	struct waiter w = { .id = world_id(channel, RDMA_PS_TCP) };
	struct rdma_cm_event *event;

	assert_int_equal(uroce_rdma_resolve_addr(w.id, NULL, world_v4(2, 1), 1), 0);
	event = world_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(pthread_create(&w.thread, NULL, wait_for_ack, &w), 0);
	while (!leaving(w.id))
		sched_yield();
	assert_false(__atomic_load_n(&w.done, __ATOMIC_ACQUIRE));
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	pthread_join(w.thread, NULL);
	assert_true(w.done);
}

static void
test_migrate(void **state)
{
	struct rdma_event_channel *to = world_channel();
	struct rdma_cm_id *id = world_id(channel, RDMA_PS_TCP),
			  *other = world_id(channel, RDMA_PS_TCP);

	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(2, 1), 1), 0);
	assert_int_equal(uroce_rdma_resolve_addr(other, NULL, world_v4(2, 1), 1), 0);
	assert_int_equal(uroce_rdma_migrate_id(id, to), 0);
	assert_ptr_equal(id->channel, to);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0), other);
	world_no_event(channel);
	assert_ptr_equal(world_take(to, RDMA_CM_EVENT_ADDR_RESOLVED, 0), id);
	assert_int_equal(uroce_rdma_resolve_route(id, 1), 0);
	assert_ptr_equal(world_take(to, RDMA_CM_EVENT_ROUTE_RESOLVED, 0), id);
	destroy(id);
	destroy(other);
	uroce_rdma_destroy_event_channel(to);
}

/* Under the lock: once false, the thread that moves the ID waits or has returned. */
static bool
is_on(struct rdma_cm_id *id, const struct rdma_event_channel *c)
{
	bool is;

	pthread_mutex_lock(&uroce_cm_lock);
	is = id->channel == c;
	pthread_mutex_unlock(&uroce_cm_lock);
	return is;
}

static void
test_migrate_waits(void **state)
{
	struct waiter w = { .id = world_id(channel, RDMA_PS_TCP), .to = world_channel() };
	struct rdma_cm_event *event;

	assert_int_equal(uroce_rdma_resolve_addr(w.id, NULL, world_v4(2, 1), 1), 0);
	event = world_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(pthread_create(&w.thread, NULL, wait_for_ack, &w), 0);
	while (is_on(w.id, channel))
		sched_yield();
	assert_false(__atomic_load_n(&w.done, __ATOMIC_ACQUIRE));
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	pthread_join(w.thread, NULL);
	destroy(w.id);
	uroce_rdma_destroy_event_channel(w.to);
}

/* A reader has taken an event's record from the channel that the ID leaves, but not the event itself. */
static void
test_migrate_waits_for_reader(void **state)
{
	struct uroce_event_queue *queue = &uroce_cma_channel_of(channel)->queue;
	struct waiter w = { .id = world_id(channel, RDMA_PS_TCP), .to = world_channel() };
	struct uroce_cma_event *event;
	struct uroce_cma_id *id;

	assert_int_equal(uroce_rdma_resolve_addr(w.id, NULL, world_v4(2, 1), 1), 0);
	assert_int_equal(uroce_event_queue_get(queue, &id), 0);
	assert_int_equal(pthread_create(&w.thread, NULL, wait_for_ack, &w), 0);
	while (is_on(w.id, channel))
		sched_yield();
	event = uroce_cma_event_take(id);
	assert_false(__atomic_load_n(&w.done, __ATOMIC_ACQUIRE));
	assert_int_equal(uroce_rdma_ack_cm_event(&event->event), 0);
	pthread_join(w.thread, NULL);
	destroy(w.id);
	uroce_rdma_destroy_event_channel(w.to);
}

/* A queued request moves with its listener, and keeps no reference to the old channel. */
static void
test_migrate_with_request(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1, .qp_num = 5 };
	struct rdma_event_channel *from = world_channel(), *to = world_channel();
	struct rdma_cm_id *listener = world_listener(from, 2, 7174, RDMA_PS_TCP, 0);
	struct rdma_cm_id *client = world_resolved(channel, 2, 7174, RDMA_PS_TCP);
	struct rdma_cm_id *server;

	assert_int_equal(uroce_rdma_connect(client, &param), 0);
	world_deliver();
	assert_int_equal(uroce_rdma_migrate_id(listener, to), 0);
	uroce_rdma_destroy_event_channel(from);
	server = world_take(to, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	assert_ptr_equal(server->channel, to);
	assert_int_equal(uroce_rdma_accept(server, &param), 0);
	world_take(channel, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(uroce_rdma_establish(client), 0);
	world_take(to, RDMA_CM_EVENT_ESTABLISHED, 0);
	destroy(server);
	destroy(client);
	destroy(listener);
	uroce_rdma_destroy_event_channel(to);
}

/* An ID moves to a channel of its own and back; its pending event then becomes readable again. */
static void
test_migrate_synchronous(void **state)
{
	struct rdma_cm_id *id = world_id(channel, RDMA_PS_TCP);

	assert_int_equal(uroce_rdma_migrate_id(id, NULL), 0);
	fails(uroce_rdma_migrate_id(id, NULL), EINVAL);
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(2, 1), 1), 0);
	assert_non_null(id->event);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(uroce_rdma_migrate_id(id, channel), 0);
	assert_null(id->event);
	assert_int_equal(uroce_rdma_resolve_route(id, 1), 0);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, 0), id);
	destroy(id);
}

static void
test_strings(void **state)
{
	assert_string_equal(uroce_rdma_event_str(RDMA_CM_EVENT_ADDR_RESOLVED),
			    "RDMA_CM_EVENT_ADDR_RESOLVED");
	assert_string_equal(uroce_rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT),
			    "RDMA_CM_EVENT_TIMEWAIT_EXIT");
	assert_string_equal(uroce_rdma_event_str((enum rdma_cm_event_type)77), "UNKNOWN EVENT");
	assert_string_equal(uroce_rdma_event_str((enum rdma_cm_event_type) - 1), "UNKNOWN EVENT");
}

UROCE_TESTS(cma_id)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, channel_setup, channel_teardown)
	const struct CMUnitTest tests[] = {
		TEST(service_runs), TEST(one_device_fails),
		TEST(create),
		TEST(descriptor),
		TEST(destroy_with_queued),
		TEST(destroy_with_requests),
		TEST(channel_goes_first),
		TEST(destroy_waits),
		TEST(migrate),
		TEST(migrate_waits),
		TEST(migrate_waits_for_reader),
		TEST(migrate_with_request),
		TEST(migrate_synchronous),
		TEST(strings),
	};

	mallopt(M_PERTURB, 65); /* freed memory is overwritten, which shows a use after free */
	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
