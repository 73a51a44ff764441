/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The busy time of a worker: only rounds that moved frames are busy, and time without a round is not. Its late rounds:
 * before each, the worker's thread did not poll, although it neither slept nor had left.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_ring.h>

#include "clock.h"
#include "eal.h"
#include "groups.h"
#include "port/sleep/sleep.h"
#include "port/sleep/wake.h"
#include "port/worker/worker.h"
#include "tap.h"

#define SLACK_NS 10000	/* of a stopped clock, which runs a million times slower: 10 s of real time */

static const char *const cidrs[] = { "10.0.0.1/24", NULL };

/* Frames too short for any protocol: a round that receives them counts as busy. */
static void
put_frames(struct tap *t, unsigned int n)
{
	static const uint8_t frame[10];

	while (n-- > 0)
		assert_int_equal(rte_ring_enqueue(t->wire.rx[0], tap_mbuf(t, frame, sizeof(frame))), 0);
}

static struct uroce_worker_load
since(struct uroce_worker *w, const struct uroce_worker_load *before)
{
	struct uroce_worker_load now = { .size = sizeof(now) };

	uroce_query_worker(w, &now);
	assert_true(now.busy_ns <= now.total_ns);
	assert_true(now.busy_rounds <= now.rounds);
	return (struct uroce_worker_load){
		.busy_ns = now.busy_ns - before->busy_ns,
		.total_ns = now.total_ns - before->total_ns,
		.rounds = now.rounds - before->rounds,
		.busy_rounds = now.busy_rounds - before->busy_rounds,
	};
}

static void
test_idle(void **state)
{
	struct uroce_worker_load before = { .size = sizeof(before) }, load;
	struct tap t;

	tap_open(&t, 0, cidrs);
	test_poll(&t.worker, 1, 3);
	uroce_query_worker(t.worker, &before);
	test_poll(&t.worker, 1, 100);
	test_clock_advance(2000000);
	load = since(t.worker, &before);
	assert_int_equal(load.rounds, 100);
	assert_int_equal(load.busy_rounds, 0);
	assert_int_equal(load.busy_ns, 0);
	assert_true(load.total_ns >= 2000000); /* no thread polled for most of it */
	tap_close(&t);
}

/* A round lasts until the next one begins. */
static void
test_busy(void **state)
{
	struct uroce_worker_load before = { .size = sizeof(before) }, load;
	struct tap t;

	tap_open(&t, 0, cidrs);
	test_poll(&t.worker, 1, 3);
	uroce_query_worker(t.worker, &before);
	for (unsigned int i = 1; i <= 5; i++) {
		put_frames(&t, i);
		assert_int_equal(uroce_worker_poll(t.worker), i);
		load = since(t.worker, &before);
		assert_int_equal(load.busy_rounds, i - 1);
		assert_int_equal(uroce_worker_poll(t.worker), 0);
		load = since(t.worker, &before);
		assert_int_equal(load.busy_rounds, i);
		assert_int_equal(load.rounds, 2 * i);
		assert_true(load.busy_ns > 0 && load.busy_ns <= i * UROCE_ROUND_MAX_NS);
	}
	tap_close(&t);
}

static void
test_not_polled(void **state)
{
	struct uroce_worker_load before = { .size = sizeof(before) }, load;
	struct tap t;

	tap_open(&t, 0, cidrs);
	test_poll(&t.worker, 1, 3);
	uroce_query_worker(t.worker, &before);
	put_frames(&t, 1);
	assert_int_equal(uroce_worker_poll(t.worker), 1);
	test_clock_advance(3 * UROCE_ROUND_MAX_NS);
	assert_int_equal(uroce_worker_poll(t.worker), 0);
	load = since(t.worker, &before);
	assert_int_equal(load.busy_ns, UROCE_ROUND_MAX_NS);
	assert_true(load.total_ns >= 2 * UROCE_ROUND_MAX_NS);
	tap_close(&t);
}

/* Poll once after so many ns. */
static void
poll_after(struct uroce_worker *w, uint64_t ns)
{
	test_clock_advance(ns);
	assert_int_equal(uroce_worker_poll(w), 0);
}

static void
expect_late(struct uroce_worker *w, uint64_t rounds, uint64_t latest_ns)
{
	struct uroce_worker_load load = { .size = sizeof(load) };

	assert_int_equal(uroce_query_worker(w, &load), 0);
	assert_int_equal(load.late_rounds, rounds);
	assert_in_range(load.latest_ns, latest_ns, latest_ns + (rounds != 0 ? SLACK_NS : 0));
}

/* A worker without a port. */
static int
open_worker(void **state)
{
	struct uroce_worker *w = uroce_create_worker(-1);

	if (w == NULL)
		return -1;
	test_clock_stop();
	*state = w;
	return 0;
}

