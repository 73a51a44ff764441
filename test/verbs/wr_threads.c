/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The work request calls of struct ibv_qp_ex in several threads, which wait for one another.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "groups.h"
#include "tasks.h"
#include "uroce.h"
#include "verbs/address/ah.h"
#include "eal.h"
#include "wr_fixture.h"

#define ROUNDS 20000

static uint32_t taken;	/* atomic: WQEs that the worker has taken */

/* Build two WQEs at a time, numbered n and n + 1: no other thread's WQE may come between them. */
static void *
builder(void *arg)
{
	uint64_t base = (uintptr_t)arg;

	for (uint64_t i = 0; i < ROUNDS;) {
		ibv_wr_start(ex);
		ex->wr_id = base + 2 * i;
		ibv_wr_send(ex);
		ex->wr_id = base + 2 * i + 1;
		ibv_wr_send(ex);
		if (ibv_wr_complete(ex) == 0)
			i++;
		else
			sched_yield();
	}
	return NULL;
}

static void
test_threads(void **state)
{
	pthread_t threads[2];
	struct uroce_wq *sq = &wr_built()->sq;

	for (uintptr_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, builder, (void *)(i << 40)), 0);
	for (taken = 0; taken < 2 * 2 * ROUNDS; taken += 2) {
		uint64_t first;

		while (__atomic_load_n(&sq->tail, __ATOMIC_ACQUIRE) - sq->head < 2)
			sched_yield();
		first = uroce_sqe_at(sq, sq->head)->wr_id;
		assert_int_equal(first % 2, 0);
		assert_int_equal(uroce_sqe_at(sq, sq->head + 1)->wr_id, first + 1);
		__atomic_store_n(&sq->head, sq->head + 2, __ATOMIC_RELEASE);
	}
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void *
reset(void *arg)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	assert_int_equal(uroce_modify_qp(arg, &attr, IBV_QP_STATE), 0);
	return NULL;
}

/* WQEs of a build that ends during a reset are discarded, and release their address handles: teardown checks this. */
static void
test_reset_while_building(void **state)
{
	struct ibv_qp *qp = &ex->qp_base;
	pthread_t thread;

	ibv_wr_start(ex);
	assert_int_equal(pthread_create(&thread, NULL, reset, qp), 0);
	while (__atomic_load_n(&uroce_qp_of(qp)->state, __ATOMIC_RELAXED) != IBV_QPS_RESET)
		sched_yield();
	test_thread_await_spin(thread);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, 1, 2);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(uroce_qp_of(qp)->sq.head, uroce_qp_of(qp)->sq.tail);
	assert_int_equal(uroce_ah_of(ah)->refs, 0);
}

UROCE_TESTS(wr_threads)
{
	const struct CMUnitTest tests[] = {
		UD(test_reset_while_building),
		RC(test_threads),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
