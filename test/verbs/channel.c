/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Completion channels (ibv_req_notify_cq(3), ibv_get_cq_event(3)): which completions cause an event, one event per
 * arming, none missed between arming and polling, acknowledgements, and events of a destroyed CQ.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
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

static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static int cq_cookie;

static int
setup(void **state)
{
	fake_setup(state);
	channel = uroce_create_comp_channel(fake.context);
	cq = uroce_create_cq(fake.context, 64, &cq_cookie, channel, 0);
	return channel == NULL || cq == NULL;
}

static int
teardown(void **state)
{
	if (cq != NULL)
		assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
	return fake_teardown(state);
}

static void
push_to(struct ibv_cq *to, enum ibv_wc_status status, bool solicited)
{
	struct ibv_wc wc = { .status = status };

	assert_true(uroce_cq_push(uroce_cq_of(to), fake_engine(0), &wc, solicited));
}

static void
push(void)
{
	push_to(cq, IBV_WC_SUCCESS, false);
}

static void
arm(int solicited_only)
{
	/* the inline call, as an application uses it */
	assert_int_equal(ibv_req_notify_cq(cq, solicited_only), 0);
}

static bool
readable(void)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void
expect_event(struct ibv_cq *from)
{
	struct ibv_cq *got = NULL;
	void *context = NULL;

	assert_true(readable());
	assert_int_equal(uroce_get_cq_event(channel, &got, &context), 0);
	assert_ptr_equal(got, from);
	assert_ptr_equal(context, from->cq_context);
}

static void
expect_and_ack(void)
{
	expect_event(cq);
	uroce_ack_cq_events(cq, 1);
}

static void
test_create_destroy(void **state)
{
	assert_ptr_equal(channel->context, fake.context);
	assert_true(channel->fd >= 0);
	assert_int_equal(channel->refcnt, 1);
	assert_int_equal(uroce_destroy_comp_channel(channel), EBUSY);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	cq = NULL;
	assert_int_equal(channel->refcnt, 0);
}

static void
test_unarmed(void **state)
{
	push();
	push_to(cq, IBV_WC_SUCCESS, true);
	push_to(cq, IBV_WC_RETRY_EXC_ERR, true);
	assert_false(readable());
}

static void
test_one_shot(void **state)
{
	arm(0);
	push();
	push();
	expect_and_ack();
	push();
	assert_false(readable());
	arm(0);
	/* earlier completions cause no event, and arming twice does not cause two */
	assert_false(readable());
	arm(0);
	push();
	push();
	expect_and_ack();
	assert_false(readable());
}

static void
test_solicited_only(void **state)
{
	arm(1);
	push();
	assert_false(readable());
	push_to(cq, IBV_WC_SUCCESS, true);
	expect_and_ack();
	push_to(cq, IBV_WC_SUCCESS, true);
	assert_false(readable());
	/* an error always counts as solicited */
	arm(1);
	push();
	assert_false(readable());
	push_to(cq, IBV_WC_WR_FLUSH_ERR, false);
	expect_and_ack();
	assert_false(readable());
}

static void
test_arming_for_more_and_less(void **state)
{
	/* armed for any completion, then for solicited ones: stays armed for any */
	arm(0);
	arm(1);
	push();
	expect_and_ack();
	/* the reverse order */
	arm(1);
	arm(0);
	push();
	expect_and_ack();
	/* after an event, arming starts anew */
	arm(1);
	push();
	assert_false(readable());
	push_to(cq, IBV_WC_SUCCESS, true);
	expect_and_ack();
}

static void
test_several_events_and_queues(void **state)
{
	struct ibv_cq *other = uroce_create_cq(fake.context, 8, &other, channel, 0);

	assert_int_equal(channel->refcnt, 2);
	arm(0);
	push();
	assert_int_equal(uroce_req_notify_cq(other, 0), 0);
	push_to(other, IBV_WC_SUCCESS, false);
	/* an unread event does not keep a new arming from causing another */
	arm(0);
	push();
	expect_event(cq);
	expect_event(other);
	expect_event(cq);
	assert_false(readable());
	uroce_ack_cq_events(cq, 2);
	uroce_ack_cq_events(other, 0);
	uroce_ack_cq_events(other, 1);
	assert_int_equal(uroce_destroy_cq(other), 0);
}

