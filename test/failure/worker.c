/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The thread that polls a worker is replaced under traffic: by another lcore or thread, also after it was canceled in a
 * burst. No frame is lost: the clock is slow, so that no timer would recover it.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include "clock.h"
#include "eal.h"
#include "groups.h"
#include "pair.h"
#include "port/port.h"
#include "port/worker/worker.h"
#include "uroce_config.h"

#define LCORES	  6	/* that take turns, beside the main one: their caches together could hold a whole pool */
#define EXCHANGES 40	/* WRITEs and READs on each of them: more mbufs than a cache */

static struct pair pair;

static int
setup(void **state)
{
	pair_open_with(&pair, 2, 1);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pair_end_create(&pair.ends[i]), 0);
	pair_connect(&pair);
	return 0;
}

static int
teardown(void **state)
{
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(test_counter(pair.ends[i].context, "retransmitted_packets"), 0);
		pair_end_destroy(&pair.ends[i]);
	}
	pair_close(&pair);
	return 0;
}

/* The worker of the far end, which other threads poll. */
static struct uroce_worker *
far(void)
{
	return pair.workers[1];
}

static void
post(unsigned int i)
{
	memset(pair.ends[0].memory, (int)i, PAIR_BYTES);
	memset(pair.ends[1].memory, (int)~i, PAIR_BYTES);
	pair_post(&pair, i % 2 == 0 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ);
}

/* Poll only the near end. */
static void
finish(void)
{
	while (!pair_has_completed(&pair))
		if (uroce_worker_poll(pair.workers[0]) == 0)
			sched_yield();
	assert_memory_equal(pair.ends[0].memory, pair.ends[1].memory, PAIR_BYTES);
}

static void
exchange(unsigned int i)
{
	post(i);
	finish();
}

static unsigned int
cached(unsigned int lcore)
{
	return rte_mempool_default_cache(far()->engine.payload_pool, lcore)->len +
	       rte_mempool_default_cache(far()->engine.header_pool, lcore)->len +
	       rte_mempool_default_cache(far()->queues[0]->pool, lcore)->len;
}

/* Each lcore stops in the middle of a message, which the next one continues, and leaves no mbufs in its caches. */
static void
test_lcores(void **state)
{
	unsigned int lcore = 0, i = 0;

	for (unsigned int n = 0; n < 2 * LCORES; n++) {
		lcore = lcore % LCORES + 1;
		assert_int_equal(uroce_worker_launch(far(), lcore), 0);
		if (n != 0)
			finish();
		while (++i % EXCHANGES != 0)
			exchange(i);
		post(i);
		for (unsigned int j = 0; j < n; j++)
			uroce_worker_poll(pair.workers[0]);
		assert_int_equal(uroce_worker_stop(far()), 0);
		assert_int_equal(cached(lcore), 0);
		assert_true(uroce_worker_is_ours(far()));
	}
	assert_int_equal(uroce_worker_launch(far(), 1), 0);
	finish();
	assert_int_equal(uroce_worker_stop(far()), 0);
}

/* An application's thread: polls until it is told to end, or until it is canceled. */
struct poller {
	pthread_t thread;
	bool stop;	/* atomic */
	bool as_lcore;	/* the thread gets an lcore id */
	bool leaves;
};

static void *
poll_main(void *arg)
{
	struct poller *p = arg;

	if (p->as_lcore)
		RTE_VERIFY(rte_thread_register() == 0);
	while (!__atomic_load_n(&p->stop, __ATOMIC_RELAXED)) {
		if (uroce_worker_poll(far()) == 0)
			sched_yield();
		pthread_testcancel();
	}
	if (p->leaves)
		uroce_worker_leave(far());
	if (p->as_lcore)
		rte_thread_unregister();
	return NULL;
}

static void
start(struct poller *p, bool as_lcore, bool leaves)
{
	*p = (struct poller){ .as_lcore = as_lcore, .leaves = leaves };
	assert_int_equal(pthread_create(&p->thread, NULL, poll_main, p), 0);
}

