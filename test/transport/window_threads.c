/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two workers: one places payloads by the key of a window, slowly, while the other invalidates the key. Once the
 * invalidation has completed, the memory belongs to the application, and no worker writes to it.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rcu.h"
#include "groups.h"
#include "peer.h"
#include "verbs/qp/qp.h"

#define CYCLES 100
#define PREEMPTED 4	/* yields between the look-up of a key and the placement */
#define YIELDS 12	/* yields in which the other worker could write without permission */
#define ENGINE 3	/* RCU reader ids of the two workers */
#define OTHER 4
#define THEIRS 1	/* the workers' value; the application writes larger ones */

static struct peer p;
static struct ibv_qp *first, *second;	/* type 2 windows are bound to the first */
static struct ibv_mw *mw;
static uint32_t rkey;	/* atomic */
static uint32_t found;	/* atomic: number of look-ups that found the key */
static bool stop;	/* atomic */

/* Place a WRITE as a worker does; its thread may be preempted before it writes. */
static void
place(void)
{
	const struct uroce_mr_key *k = uroce_key_lookup_whole(&p.dev.mrs, __atomic_load_n(&rkey, __ATOMIC_RELAXED), p.pd,
							      &uroce_qp_of(first)->windows, IBV_ACCESS_REMOTE_WRITE);

	if (k == NULL)
		return;
	__atomic_fetch_add(&found, 1, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < PREEMPTED; i++)
		sched_yield();
	__atomic_store_n((uint64_t *)uroce_mr_va(k, k->addr), THEIRS, __ATOMIC_RELAXED);
}

static void *
other_worker(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		uroce_rcu_begin_read(OTHER);
		place();
		uroce_rcu_end_read(OTHER);
		sched_yield();
	}
	return NULL;
}

/* Poll the engine's worker until the request completes. */
static void
complete(uint64_t wr_id)
{
	struct rte_mbuf *m;
	struct ibv_wc wc;

	do {
		uroce_rcu_begin_read(ENGINE);
		assert_int_equal(uroce_engine_send(&p.engine, &m, 1, p.now_ns), 0);
		uroce_rcu_end_read(ENGINE);
		sched_yield();
	} while (uroce_poll_cq(p.send_cq, 1, &wc) == 0);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, wr_id);
}

static void
post(struct ibv_qp *qp, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;

	wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(uroce_post_send(qp, &wr, &bad), 0);
	complete(wr.wr_id);
}

/* Bind a type 1 window; with length 0, invalidate its key. */
static void
bind_1(uint64_t wr_id, uint64_t bytes)
{
	struct ibv_mw_bind bind = {
		.wr_id = wr_id, .send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = bytes != 0 ? p.mr : NULL, .addr = bytes != 0 ? (uintptr_t)p.buffer : 0,
			       .length = bytes, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};

	assert_int_equal(uroce_bind_mw(second, mw, &bind), 0);
	complete(wr_id);
}

static void
lend(uint64_t cycle)
{
	if (mw->type == IBV_MW_TYPE_1)
		bind_1(2 * cycle, 8);
	else
		post(first, (struct ibv_send_wr){
			.wr_id = 2 * cycle, .opcode = IBV_WR_BIND_MW,
			.bind_mw = { .mw = mw, .rkey = ibv_inc_rkey(mw->rkey),
				     .bind_info = { .mr = p.mr, .addr = (uintptr_t)p.buffer, .length = 8,
						    .mw_access_flags = IBV_ACCESS_REMOTE_WRITE } } });
	__atomic_store_n(&rkey, mw->rkey, __ATOMIC_RELAXED);
}

static void
take_back(uint64_t cycle)
{
	if (mw->type == IBV_MW_TYPE_1)
		bind_1(2 * cycle + 1, 0);
	else
		post(second, (struct ibv_send_wr){ .wr_id = 2 * cycle + 1, .opcode = IBV_WR_LOCAL_INV,
						   .invalidate_rkey = mw->rkey });
}

static void
lend_and_take_back(uint64_t cycle)
{
	uint64_t *word = (uint64_t *)p.buffer;
	uint32_t before;

	lend(cycle);
	before = __atomic_load_n(&found, __ATOMIC_RELAXED);
	while (__atomic_load_n(&found, __ATOMIC_RELAXED) == before)
		sched_yield();
	take_back(cycle);
	__atomic_store_n(word, THEIRS + 1 + cycle, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < YIELDS; i++) {
		sched_yield();
		assert_int_equal(__atomic_load_n(word, __ATOMIC_RELAXED), THEIRS + 1 + cycle);
	}
}

static void
run(enum ibv_mw_type type)
{
	const struct peer_conf conf = { .type = IBV_QPT_RC };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { .max_send_wr = 4 } };
	pthread_t thread;

	peer_start(&p, &conf);
	first = p.qp;
	init.send_cq = init.recv_cq = p.send_cq;
	second = uroce_create_qp(p.pd, &init);
	assert_non_null(second);
	peer_connect(second, &conf);
	mw = uroce_alloc_mw(p.pd, type);
	assert_non_null(mw);
	stop = false;
	rkey = mw->rkey;
	assert_int_equal(uroce_rcu_register(ENGINE), 0);
	assert_int_equal(uroce_rcu_register(OTHER), 0);
	assert_int_equal(pthread_create(&thread, NULL, other_worker, NULL), 0);
	for (uint64_t cycle = 0; cycle < CYCLES; cycle++)
		lend_and_take_back(cycle);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(uroce_rcu_unregister(OTHER), 0);
	assert_int_equal(uroce_rcu_unregister(ENGINE), 0);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	assert_int_equal(uroce_destroy_qp(second), 0);
	peer_stop(&p);
}

static void
a_window_that_is_invalidated_on_another_qp(void **state)
{
	(void)state;
	run(IBV_MW_TYPE_2);
}

static void
a_window_of_type_1_that_is_unbound(void **state)
{
	(void)state;
	run(IBV_MW_TYPE_1);
}

UROCE_TESTS(window_threads)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_that_is_invalidated_on_another_qp),
		cmocka_unit_test(a_window_of_type_1_that_is_unbound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
