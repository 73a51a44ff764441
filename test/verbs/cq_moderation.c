/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Event moderation by count, by period and by both: which completions count, the effect of new limits, and the timer's
 * life on several engines. The test sets the engines' clocks.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "groups.h"
#include "uroce.h"
#include "eal.h"
#include "fake.h"

static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;

static void
moderate(uint16_t count, uint16_t period_us)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = period_us },
	};

	assert_int_equal(ibv_modify_cq(cq, &attr), 0);
}

static void
push(unsigned int engine, bool solicited, enum ibv_wc_status status)
{
	struct ibv_wc wc = { .status = status };

	assert_true(uroce_cq_push(uroce_cq_of(cq), fake_engine(engine), &wc, solicited));
}

static void
push_some(unsigned int n)
{
	for (; n > 0; n--)
		push(0, false, IBV_WC_SUCCESS);
}

static void
expect_events(unsigned int n)
{
	struct ibv_cq *got;
	void *context;

	for (; n > 0; n--) {
		assert_int_equal(uroce_get_cq_event(channel, &got, &context), 0);
		assert_ptr_equal(got, cq);
		uroce_ack_cq_events(cq, 1);
	}
	assert_int_equal(uroce_get_cq_event(channel, &got, &context), -1);
	assert_int_equal(errno, EAGAIN);
}

/* As the engine does when a timer expires. */
static void
turn(unsigned int engine, uint64_t now_ns)
{
	struct harness_engine *e = &fake.engines[engine];
	struct uroce_timer *timer = e->timer;

	e->now_ns = now_ns;
	if (timer == NULL || e->deadline_ns > now_ns)
		return;
	e->timer = NULL;
	uroce_cq_timeout(timer, fake_engine(engine));
}

static int
setup(void **state)
{
	fake_setup(state);
	channel = uroce_create_comp_channel(fake.context);
	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	cq = uroce_create_cq(fake.context, 100, NULL, channel, 0);
	fake.engines[0].now_ns = fake.engines[1].now_ns = 1000000;
	return 0;
}

static int
teardown(void **state)
{
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
	/* destroying a CQ stops its timer */
	assert_null(fake.engines[0].timer);
	assert_null(fake.engines[1].timer);
	return fake_teardown(state);
}

static void
test_mask(void **state)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_RESERVED };

	assert_int_equal(uroce_modify_cq(cq, &attr), EINVAL);
	attr.attr_mask = 0;
	attr.moderate.cq_count = 9;
	assert_int_equal(uroce_modify_cq(cq, &attr), 0);
	uroce_req_notify_cq(cq, 0);
	push_some(1);
	expect_events(1);
}

static void
test_count(void **state)
{
	moderate(3, 0);
	push_some(5);		/* not armed: these completions do not count */
	uroce_req_notify_cq(cq, 0);
	push_some(2);
	expect_events(0);
	push_some(1);
	expect_events(1);
	push_some(10);
	expect_events(0);
	uroce_req_notify_cq(cq, 0);
	push_some(2);
	uroce_req_notify_cq(cq, 0);	/* already armed */
	expect_events(0);
	push_some(1);
	expect_events(1);
	assert_null(fake.engines[0].timer);
}

static void
test_period(void **state)
{
	moderate(0, 50);
	uroce_req_notify_cq(cq, 0);
	push_some(1);
	assert_int_equal(fake.engines[0].deadline_ns, 1050000);
	fake.engines[0].now_ns += 20000;
	push_some(20);		/* the period began with the first completion */
	turn(0, 1049999);
	expect_events(0);
	turn(0, 1050000);
	expect_events(1);
	assert_null(fake.engines[0].timer);
	push_some(1);		/* not armed */
	assert_null(fake.engines[0].timer);
	uroce_req_notify_cq(cq, 0);
	push_some(1);
	turn(0, 1100000);
	expect_events(1);
}

