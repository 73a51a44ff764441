/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Workers look up a window while another thread binds it again and again, with the same key and different ranges, and
 * invalidates it; regions below it come and go. Each look-up returns a consistent row whose memory is mapped.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_debug.h>

#include "groups.h"
#include "mem/mw.h"
#include "mem/pd.h"
#include "base/rcu.h"
#include "eal.h"

#define READERS 2
#define BINDER READERS /* its RCU reader id */
#define CYCLES 400
#define BINDS 20 /* per region */

static struct ibv_context context;
static struct uroce_pd pd = { .ibv = { .context = &context }, .protection = &pd.ibv };
static struct uroce_mrs table;
static struct uroce_mw_owner qp;
static uint32_t rkey; /* constant once the threads run */
static int stop;      /* atomic */
static unsigned int resolved; /* atomic */

static void
look_up(void)
{
	const struct uroce_mr_key *k = uroce_key_lookup_whole(&table, rkey, &pd.ibv, &qp, IBV_ACCESS_REMOTE_READ);
	const uint64_t *words;

	if (k == NULL)
		return;
	/* the window's offset in its region equals its length, and the key leads to that region */
	words = (const uint64_t *)uroce_mr_va(k, k->addr);
	RTE_VERIFY((uintptr_t)words == k->addr);
	RTE_VERIFY((uint64_t)((const uint8_t *)words - (const uint8_t *)k->mr->ibv.addr) == k->length);
	sched_yield();
	/* still mapped */
	RTE_VERIFY(words[0] == k->length);
	__atomic_fetch_add(&resolved, 1, __ATOMIC_RELAXED);
}

static void *
look_up_all_the_time(void *arg)
{
	const unsigned int id = (unsigned int)(uintptr_t)arg;

	uroce_rcu_register(id);
	while (__atomic_load_n(&stop, __ATOMIC_RELAXED) == 0) {
		uroce_rcu_begin_read(id);
		for (unsigned int i = 0; i < 50; i++)
			look_up();
		uroce_rcu_end_read(id);
		sched_yield();
	}
	uroce_rcu_unregister(id);
	return NULL;
}

static uint64_t *
map(void)
{
	uint64_t *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	RTE_VERIFY(words != MAP_FAILED);
	for (unsigned int i = 1; i <= BINDS; i++)
		words[i] = i * 8;
	return words;
}

static void
bind_and_invalidate(struct uroce_mw *mw, const struct uroce_mr *mr, uint64_t offset)
{
	const struct uroce_mw_bind b = {
		.mw = mw,
		.rkey = rkey,
		.lkey = mr->ibv.lkey,
		.addr = (uintptr_t)mr->ibv.addr + offset,
		.length = offset,
		.access = IBV_ACCESS_REMOTE_READ,
		.pd = &pd.ibv,
		.qp = &qp,
	};

	uroce_rcu_begin_read(BINDER);
	RTE_VERIFY(uroce_mw_bind(&table, &b) == 0);
	uroce_rcu_end_read(BINDER);
	sched_yield();
	uroce_rcu_begin_read(BINDER);
	RTE_VERIFY(uroce_mw_invalidate(&table, rkey, &pd.ibv, &qp) == 0);
	uroce_rcu_end_read(BINDER);
}

static void
test_lookups_and_binds(void **state)
{
	struct uroce_mw *mw = uroce_mw_create(&table, &pd.ibv, IBV_MW_TYPE_2);
	pthread_t readers[READERS];

	assert_non_null(mw);
	rkey = uroce_mw_next_rkey(mw, 7);
	for (uintptr_t i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, look_up_all_the_time, (void *)i), 0);
	uroce_rcu_register(BINDER);
	/* and until a look-up has resolved */
	for (unsigned int i = 0; i < CYCLES || __atomic_load_n(&resolved, __ATOMIC_RELAXED) == 0; i++) {
		uint64_t *words = map();
		struct uroce_mr *mr = uroce_mr_create(&table, &pd.ibv, words, 4096, (uintptr_t)words,
						      IBV_ACCESS_MW_BIND);

		assert_non_null(mr);
		for (uint64_t j = 1; j <= BINDS; j++)
			bind_and_invalidate(mw, mr, j * 8);
		assert_int_equal(uroce_mr_destroy(mr, NULL, NULL), 0);
		munmap(words, 4096);
	}
	uroce_rcu_unregister(BINDER);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	uroce_mw_destroy(mw);
	assert_int_equal(table.count, 0);
}

static int
setup(void **state)
{
	test_eal_init(NULL);
	return uroce_mrs_init(&table, 2, -1);
}

static int
teardown(void **state)
{
	uroce_mrs_fini(&table);
	return 0;
}

UROCE_TESTS(mw_threads)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookups_and_binds),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
