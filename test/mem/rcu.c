/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce_rcu waits for readers inside a poll, and for no other thread.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rcu.h"
#include "eal.h"
#include "groups.h"

static void
test_init_is_idempotent(void **state)
{
	struct rte_rcu_qsbr *v;

	assert_int_equal(uroce_rcu_init(), 0);
	v = uroce_rcu;
	assert_non_null(v);
	assert_int_equal(uroce_rcu_init(), 0);
	assert_ptr_equal(uroce_rcu, v);
}

static void
test_nobody_to_wait_for(void **state)
{
	assert_int_equal(uroce_rcu_init(), 0);
	uroce_rcu_wait();
	/* no wait for a worker between its polls */
	assert_int_equal(uroce_rcu_register(0), 0);
	uroce_rcu_wait();
	uroce_rcu_begin_read(0);
	uroce_rcu_end_read(0);
	uroce_rcu_wait();
	assert_int_equal(uroce_rcu_unregister(0), 0);
}

struct reader {
	bool is_watcher;
	int in_poll; /* atomic */
	int leaving; /* atomic: set before the reader goes offline */
	int go;      /* atomic */
};

static void *
poll_once(void *arg)
{
	struct reader *r = arg;

	if (r->is_watcher)
		uroce_rcu_watch_begin();
	else
		uroce_rcu_begin_read(1);
	__atomic_store_n(&r->in_poll, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&r->go, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
	__atomic_store_n(&r->leaving, 1, __ATOMIC_RELEASE);
	if (r->is_watcher)
		uroce_rcu_watch_end();
	else
		uroce_rcu_end_read(1);
	return NULL;
}

static void *
let_go(void *arg)
{
	struct reader *r = arg;

	for (unsigned int i = 0; i < 1000; i++)
		sched_yield();
	__atomic_store_n(&r->go, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void
wait_for_reader(bool is_watcher, void (*wait)(void))
{
	struct reader r = { .is_watcher = is_watcher };
	pthread_t reader, helper;

	assert_int_equal(pthread_create(&reader, NULL, poll_once, &r), 0);
	while (__atomic_load_n(&r.in_poll, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
	assert_int_equal(pthread_create(&helper, NULL, let_go, &r), 0);
	wait();
	assert_int_equal(__atomic_load_n(&r.leaving, __ATOMIC_ACQUIRE), 1);
	pthread_join(reader, NULL);
	pthread_join(helper, NULL);
}

static void
test_waits_for_who_is_in_a_poll(void **state)
{
	assert_int_equal(uroce_rcu_init(), 0);
	assert_int_equal(uroce_rcu_register(1), 0);
	wait_for_reader(false, uroce_rcu_wait);
	wait_for_reader(false, uroce_rcu_wait_for_workers);
	assert_int_equal(uroce_rcu_unregister(1), 0);
}

static void
test_waits_for_the_watcher(void **state)
{
	assert_int_equal(uroce_rcu_init(), 0);
	wait_for_reader(true, uroce_rcu_wait);
	uroce_rcu_wait();
}

/* The caller holds a turn that the watcher waits for. */
static void
test_workers_without_the_watcher(void **state)
{
	assert_int_equal(uroce_rcu_init(), 0);
	uroce_rcu_watch_begin();
	uroce_rcu_wait_for_workers();
	uroce_rcu_watch_end();
}

static void *
leave_driver(void *arg)
{
	struct reader *r = arg;

	uroce_rcu_begin_read(1);
	uroce_rcu_enter_driver(1);
	__atomic_store_n(&r->in_poll, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&r->go, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
	uroce_rcu_leave_driver(1);
	__atomic_store_n(&r->in_poll, 2, __ATOMIC_RELEASE);
	while (__atomic_load_n(&r->go, __ATOMIC_ACQUIRE) == 1)
		sched_yield();
	__atomic_store_n(&r->leaving, 1, __ATOMIC_RELEASE);
	uroce_rcu_end_read(1);
	return NULL;
}

static void *
let_go_again(void *arg)
{
	struct reader *r = arg;

	for (unsigned int i = 0; i < 1000; i++)
		sched_yield();
	__atomic_store_n(&r->go, 2, __ATOMIC_RELEASE);
	return NULL;
}

/* A wait for memory skips a reader inside a driver, and waits for it again once it has left the driver. */
static void
test_memory_passes_over_drivers(void **state)
{
	struct reader r = { .go = 0 };
	pthread_t reader, helper;

	assert_int_equal(uroce_rcu_init(), 0);
	assert_int_equal(uroce_rcu_register(1), 0);
	assert_false(uroce_rcu_is_in_driver());
	uroce_rcu_wait_for_memory();
	assert_int_equal(pthread_create(&reader, NULL, leave_driver, &r), 0);
	while (__atomic_load_n(&r.in_poll, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
	assert_true(uroce_rcu_is_in_driver());
	uroce_rcu_wait_for_memory();
	__atomic_store_n(&r.go, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&r.in_poll, __ATOMIC_ACQUIRE) == 1)
		sched_yield();
	assert_false(uroce_rcu_is_in_driver());
	assert_int_equal(pthread_create(&helper, NULL, let_go_again, &r), 0);
	uroce_rcu_wait_for_memory();
	assert_int_equal(__atomic_load_n(&r.leaving, __ATOMIC_ACQUIRE), 1);
	pthread_join(reader, NULL);
	pthread_join(helper, NULL);
	assert_int_equal(uroce_rcu_unregister(1), 0);
}

static int
setup(void **state)
{
	test_eal_init(NULL);
	return 0;
}

UROCE_TESTS(rcu)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_init_is_idempotent),
		cmocka_unit_test(test_nobody_to_wait_for),
		cmocka_unit_test(test_waits_for_who_is_in_a_poll),
		cmocka_unit_test(test_waits_for_the_watcher),
		cmocka_unit_test(test_workers_without_the_watcher),
		cmocka_unit_test(test_memory_passes_over_drivers),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
