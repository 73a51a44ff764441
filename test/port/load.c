/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The busy time of a worker: only rounds that moved frames are busy, and time without a round is not.
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
#include "port/worker/worker.h"
#include "tap.h"

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

UROCE_TESTS(port_load)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_not_polled),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