static void
test_nonblocking(void **state)
{
	struct ibv_cq *got = NULL;
	void *context = NULL;

	assert_int_equal(fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK), 0);
	errno = 0;
	assert_int_equal(uroce_get_cq_event(channel, &got, &context), -1);
	assert_int_equal(errno, EAGAIN);
	arm(0);
	push();
	expect_and_ack();
}

/* A CQ without a channel can be armed, but causes no event. */
static void
test_no_channel(void **state)
{
	struct ibv_cq *mute = uroce_create_cq(fake.context, 8, NULL, NULL, 0);

	assert_int_equal(uroce_req_notify_cq(mute, 0), 0);
	push_to(mute, IBV_WC_SUCCESS, false);
	assert_false(readable());
	assert_int_equal(uroce_destroy_cq(mute), 0);
}

/* Unread events of a destroyed CQ disappear; those of other CQs stay. */
static void
test_destroy_with_unread_events(void **state)
{
	struct ibv_cq *other = uroce_create_cq(fake.context, 8, &other, channel, 0);

	arm(0);
	push();
	assert_int_equal(uroce_req_notify_cq(other, 0), 0);
	push_to(other, IBV_WC_SUCCESS, false);
	arm(0);
	push();
	assert_int_equal(uroce_destroy_cq(cq), 0);
	cq = NULL;
	expect_event(other);
	assert_false(readable());
	uroce_ack_cq_events(other, 1);
	assert_int_equal(uroce_destroy_cq(other), 0);
}

static int destroyed;	/* atomic */

static void *
destroy_cq(void *arg)
{
	int ret = uroce_destroy_cq(arg);

	__atomic_store_n(&destroyed, 1, __ATOMIC_RELEASE);
	return (void *)(intptr_t)ret;
}

static void
test_destroy_waits_for_acks(void **state)
{
	pthread_t thread;
	void *ret;
	pid_t id;

	for (int i = 0; i < 2; i++) {
		arm(0);
		push();
		expect_event(cq);
	}
	destroyed = 0;
	id = test_task_start(&thread, destroy_cq, cq);
	test_task_await_sleep(id);
	uroce_ack_cq_events(cq, 1);
	test_task_await_sleep(id);
	assert_int_equal(__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE), 0);
	uroce_ack_cq_events(cq, 1);
	pthread_join(thread, &ret);
	assert_null(ret);
	cq = NULL;
}

#define MESSAGES 20000

/* Let the consumer empty the queue again and again, so that nearly every push meets an arming. */
static void *
produce(void *arg)
{
	uint32_t *outstanding = arg;

	for (unsigned int i = 0; i < MESSAGES; i++) {
		while (__atomic_load_n(outstanding, __ATOMIC_ACQUIRE) >= 3)
			sched_yield();
		__atomic_fetch_add(outstanding, 1, __ATOMIC_ACQ_REL);
		push();
	}
	return NULL;
}

/* Arm, poll until empty, wait: a completion lost between arming and waiting would make this wait forever. */
static void
test_none_missed(void **state)
{
	uint32_t outstanding = 0, polled = 0;
	struct ibv_wc wc[4];
	pthread_t thread;
	int n;

	arm(0);
	assert_int_equal(pthread_create(&thread, NULL, produce, &outstanding), 0);
	while (polled < MESSAGES) {
		struct ibv_cq *got;
		void *context;

		assert_int_equal(uroce_get_cq_event(channel, &got, &context), 0);
		assert_ptr_equal(got, cq);
		uroce_ack_cq_events(cq, 1);
		arm(0);
		while ((n = uroce_poll_cq(cq, 4, wc)) > 0) {
			polled += n;
			__atomic_fetch_sub(&outstanding, n, __ATOMIC_ACQ_REL);
		}
		assert_int_equal(n, 0);
	}
	pthread_join(thread, NULL);
	assert_int_equal(polled, MESSAGES);
}

UROCE_TESTS(channel)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_create_destroy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unarmed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_shot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_solicited_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_arming_for_more_and_less, setup, teardown),
		cmocka_unit_test_setup_teardown(test_several_events_and_queues, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nonblocking, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_channel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destroy_with_unread_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destroy_waits_for_acks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_none_missed, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
