/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Resizing CQs, larger and smaller: entries stay, another thread's batch is not disturbed, and resizes go on while
 * engines push and threads poll.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "eal.h"
#include "fake.h"

static bool
push(struct ibv_cq *cq, unsigned int engine, uint64_t wr_id)
{
	struct ibv_wc wc = { .wr_id = wr_id, .qp_num = (uint32_t)wr_id + 1 };

	return uroce_cq_push(uroce_cq_of(cq), fake_engine(engine), &wc, false);
}

static void
expect(struct ibv_cq *cq, uint64_t wr_id)
{
	struct ibv_wc wc;

	assert_int_equal(uroce_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.qp_num, (uint32_t)wr_id + 1);
}

static void
test_refused(void **state)
{
	struct ibv_cq *cq = uroce_create_cq(fake.context, 3, NULL, NULL, 0);

	assert_int_equal(uroce_resize_cq(cq, 0), EINVAL);
	assert_int_equal(uroce_resize_cq(cq, -1), EINVAL);
	assert_int_equal(uroce_resize_cq(cq, UROCE_MAX_CQE + 1), EINVAL);
	assert_true(push(cq, 0, 1) && push(cq, 0, 2));
	assert_int_equal(uroce_resize_cq(cq, 1), EINVAL);
	assert_int_equal(cq->cqe, 3);
	/* the refused resize changed nothing */
	assert_true(push(cq, 0, 3));
	expect(cq, 1);
	expect(cq, 2);
	expect(cq, 3);
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

/* From each size to each other, with each number of entries, at each position in the ring. */
static void
test_keeps_what_is_in_it(void **state)
{
	for (unsigned int from = 1; from < 10; from++) {
		for (unsigned int to = 1; to < 10; to++) {
			for (unsigned int n = 0; n <= RTE_MIN(from, to); n++) {
				struct ibv_cq *cq = uroce_create_cq(fake.context, (int)from, NULL, NULL, 0);
				uint64_t next = 0;

				for (uint64_t i = 0; i < from + to; i++) {
					assert_true(push(cq, 0, i));
					expect(cq, next++);
				}
				for (uint64_t i = 0; i < n; i++)
					assert_true(push(cq, 0, next + i));
				assert_int_equal(uroce_resize_cq(cq, (int)to), 0);
				assert_int_equal(cq->cqe, to);
				for (uint64_t i = n; i < to; i++)
					assert_true(push(cq, 0, next + i));
				assert_false(push(cq, 0, 99));
				for (unsigned int i = 0; i < to; i++)
					expect(cq, next++);
				assert_int_equal(uroce_destroy_cq(cq), 0);
			}
		}
	}
}

static void
test_time_stamps_stay(void **state)
{
	struct ibv_cq_ex *cq = uroce_create_cq_ex(fake.context, &(struct ibv_cq_init_attr_ex){
		.cqe = 3, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP });

	for (uint64_t i = 0; i < 3; i++) {
		fake.engines[0].now_ns = 1000 + i;
		assert_true(push(ibv_cq_ex_to_cq(cq), 0, i));
	}
	assert_int_equal(uroce_resize_cq(ibv_cq_ex_to_cq(cq), 100), 0);
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(ibv_wc_read_completion_ts(cq), 1000 + i);
		assert_int_equal(ibv_next_poll(cq), i < 2 ? 0 : ENOENT);
	}
	ibv_end_poll(cq);
	assert_int_equal(uroce_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static struct ibv_cq *driven;

/* A stand-in for a worker's poll that completes a request. */
static void
poll_and_push(struct uroce_device *dev, struct uroce_cq *cq)
{
	assert_ptr_equal(dev, &fake.dev);
	assert_ptr_equal(cq, driven);
	assert_true(push(driven, 0, 2));
}

/* If polls drive the workers, a resize drives them first, and then counts the completions. */
static void
test_drives_the_workers(void **state)
{
	const struct uroce_worker_ops *real = fake.dev.ops.worker;
	struct uroce_worker_ops ops = *real;

	ops.poll = poll_and_push;
	fake.dev.ops.worker = &ops;
	driven = uroce_create_cq(fake.context, 3, NULL, NULL, 0);
	assert_true(push(driven, 0, 1));
	assert_int_equal(uroce_resize_cq(driven, 1), 0);
	assert_int_equal(uroce_resize_cq(driven, 3), 0);
	fake.dev.poll_progress = true;
	assert_int_equal(uroce_resize_cq(driven, 1), EINVAL);
	fake.dev.poll_progress = false;
	fake.dev.ops.worker = real;
	expect(driven, 1);
	expect(driven, 2);
	assert_int_equal(uroce_destroy_cq(driven), 0);
}

/* ---- threads ---- */

#define PUSHES 20000

static struct {
	struct ibv_cq *cq;
	uint32_t running;	/* atomic: producers */
	uint64_t seen[2];	/* under `lock`: per producer, the next expected number */
	pthread_mutex_t lock;
	uint64_t polled;	/* atomic */
} mt;

/* An engine: pushes in turn, and never more than the smallest ring holds. */
static void *
producer(void *arg)
{
	uint64_t which = (uintptr_t)arg;

	for (uint64_t i = 0; i < PUSHES; i++) {
		/* at most 8 of each producer are in the CQ */
		while (i - __atomic_load_n(&mt.seen[which], __ATOMIC_RELAXED) >= 8)
			sched_yield();
		fake.dev.ops.worker->engine_enter(fake_engine((unsigned int)which));
		RTE_VERIFY(push(mt.cq, (unsigned int)which, which << 32 | i));
		fake.dev.ops.worker->engine_exit(fake_engine((unsigned int)which));
	}
	__atomic_fetch_sub(&mt.running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void
take(uint64_t wr_id)
{
	uint64_t which = wr_id >> 32;

	RTE_VERIFY(which < 2 && mt.seen[which] == (uint32_t)wr_id);
	__atomic_store_n(&mt.seen[which], mt.seen[which] + 1, __ATOMIC_RELAXED);
}

/* A consumer handles all that a poll returns before another consumer polls: thus the test can check the order. */
static void *
consumer(void *arg)
{
	struct ibv_wc wc[3];

	RTE_SET_USED(arg);
	while (__atomic_load_n(&mt.polled, __ATOMIC_RELAXED) < 2 * PUSHES) {
		int n;

		pthread_mutex_lock(&mt.lock);
		n = uroce_poll_cq(mt.cq, RTE_DIM(wc), wc);
		RTE_VERIFY(n >= 0);
		for (int i = 0; i < n; i++)
			take(wc[i].wr_id);
		pthread_mutex_unlock(&mt.lock);
		__atomic_fetch_add(&mt.polled, (uint64_t)n, __ATOMIC_RELAXED);
		if (n == 0)
			sched_yield();
	}
	return NULL;
}

/* @param producers	1: pushes without a lock; 2: pushes with the lock */
static void
resize_meanwhile(unsigned int producers)
{
	pthread_t threads[4];
	unsigned int n = 0, resized = 0;

	mt.cq = uroce_create_cq(fake.context, 16, NULL, NULL, 0);
	mt.running = producers;
	mt.polled = 2 * PUSHES - producers * (uint64_t)PUSHES;
	mt.seen[0] = mt.seen[1] = 0;
	pthread_mutex_init(&mt.lock, NULL);
	for (unsigned int i = 0; i < producers; i++)
		uroce_cq_attach(uroce_cq_of(mt.cq), fake_engine(i));
	for (uintptr_t i = 0; i < producers; i++)
		assert_int_equal(pthread_create(&threads[n++], NULL, producer, (void *)i), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[n++], NULL, consumer, NULL), 0);
	while (__atomic_load_n(&mt.running, __ATOMIC_ACQUIRE) != 0) {
		assert_int_equal(uroce_resize_cq(mt.cq, 16 + (int)(resized++ % 40)), 0);
		sched_yield();
	}
	while (n > 0)
		pthread_join(threads[--n], NULL);
	assert_true(resized > 0);
	for (unsigned int i = 0; i < producers; i++)
		assert_int_equal(mt.seen[i], PUSHES);
	for (unsigned int i = 0; i < producers; i++)
		uroce_cq_detach(uroce_cq_of(mt.cq), fake_engine(i));
	assert_int_equal(uroce_destroy_cq(mt.cq), 0);
	pthread_mutex_destroy(&mt.lock);
}

static void
test_one_producer(void **state)
{
	resize_meanwhile(1);
}

static void
test_two_producers(void **state)
{
	resize_meanwhile(2);
}

UROCE_TESTS(cq_resize)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_keeps_what_is_in_it, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_time_stamps_stay, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_drives_the_workers, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_one_producer, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_two_producers, fake_setup, fake_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