static void
test_whatever_is_sooner(void **state)
{
	moderate(4, 50);
	uroce_req_notify_cq(cq, 0);
	push_some(4);
	expect_events(1);
	/* the timer keeps running; the next period gets its own end */
	assert_non_null(fake.engines[0].timer);
	uroce_req_notify_cq(cq, 0);
	fake.engines[0].now_ns += 30000;
	push_some(1);
	turn(0, 1050000);
	expect_events(0);
	turn(0, 1079999);
	expect_events(0);
	turn(0, 1080000);
	expect_events(1);
	/* without pending completions, the timer stops */
	uroce_req_notify_cq(cq, 0);
	push_some(4);
	expect_events(1);
	turn(0, 2000000);
	expect_events(0);
	assert_null(fake.engines[0].timer);
}

/* A CQ armed for solicited completions counts these and errors; an error does not cause an event earlier. */
static void
test_solicited(void **state)
{
	moderate(2, 0);
	uroce_req_notify_cq(cq, 1);
	push_some(5);
	push(0, true, IBV_WC_SUCCESS);
	push_some(5);
	expect_events(0);
	push(0, false, IBV_WC_LOC_PROT_ERR);
	expect_events(1);
}

static void
test_new_limits(void **state)
{
	moderate(100, 0);
	uroce_req_notify_cq(cq, 0);
	push_some(7);
	expect_events(0);
	moderate(50, 0);	/* pending completions cause an event at once */
	expect_events(1);
	uroce_req_notify_cq(cq, 0);
	push_some(1);
	moderate(0, 0);
	expect_events(1);
	uroce_req_notify_cq(cq, 0);
	push_some(1);
	expect_events(1);
	/* no event without pending completions */
	moderate(5, 5);
	expect_events(0);
	/* a timer that finds no period stops */
	uroce_req_notify_cq(cq, 0);
	push_some(1);
	assert_non_null(fake.engines[0].timer);
	moderate(9, 0);
	expect_events(1);
	uroce_req_notify_cq(cq, 0);
	push_some(1);
	turn(0, 9000000);
	expect_events(0);
	assert_null(fake.engines[0].timer);
	/* a new period starts it again */
	moderate(9, 5);
	expect_events(1);
	uroce_req_notify_cq(cq, 0);
	push_some(1);
	turn(0, 9005000);
	expect_events(1);
}

/* The timer belongs to the engine whose completion began the period; another engine may end the period by the count. */
static void
test_two_engines(void **state)
{
	moderate(3, 50);
	uroce_cq_attach(uroce_cq_of(cq), fake_engine(0));
	uroce_cq_attach(uroce_cq_of(cq), fake_engine(1));
	uroce_req_notify_cq(cq, 0);
	push(1, false, IBV_WC_SUCCESS);
	assert_non_null(fake.engines[1].timer);
	push(0, false, IBV_WC_SUCCESS);
	assert_null(fake.engines[0].timer);
	push(0, false, IBV_WC_SUCCESS);
	expect_events(1);
	uroce_req_notify_cq(cq, 0);
	fake.engines[0].now_ns += 10000;
	push(0, false, IBV_WC_SUCCESS);
	assert_null(fake.engines[0].timer);
	turn(1, 1050000);
	expect_events(0);
	turn(1, 1060000);
	expect_events(1);
	uroce_cq_detach(uroce_cq_of(cq), fake_engine(0));
	uroce_cq_detach(uroce_cq_of(cq), fake_engine(1));
}

