/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Deregistration and workers: which workers a waiting thread may poll, and a worker's work for memory that is released
 * by callback. net_ring is a port that cannot free sent mbufs on request.
 */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_malloc.h>

#include "eal.h"
#include "groups.h"
#include "mem/mr.h"
#include "base/clock.h"
#include "port/worker/worker.h"
#include "tap.h"

#define BYTES	4096
#define HOUR_NS UINT64_C(3600000000000)

static const char *const cidrs[] = { "10.0.0.1/24", NULL };
static unsigned int freed;

static void *
poll_once(void *arg)
{
	struct uroce_worker *w = arg;

	uroce_worker_poll(w);
	return NULL;
}

/* The worker belongs to another thread, which may poll it again at any time. */
static void
give_to_another_thread(struct uroce_worker *w)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, poll_once, w), 0);
	pthread_join(thread, NULL);
	w->polled_ns = uroce_clock_ns() + HOUR_NS;
}

/* Put a frame on the wire. */
static void
put(struct tap *t)
{
	static const uint8_t frame[10];

	assert_int_equal(rte_ring_enqueue(t->wire.rx[0], tap_mbuf(t, frame, sizeof(frame))), 0);
}

static void
test_whose_worker(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs); /* polls the worker */
	assert_true(uroce_worker_is_ours(t.worker));
	give_to_another_thread(t.worker);
	assert_false(uroce_worker_is_ours(t.worker));
	t.worker->polled_ns = uroce_clock_ns() - UROCE_WORKER_LEFT_NS;
	assert_true(uroce_worker_is_ours(t.worker));
	give_to_another_thread(t.worker);
	uroce_worker_round(t.worker); /* a round on behalf of no thread */
	assert_false(uroce_worker_is_ours(t.worker));
	uroce_worker_poll(t.worker);
	assert_true(uroce_worker_is_ours(t.worker));
	tap_close(&t);
}

/* A waiting thread does not poll the workers of other threads, but tells them that it waits. */
static void
test_progress(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	put(&t);
	give_to_another_thread(t.worker);
	put(&t);
	uroce_workers_progress();
	assert_int_equal(rte_ring_count(t.wire.rx[0]), 1);
	assert_true(t.worker->cleanup);
	t.port->dev.ops.worker->poll(&t.port->dev, NULL);
	assert_int_equal(rte_ring_count(t.wire.rx[0]), 1);
	t.worker->poller = 0; /* the worker belongs to no thread */
	uroce_workers_progress();
	assert_int_equal(rte_ring_count(t.wire.rx[0]), 0);
	tap_close(&t);
}

static void
count_freed(void *arg)
{
	struct tap *t = arg;

	/* the callback runs without any turn */
	uroce_worker_enter(t->worker);
	uroce_worker_exit(t->worker);
	freed++;
}

/* The worker's polls detect that the memory is free, and make the port free its sent mbufs. */
static void
test_callback(void **state)
{
	char *memory = rte_malloc(NULL, BYTES, 0);
	struct ibv_mr *mr;
	struct rte_mbuf *m;
	struct ibv_pd *pd;
	struct tap t;

	tap_open(&t, 0, cidrs);
	pd = uroce_alloc_pd(t.context);
	mr = uroce_reg_mr(pd, memory, BYTES, 0);
	m = rte_pktmbuf_alloc(t.worker->engine.header_pool);
	assert_int_equal(uroce_mr_attach(uroce_mr_lookup(&t.port->dev.mrs, mr->lkey, pd, (uintptr_t)memory, 1, 0),
					 (uintptr_t)memory, 1, false, m),
			 0);
	freed = 0;
	assert_int_equal(uroce_dereg_mr_async(mr, count_freed, &t), 0);
	uroce_worker_poll(t.worker);
	assert_int_equal(freed, 0);
	assert_int_equal(uroce_close_device(t.context), EBUSY);
	/* after a longer wait, the worker sends filler frames */
	while (tap_counter(&t, "fillers_sent") == 0)
		uroce_worker_poll(t.worker);
	assert_int_equal(freed, 0);
	rte_pktmbuf_free(m);
	uroce_worker_round(t.worker); /* does not run the callback */
	assert_int_equal(freed, 0);
	uroce_worker_poll(t.worker);
	assert_int_equal(freed, 1);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	rte_free(memory);
	while (rte_ring_dequeue(t.wire.tx[0], (void **)&m) == 0)
		rte_pktmbuf_free(m);
	tap_close(&t);
}

UROCE_TESTS(port_teardown)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whose_worker),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_callback),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