/* Threads with and without an lcore id end, with and without notice, in the middle of a message. */
static void
test_threads(void **state)
{
	struct poller poller;

	for (unsigned int i = 0; i < 8; i++) {
		start(&poller, (i & 1) != 0, (i & 2) != 0);
		if (i != 0)
			finish();
		exchange(2 * i);
		exchange(2 * i + 1);
		post(i);
		for (unsigned int j = 0; j < i; j++)
			uroce_worker_poll(pair.workers[0]);
		__atomic_store_n(&poller.stop, true, __ATOMIC_RELAXED);
		pthread_join(poller.thread, NULL);
		assert_true((i & 2) == 0 || uroce_worker_is_ours(far()));
	}
	start(&poller, false, true);
	finish();
	__atomic_store_n(&poller.stop, true, __ATOMIC_RELAXED);
	pthread_join(poller.thread, NULL);
}

/* ---- canceled ---- */

static struct {
	bool armed;	/* atomic: the next burst waits for the cancellation */
	bool is_in;	/* atomic: a burst waits */
	bool canceled;	/* atomic */
} driver;

/* As a driver that enters the kernel: a cancellation point within a burst. */
static uint16_t
receive(uint16_t port_id, uint16_t queue, struct rte_mbuf *frames[], uint16_t n, uint16_t room, void *arg)
{
	(void)port_id;
	(void)queue;
	(void)frames;
	(void)room;
	(void)arg;
	if (n == 0 || !__atomic_exchange_n(&driver.armed, false, __ATOMIC_RELAXED))
		return n;
	__atomic_store_n(&driver.is_in, true, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&driver.canceled, __ATOMIC_ACQUIRE))
		sched_yield();
	pthread_testcancel();
	return n;
}

static void
cancel_in_burst(struct poller *p)
{
	void *result;

	__atomic_store_n(&driver.is_in, false, __ATOMIC_RELAXED);
	__atomic_store_n(&driver.canceled, false, __ATOMIC_RELAXED);
	__atomic_store_n(&driver.armed, true, __ATOMIC_RELAXED);
	post(0);
	while (!__atomic_load_n(&driver.is_in, __ATOMIC_RELAXED))
		uroce_worker_poll(pair.workers[0]);
	assert_int_equal(pthread_cancel(p->thread), 0);
	__atomic_store_n(&driver.canceled, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(p->thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
}

/* A thread that is canceled in a burst completes its round: the turn is free, and the frames of the burst are not lost. */
static void
test_canceled(void **state)
{
	uint16_t port_id = pair.ends[1].wire.port_id;
	const struct rte_eth_rxtx_callback *callback;
	struct poller poller;

	far()->enters_kernel = true;
	callback = rte_eth_add_rx_callback(port_id, 0, receive, NULL);
	assert_non_null(callback);
	for (unsigned int i = 0; i < 4; i++) {
		start(&poller, (i & 1) != 0, false);
		exchange(i);
		cancel_in_burst(&poller);
		assert_false(rte_ticketlock_is_locked(&far()->turn));
		start(&poller, false, true);
		finish();
		__atomic_store_n(&poller.stop, true, __ATOMIC_RELAXED);
		pthread_join(poller.thread, NULL);
	}
	assert_int_equal(rte_eth_remove_rx_callback(port_id, 0, callback), 0);
}

/* ---- canceled while it holds all workers ---- */

static void
hold(void *arg)
{
	(void)arg;
	pthread_testcancel();
}

static void *
hold_main(void *arg)
{
	pthread_cancel(pthread_self());
	uroce_hold_workers(hold, arg);
	pthread_testcancel();
	return NULL;
}

static void
test_holder_canceled(void **state)
{
	pthread_t thread;
	void *result;

	assert_int_equal(pthread_create(&thread, NULL, hold_main, NULL), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	for (unsigned int i = 0; i < 2; i++)
		assert_false(rte_ticketlock_is_locked(&pair.workers[i]->turn));
	pair_write(&pair);
	assert_int_equal(pair_wait(&pair), IBV_WC_SUCCESS);
}

UROCE_TESTS(failure_worker)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(lcores), TEST(threads), TEST(canceled), TEST(holder_canceled),
	};

	test_eal_init("--lcores", "(0-6)@(0-1)", NULL);
	uroce_clock_init();
	test_clock_slow();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