static int
close_worker(void **state)
{
	test_clock_go();
	return uroce_destroy_worker(*state);
}

/* A new worker's first round is not late. */
static void
test_late(void **state)
{
	struct uroce_worker *w = *state;

	poll_after(w, NS_PER_S);
	expect_late(w, 0, 0);
	poll_after(w, UROCE_ROUND_LATE_NS - SLACK_NS);
	expect_late(w, 0, 0);
	poll_after(w, UROCE_ROUND_LATE_NS);
	expect_late(w, 1, UROCE_ROUND_LATE_NS);
	poll_after(w, 0);
	expect_late(w, 1, UROCE_ROUND_LATE_NS);
	poll_after(w, 3 * UROCE_ROUND_MAX_NS);
	expect_late(w, 2, 3 * UROCE_ROUND_MAX_NS);
	poll_after(w, UROCE_ROUND_LATE_NS);
	expect_late(w, 3, 3 * UROCE_ROUND_MAX_NS);
}

/* The thread waits for the worker's descriptor. Time before it arms the worker counts. */
static void
test_late_armed(void **state)
{
	struct uroce_worker *w = *state;

	assert_true(uroce_worker_fd(w) >= 0);
	poll_after(w, 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(uroce_worker_arm(w, NULL), 0);
		if (i == 1) {
			uroce_worker_wake(w); /* the thread has not polled yet */
			test_clock_advance(NS_PER_S);
			uroce_worker_round(w);
		} else if (i == 2) {
			test_clock_advance(NS_PER_S);
			assert_int_equal(uroce_worker_arm(w, NULL), 0);
		}
		poll_after(w, NS_PER_S);
		expect_late(w, 0, 0);
		poll_after(w, 0);
	}
	poll_after(w, UROCE_ROUND_LATE_NS);
	expect_late(w, 1, UROCE_ROUND_LATE_NS);
	test_clock_advance(2 * UROCE_ROUND_LATE_NS);
	assert_int_equal(uroce_worker_arm(w, NULL), 0);
	expect_late(w, 2, 2 * UROCE_ROUND_LATE_NS);
	poll_after(w, NS_PER_S);
	expect_late(w, 2, 2 * UROCE_ROUND_LATE_NS);
}

/* The thread that drives a worker sleeps on its futex. */
static void
test_late_sleeping(void **state)
{
	struct uroce_worker *w = *state;

	poll_after(w, 0);
	assert_false(uroce_worker_sleep(w, UROCE_SLEEP_SPARE, 1));
	poll_after(w, NS_PER_S);
	__atomic_store_n(&w->sleep, UROCE_SLEEP_SPARE, __ATOMIC_RELAXED);
	poll_after(w, NS_PER_S);
	expect_late(w, 0, 0);
	test_clock_advance(NS_PER_S);
	uroce_worker_wake(w);	/* this thread polls before the one that wakes up */
	poll_after(w, 0);
	expect_late(w, 0, 0);
	poll_after(w, UROCE_ROUND_LATE_NS);
	expect_late(w, 1, UROCE_ROUND_LATE_NS);
}

/* Other threads may poll a worker that its thread has left, or does not poll. They poll rarely. */
static void
test_late_left(void **state)
{
	struct uroce_worker *w = *state;

	poll_after(w, 0);
	uroce_worker_leave(w);
	poll_after(w, NS_PER_S);
	expect_late(w, 0, 0);
	uroce_worker_leave(w);
	for (unsigned int i = 0; i < 3; i++) {
		test_clock_advance(NS_PER_S);
		uroce_worker_round(w);
	}
	poll_after(w, NS_PER_S);
	expect_late(w, 0, 0);
	w->poller = 1;	/* another thread, which is away */
	uroce_worker_leave(w); /* this one does not poll it */
	test_clock_advance(UROCE_ROUND_LATE_NS);
	uroce_worker_round(w);
	expect_late(w, 1, UROCE_ROUND_LATE_NS);
	test_clock_advance(UROCE_WORKER_LEFT_NS);
	uroce_worker_round(w);
	expect_late(w, 2, UROCE_WORKER_LEFT_NS);
	test_clock_advance(NS_PER_S);
	uroce_worker_round(w);
	expect_late(w, 2, UROCE_WORKER_LEFT_NS);
}

UROCE_TESTS(port_load)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_not_polled),
		cmocka_unit_test_setup_teardown(test_late, open_worker, close_worker),
		cmocka_unit_test_setup_teardown(test_late_armed, open_worker, close_worker),
		cmocka_unit_test_setup_teardown(test_late_sleeping, open_worker, close_worker),
		cmocka_unit_test_setup_teardown(test_late_left, open_worker, close_worker),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
