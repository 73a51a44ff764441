/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Event queues: order, no loss of any number of events, readiness of the file descriptor, signals, and objects that are
 * destroyed while their events are queued or being read.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "tasks.h"
#include "uroce_config.h"
#include "base/event_queue.h"

struct record {
	struct uroce_event_refs *owner;
	uint64_t number;
};

static struct uroce_event_queue q;

static struct uroce_event_refs *
refs_of(const void *record)
{
	return ((const struct record *)record)->owner;
}

static int
setup(void **state)
{
	return uroce_event_queue_init(&q, sizeof(struct record), refs_of);
}

static int
teardown(void **state)
{
	uroce_event_queue_fini(&q);
	return 0;
}

static void
put(struct uroce_event_refs *owner, uint64_t number)
{
	struct record r = { owner, number };

	assert_int_equal(uroce_event_queue_put(&q, &r), 0);
}

static void
expect(const struct uroce_event_refs *owner, uint64_t number)
{
	struct record r;

	assert_int_equal(uroce_event_queue_get(&q, &r), 0);
	assert_ptr_equal(r.owner, owner);
	assert_int_equal(r.number, number);
}

static bool
readable(void)
{
	struct pollfd p = { .fd = q.fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void
set_nonblocking(void)
{
	assert_int_equal(fcntl(q.fd, F_SETFL, fcntl(q.fd, F_GETFL) | O_NONBLOCK), 0);
}

static void
test_order_and_readiness(void **state)
{
	struct uroce_event_refs a = { 0 }, b = { 0 };

	assert_false(readable());
	put(&a, 1);
	put(&b, 2);
	put(NULL, 3);
	put(&a, 4);
	assert_true(readable());
	assert_int_equal(a.queued, 2);
	assert_int_equal(a.reported, 0);
	expect(&a, 1);
	expect(&b, 2);
	expect(NULL, 3);
	assert_true(readable());
	expect(&a, 4);
	assert_false(readable());
	assert_int_equal(a.queued, 0);
	assert_int_equal(a.reported, 2);
	assert_int_equal(b.reported, 1);
}

static void
test_nonblocking(void **state)
{
	struct record r;

	set_nonblocking();
	assert_int_equal(uroce_event_queue_get(&q, &r), -EAGAIN);
	put(NULL, 1);
	expect(NULL, 1);
	assert_int_equal(uroce_event_queue_get(&q, &r), -EAGAIN);
}

/* The next event goes to the thread that polls for it, if it is the first to poll and no event waits in the socket. */
static void
test_taker(void **state)
{
	struct uroce_event_taker taker, second;
	struct uroce_event_refs a = { 0 };
	struct record r;

	put(&a, 1);
	assert_false(uroce_event_queue_offer(&q, &taker));
	assert_false(uroce_event_queue_withdraw(&q, &taker));
	expect(&a, 1);
	assert_true(uroce_event_queue_offer(&q, &taker));
	assert_false(uroce_event_queue_offer(&q, &second));
	assert_false(uroce_event_queue_withdraw(&q, &second));
	put(&a, 2);
	assert_true(taker.has_record);
	assert_false(readable());
	assert_true(uroce_event_queue_withdraw(&q, &taker));
	memcpy(&r, taker.record, sizeof(r));
	assert_ptr_equal(r.owner, &a);
	assert_int_equal(r.number, 2);
	assert_int_equal(a.queued, 0);
	assert_int_equal(a.reported, 2);
	assert_true(uroce_event_queue_offer(&q, &taker));
	assert_false(uroce_event_queue_withdraw(&q, &taker));
	put(&a, 3);
	assert_true(readable());
	assert_int_equal(uroce_event_queue_purge(&q, &a), 2);
	assert_true(uroce_event_queue_offer(&q, &taker)); /* a purge counts what it removes */
	assert_false(uroce_event_queue_withdraw(&q, &taker));
}

/* Many more events than a socket holds; the queue is read in part and written again, and stays in order. */
static void
test_none_lost(void **state)
{
	struct uroce_event_refs a = { 0 };
	uint64_t written = 0, read = 0;
	struct record r;

	set_nonblocking();
	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < 1000 + 100 * round; i++)
			put(&a, written++);
		for (unsigned int i = 0; i < 900; i++)
			expect(&a, read++);
	}
	assert_int_equal(a.queued, written - read);
	while (read != written)
		expect(&a, read++);
	assert_int_equal(uroce_event_queue_get(&q, &r), -EAGAIN);
	assert_int_equal(a.reported, written);
	assert_int_equal(q.lost, 0);
}

/* A thread has read a record from the socket, and has not yet refilled it from the backlog: a new record goes behind
 * the backlog. */
static void
test_order_behind_backlog(void **state)
{
	uint64_t written = 0;
	struct record r;

	while (q.backlog_tail == q.backlog_head)
		put(NULL, written++);
	assert_int_equal(recv(q.fd, &r, sizeof(r), 0), sizeof(r));
	put(NULL, written++);
	for (uint64_t i = 1; i < written; i++)
		expect(NULL, i);
	assert_false(readable());
}