/* The QP moves during the period. */
static void
test_moved(void **state)
{
	struct uroce_cq *c = uroce_cq_of(cq);

	moderate(0, 50);
	uroce_cq_attach(c, fake_engine(0));
	uroce_req_notify_cq(cq, 0);
	push(0, false, IBV_WC_SUCCESS);
	for (unsigned int i = 0; i < 2; i++)
		harness_engine_enter(fake_engine(i));
	uroce_cq_moved(c, 1, fake_engine(0), fake_engine(1));
	for (unsigned int i = 0; i < 2; i++)
		harness_engine_exit(fake_engine(i));
	assert_null(fake.engines[0].timer);
	assert_int_equal(fake.engines[1].deadline_ns, 1050000);
	turn(1, 1050000);
	expect_events(1);
	assert_null(c->moderation.timer_engine);
	/* no period */
	for (unsigned int i = 0; i < 2; i++)
		harness_engine_enter(fake_engine(i));
	uroce_cq_moved(c, 1, fake_engine(1), fake_engine(0));
	for (unsigned int i = 0; i < 2; i++)
		harness_engine_exit(fake_engine(i));
	assert_null(fake.engines[0].timer);
	uroce_cq_detach(c, fake_engine(0));
}

/* Destroy the CQ while its timer runs; teardown checks the timer. */
static void
test_destroyed(void **state)
{
	moderate(0, 50);
	uroce_req_notify_cq(cq, 0);
	push(1, false, IBV_WC_SUCCESS);
	assert_non_null(fake.engines[1].timer);
}

static void *
turn_at_1050us(void *arg)
{
	(void)arg;
	turn(0, 1050000);
	return NULL;
}

/* Keep an engine in the middle of the event of a period, by the lock of the channel's queue. */
static void
begin_event(pthread_t *thread, struct uroce_cq_moderation *m)
{
	bool taken = false;

	moderate(0, 50);
	uroce_req_notify_cq(cq, 0);
	push_some(1);
	pthread_mutex_lock(&uroce_comp_channel_of(channel)->events.lock);
	assert_int_equal(pthread_create(thread, NULL, turn_at_1050us, NULL), 0);
	while (!taken) {
		rte_spinlock_lock(&m->lock);
		taken = m->pending == 0;
		rte_spinlock_unlock(&m->lock);
		sched_yield();
	}
}

static void
end_event(pthread_t thread)
{
	pthread_mutex_unlock(&uroce_comp_channel_of(channel)->events.lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* An engine that reports a period still uses the CQ: destroying the CQ must wait for that engine. */
static void
test_in_an_engines_hands(void **state)
{
	struct uroce_cq_moderation *m = &uroce_cq_of(cq)->moderation;
	struct uroce_engine *holder;
	pthread_t thread;

	begin_event(&thread, m);
	rte_spinlock_lock(&m->lock);
	holder = m->timer_engine;
	rte_spinlock_unlock(&m->lock);
	end_event(thread);
	assert_ptr_equal(holder, fake_engine(0));
	assert_null(m->timer_engine);
	assert_null(fake.engines[0].timer);
	expect_events(1);
}

/* A period that begins during the event of the last one gets its timer, too. */
static void
test_a_period_after_another(void **state)
{
	struct uroce_cq_moderation *m = &uroce_cq_of(cq)->moderation;
	pthread_t thread;

	begin_event(&thread, m);
	while (__atomic_load_n(&uroce_cq_of(cq)->arm, __ATOMIC_RELAXED) != UROCE_CQ_UNARMED)
		sched_yield();
	uroce_req_notify_cq(cq, 0);
	fake.engines[1].now_ns = 1060000;
	push(1, false, IBV_WC_SUCCESS);
	end_event(thread);
	expect_events(1);
	assert_true((fake.engines[0].timer != NULL) != (fake.engines[1].timer != NULL));
	turn(0, 1109999);
	turn(1, 1109999);
	expect_events(0);
	turn(0, 1110000);
	turn(1, 1110000);
	expect_events(1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

UROCE_TESTS(cq_moderation)
{
	const struct CMUnitTest tests[] = {
		TEST(test_mask),
		TEST(test_count),
		TEST(test_period),
		TEST(test_whatever_is_sooner),
		TEST(test_solicited),
		TEST(test_new_limits),
		TEST(test_two_engines),
		TEST(test_moved),
		TEST(test_destroyed),
		TEST(test_in_an_engines_hands),
		TEST(test_a_period_after_another),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
