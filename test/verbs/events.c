/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Asynchronous events (ibv_get_async_event(3)): order, modes of the file descriptor, and destroy calls that wait until
 * the object's events are acknowledged.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "tasks.h"
#include "uroce.h"
#include "eal.h"
#include "fake.h"

static void
raise_qp(struct ibv_qp *qp, enum ibv_event_type type)
{
	struct ibv_async_event event = { .element.qp = qp, .event_type = type };

	uroce_device_event(&fake.dev, &event);
}

static void
raise_cq(struct ibv_cq *cq)
{
	struct ibv_async_event event = { .element.cq = cq, .event_type = IBV_EVENT_CQ_ERR };

	uroce_device_event(&fake.dev, &event);
}

static void
raise_port(enum ibv_event_type type)
{
	struct ibv_async_event event = { .element.port_num = 1, .event_type = type };

	uroce_device_event(&fake.dev, &event);
}

static bool
readable(void)
{
	struct pollfd p = { .fd = fake.context->async_fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static struct ibv_async_event
expect(enum ibv_event_type type)
{
	struct ibv_async_event event;

	assert_true(readable());
	assert_int_equal(uroce_get_async_event(fake.context, &event), 0);
	assert_int_equal(event.event_type, type);
	return event;
}

static void
test_order(void **state)
{
	struct fake_pair pair = fake_pair_create(4);
	struct ibv_qp *qp = fake_qp_create(&pair);
	struct ibv_async_event event;

	assert_false(readable());
	raise_port(IBV_EVENT_PORT_ACTIVE);
	raise_qp(qp, IBV_EVENT_COMM_EST);
	raise_cq(pair.cq);
	raise_port(IBV_EVENT_PORT_ERR);
	event = expect(IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(event.element.port_num, 1);
	uroce_ack_async_event(&event);
	event = expect(IBV_EVENT_COMM_EST);
	assert_ptr_equal(event.element.qp, qp);
	uroce_ack_async_event(&event);
	event = expect(IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, pair.cq);
	uroce_ack_async_event(&event);
	event = expect(IBV_EVENT_PORT_ERR);
	uroce_ack_async_event(&event);
	assert_false(readable());
	assert_int_equal(uroce_destroy_qp(qp), 0);
	fake_pair_destroy(&pair);
}

static void
test_nonblocking(void **state)
{
	int fd = fake.context->async_fd;
	struct ibv_async_event event;

	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
	errno = 0;
	assert_int_equal(uroce_get_async_event(fake.context, &event), -1);
	assert_int_equal(errno, EAGAIN);
	raise_port(IBV_EVENT_GID_CHANGE);
	event = expect(IBV_EVENT_GID_CHANGE);
	uroce_ack_async_event(&event);
}

static void *
raise_when_asleep(void *id)
{
	test_task_await_sleep((pid_t)(uintptr_t)id);
	raise_port(IBV_EVENT_SM_CHANGE);
	return NULL;
}

static void
test_blocking(void **state)
{
	struct ibv_async_event event;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, raise_when_asleep, (void *)(uintptr_t)gettid()), 0);
	assert_int_equal(uroce_get_async_event(fake.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SM_CHANGE);
	uroce_ack_async_event(&event);
	pthread_join(thread, NULL);
}

/* Unread events of a destroyed object disappear, those of other objects stay. */
static void
test_destroy_with_unread_events(void **state)
{
	struct fake_pair pair = fake_pair_create(4), other = fake_pair_create(4);
	struct ibv_qp *qp = fake_qp_create(&pair);
	struct ibv_async_event event;

	raise_qp(qp, IBV_EVENT_QP_FATAL);
	raise_cq(pair.cq);
	raise_port(IBV_EVENT_PORT_ERR);
	raise_qp(qp, IBV_EVENT_SQ_DRAINED);
	raise_cq(other.cq);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	fake_pair_destroy(&pair);
	event = expect(IBV_EVENT_PORT_ERR);
	uroce_ack_async_event(&event);
	event = expect(IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, other.cq);
	uroce_ack_async_event(&event);
	assert_false(readable());
	fake_pair_destroy(&other);
}

static int destroyed;	/* atomic */

static void *
destroy_qp(void *arg)
{
	int ret = uroce_destroy_qp(arg);

	__atomic_store_n(&destroyed, 1, __ATOMIC_RELEASE);
	return (void *)(intptr_t)ret;
}

static void *
destroy_cq(void *arg)
{
	int ret = uroce_destroy_cq(arg);

	__atomic_store_n(&destroyed, 1, __ATOMIC_RELEASE);
	return (void *)(intptr_t)ret;
}

/* The destroy call must not return before the second event is acknowledged, however long that takes. */
static void
check_waits(void *(*destroy)(void *), void *object, struct ibv_async_event events[2])
{
	pthread_t thread;
	void *ret;
	pid_t id;

	destroyed = 0;
	id = test_task_start(&thread, destroy, object);
	test_task_await_sleep(id);
	uroce_ack_async_event(&events[0]);
	test_task_await_sleep(id);
	assert_int_equal(__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE), 0);
	uroce_ack_async_event(&events[1]);
	pthread_join(thread, &ret);
	assert_null(ret);
}

static void
test_destroy_waits_for_acks(void **state)
{
	static const enum ibv_event_type types[] = {
		IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_COMM_EST,
		IBV_EVENT_SQ_DRAINED, IBV_EVENT_PATH_MIG, IBV_EVENT_PATH_MIG_ERR,
		IBV_EVENT_QP_LAST_WQE_REACHED,
	};
	struct fake_pair pair = fake_pair_create(4);
	struct ibv_async_event events[2];

	for (size_t i = 0; i < RTE_DIM(types); i += 2) {
		struct ibv_qp *qp = fake_qp_create(&pair);

		for (size_t k = 0; k < 2; k++) {
			raise_qp(qp, types[i + k]);
			events[k] = expect(types[i + k]);
		}
		check_waits(destroy_qp, qp, events);
	}
	for (size_t k = 0; k < 2; k++) {
		raise_cq(pair.cq);
		events[k] = expect(IBV_EVENT_CQ_ERR);
	}
	check_waits(destroy_cq, pair.cq, events);
	assert_int_equal(uroce_dealloc_pd(pair.pd), 0);
}

UROCE_TESTS(events)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_nonblocking, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_blocking, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_destroy_with_unread_events, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_destroy_waits_for_acks, fake_setup, fake_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