static void
test_limit(void **state)
{
	struct uroce_event_refs a = { 0 };
	struct record r = { &a, 0 };
	uint64_t kept;

	while (uroce_event_queue_put(&q, &r) == 0)
		r.number++;
	kept = r.number;
	assert_uint_in_range(kept, UROCE_MAX_QUEUED_EVENTS, UROCE_MAX_QUEUED_EVENTS + 100000);
	assert_int_equal(uroce_event_queue_put(&q, &r), -ENOSPC);
	assert_int_equal(q.lost, 2);
	assert_int_equal(a.queued, kept);
	for (uint64_t i = 0; i < kept; i++)
		expect(&a, i);
	assert_false(readable());
	put(&a, 7);
	expect(&a, 7);
}

static void
test_purge(void **state)
{
	struct uroce_event_refs a = { 0 }, b = { 0 };

	/* some in the socket, some in the backlog */
	for (uint64_t i = 0; i < 3000; i++) {
		put(&a, i);
		put(&b, i);
	}
	expect(&a, 0);
	expect(&b, 0);
	assert_int_equal(uroce_event_queue_purge(&q, &a), 1);
	assert_int_equal(a.queued, 0);
	assert_int_equal(b.queued, 2999);
	for (uint64_t i = 1; i < 3000; i++)
		expect(&b, i);
	assert_false(readable());
	put(&b, 1);
	assert_int_equal(uroce_event_queue_purge(&q, &b), 3000);
	assert_false(readable());
	/* without queued events, nothing happens */
	assert_int_equal(uroce_event_queue_purge(&q, &b), 3000);
}

static void *
get_until_stop(void *arg)
{
	uint64_t n = 0;
	struct record r;

	(void)arg;
	while (uroce_event_queue_get(&q, &r) == 0 && r.owner != NULL)
		n++;
	return (void *)(uintptr_t)n;
}

/* Objects are destroyed while two threads read: each event is either reported or discarded, and none arrives later. */
static void
test_purge_while_reading(void **state)
{
	static struct uroce_event_refs objects[200];
	pthread_t threads[2];
	uint64_t reported = 0, got = 0;
	void *n;

	memset(objects, 0, sizeof(objects));
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_until_stop, NULL), 0);
	for (unsigned int i = 0; i < 200; i++) {
		for (unsigned int k = 0; k < 50; k++)
			put(&objects[i], k);
		reported += uroce_event_queue_purge(&q, &objects[i]);
		assert_int_equal(objects[i].queued, 0);
		/* as if freed: the end of the test detects a later access */
		objects[i].reported = 0;
	}
	put(NULL, 0);
	put(NULL, 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &n), 0);
		got += (uintptr_t)n;
	}
	assert_int_equal(got, reported);
	for (unsigned int i = 0; i < 200; i++) {
		assert_int_equal(objects[i].queued, 0);
		assert_int_equal(objects[i].reported, 0);
	}
}

static int waiter_result;	/* atomic: 1 while it waits */

static void
on_signal(int number)
{
	(void)number;
}

static void *
wait_for_one(void *arg)
{
	struct record r;
	int ret = uroce_event_queue_get(&q, &r);

	(void)arg;
	__atomic_store_n(&waiter_result, ret, __ATOMIC_RELEASE);
	return NULL;
}

/* @return the thread ID of the waiter, which sleeps by then */
static pid_t
start_waiter(pthread_t *thread, int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	pid_t id;

	waiter_result = 1;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	id = test_task_start(thread, wait_for_one, NULL);
	test_task_await_sleep(id);
	return id;
}

/* Wait until no signal is pending for the thread, and it sleeps again or has ended. */
static void
await_delivery(pid_t id)
{
	char line[TEST_TASK_LINE];

	while (test_task_status(id, "SigPnd:\t", line) == 0 && strtoull(line, NULL, 16) != 0)
		sched_yield();
	test_task_await_sleep(id);
}

/* As with read(2), a handler without SA_RESTART ends the wait, and one with it does not. */
static void
test_signals(void **state)
{
	pthread_t thread;
	pid_t id;

	id = start_waiter(&thread, 0);
	while (__atomic_load_n(&waiter_result, __ATOMIC_ACQUIRE) == 1) {
		pthread_kill(thread, SIGUSR1);
		await_delivery(id);
	}
	pthread_join(thread, NULL);
	assert_int_equal(waiter_result, -EINTR);

	id = start_waiter(&thread, SA_RESTART);
	for (int i = 0; i < 20; i++) {
		pthread_kill(thread, SIGUSR1);
		await_delivery(id);
	}
	assert_int_equal(__atomic_load_n(&waiter_result, __ATOMIC_ACQUIRE), 1);
	put(NULL, 1);
	pthread_join(thread, NULL);
	assert_int_equal(waiter_result, 0);
}

UROCE_TESTS(event_queue)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order_and_readiness, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nonblocking, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taker, setup, teardown),
		cmocka_unit_test_setup_teardown(test_none_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order_behind_backlog, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_purge, setup, teardown),
		cmocka_unit_test_setup_teardown(test_purge_while_reading, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signals, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
