/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The completions of a destroyed or reset QP are removed from its CQ: those of other QPs stay, in order and with their
 * timestamps, and the removed ones make room; also while engines push.
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
#include "tasks.h"
#include "uroce.h"
#include "eal.h"
#include "fake.h"

#define GONE 7		/* the QPN of the removed QP */
#define STAYS 8
#define ENTRIES 6	/* in a ring of 8 entries */
#define PUSHES 20000

static bool
push(struct ibv_cq *cq, uint32_t qpn, uint64_t wr_id)
{
	struct ibv_wc wc = { .wr_id = wr_id, .qp_num = qpn };

	fake.engines[0].now_ns = 1000 + wr_id;
	return uroce_cq_push(uroce_cq_of(cq), fake_engine(0), &wc, false);
}

static void
expect(struct ibv_cq_ex *cq, uint64_t wr_id)
{
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	assert_int_equal(cq->wr_id, wr_id);
	assert_int_equal(ibv_wc_read_qp_num(cq), STAYS);
	assert_int_equal(ibv_wc_read_completion_ts(cq), 1000 + wr_id);
	ibv_end_poll(cq);
}

static struct ibv_cq_ex *
create(void)
{
	struct ibv_cq_ex *cq = uroce_create_cq_ex(fake.context, &(struct ibv_cq_init_attr_ex){
		.cqe = ENTRIES, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_QP_NUM });

	assert_non_null(cq);
	return cq;
}

/* Each pattern of ownership, at each position in the ring. */
static void
test_every_pattern(void **state)
{
	struct ibv_cq_ex *ex = create();
	struct ibv_cq *cq = ibv_cq_ex_to_cq(ex);
	uint64_t next = 0;

	RTE_SET_USED(state);
	for (unsigned int pattern = 0; pattern < 1u << ENTRIES; pattern++) {
		for (unsigned int n = 0; n <= ENTRIES; n++) {
			unsigned int stay = 0;

			for (unsigned int i = 0; i < n; i++)
				assert_true(push(cq, pattern >> i & 1 ? GONE : STAYS, next + i));
			uroce_cq_forget_qp(uroce_cq_of(cq), GONE);
			for (unsigned int i = 0; i < n; i++)
				stay += (pattern >> i & 1) == 0;
			for (unsigned int i = stay; i < ENTRIES; i++)
				assert_true(push(cq, STAYS, next + n + i));
			for (unsigned int i = 0; i < n; i++)
				if ((pattern >> i & 1) == 0)
					expect(ex, next + i);
			for (unsigned int i = stay; i < ENTRIES; i++)
				expect(ex, next + n + i);
			assert_int_not_equal(ibv_start_poll(ex, NULL), 0);
			next += n + ENTRIES + 1;
		}
	}
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

static void *
forget(void *arg)
{
	uroce_cq_forget_qp(uroce_cq_of(arg), GONE);
	return NULL;
}

/* A thread that polls a batch gets all completions with which the batch began. */
static void
test_not_while_polled(void **state)
{
	struct ibv_cq_ex *ex = create();
	struct ibv_cq *cq = ibv_cq_ex_to_cq(ex);
	pthread_t thread;

	RTE_SET_USED(state);
	for (uint64_t i = 0; i < 3; i++)
		assert_true(push(cq, GONE, i));
	assert_int_equal(ibv_start_poll(ex, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, forget, cq), 0);
	test_thread_await_spin(thread);
	assert_int_equal(ibv_next_poll(ex), 0);
	assert_int_equal(ex->wr_id, 1);
	ibv_end_poll(ex);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_not_equal(ibv_start_poll(ex, NULL), 0);
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

/* The thread that polls a batch may itself destroy a QP whose completions the batch contains: the current entry
 * stays readable, and the rest of the batch continues without that QP's completions. */
static void
test_by_the_thread_that_polls(void **state)
{
	static const uint32_t flags[] = { 0, IBV_CREATE_CQ_ATTR_SINGLE_THREADED };

	RTE_SET_USED(state);
	for (size_t i = 0; i < RTE_DIM(flags); i++) {
		struct ibv_cq_ex *ex = uroce_create_cq_ex(fake.context, &(struct ibv_cq_init_attr_ex){
			.cqe = ENTRIES, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = flags[i],
			.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_QP_NUM });
		struct ibv_cq *cq = ibv_cq_ex_to_cq(ex);

		assert_non_null(ex);
		for (uint64_t j = 0; j < ENTRIES; j++)
			assert_true(push(cq, j == 1 || j >= 4 ? STAYS : GONE, j));	/* 0, 2 and 3 are removed */
		assert_int_equal(ibv_start_poll(ex, NULL), 0);
		assert_int_equal(ibv_next_poll(ex), 0);
		assert_int_equal(ibv_next_poll(ex), 0);
		uroce_cq_forget_qp(uroce_cq_of(cq), GONE);
		assert_int_equal(ex->wr_id, 2);
		assert_int_equal(ibv_wc_read_qp_num(ex), GONE);
		assert_int_equal(ibv_wc_read_completion_ts(ex), 1002);
		for (uint64_t j = 4; j < ENTRIES; j++) {
			assert_int_equal(ibv_next_poll(ex), 0);
			assert_int_equal(ex->wr_id, j);
			assert_int_equal(ibv_wc_read_completion_ts(ex), 1000 + j);
		}
		assert_int_equal(ibv_next_poll(ex), ENOENT);
		assert_int_equal(ibv_wc_read_completion_ts(ex), 1000 + ENTRIES - 1);
		ibv_end_poll(ex);
		/* the CQ has room for as many as before */
		for (uint64_t j = 0; j < ENTRIES; j++)
			assert_true(push(cq, STAYS, j));
		for (uint64_t j = 0; j < ENTRIES; j++)
			expect(ex, j);
		assert_int_equal(uroce_destroy_cq(cq), 0);
	}
}

static struct ibv_cq *busy_cq;
static uint64_t taken;	/* atomic */

static void *
producer(void *arg)
{
	RTE_SET_USED(arg);
	for (uint64_t i = 0; i < PUSHES; i++) {
		struct ibv_wc wc = { .wr_id = i, .qp_num = STAYS };

		while (i - __atomic_load_n(&taken, __ATOMIC_ACQUIRE) >= ENTRIES)
			sched_yield();
		RTE_VERIFY(uroce_cq_push(uroce_cq_of(busy_cq), fake_engine(0), &wc, false));
	}
	return NULL;
}

static void
test_meanwhile(void **state)
{
	pthread_t thread;
	struct ibv_wc wc;

	RTE_SET_USED(state);
	busy_cq = uroce_create_cq(fake.context, ENTRIES, NULL, NULL, 0);
	taken = 0;
	assert_int_equal(pthread_create(&thread, NULL, producer, NULL), 0);
	while (taken < PUSHES) {
		uroce_cq_forget_qp(uroce_cq_of(busy_cq), GONE);
		if (uroce_poll_cq(busy_cq, 1, &wc) == 0) {
			sched_yield();
			continue;
		}
		assert_int_equal(wc.wr_id, taken);
		__atomic_store_n(&taken, taken + 1, __ATOMIC_RELEASE);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(uroce_destroy_cq(busy_cq), 0);
}

UROCE_TESTS(cq_forget)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_pattern, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_not_while_polled, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_by_the_thread_that_polls, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_meanwhile, fake_setup, fake_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
