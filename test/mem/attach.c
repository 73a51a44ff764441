/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce_mr_attach: mbufs that reference a region, their state after the free, and a region that stays until the last of
 * them is freed.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "groups.h"
#include "mem/mr.h"
#include "mem/pd.h"
#include "eal.h"

#define BYTES 20000
#define MBUFS 63
#define A     3 /* workers that have counts of their own */
#define B     7

static struct ibv_context context;
static struct uroce_pd pd = { .ibv = { .context = &context }, .protection = &pd.ibv };
static struct uroce_mrs table;
static struct rte_mempool *pool;
static char *memory;

static struct uroce_mr *
reg(void *va, size_t length)
{
	struct uroce_mr *mr = uroce_mr_create(&table, &pd.ibv, va, length, 0x1000,
					      IBV_ACCESS_REMOTE_READ);

	assert_non_null(mr);
	return mr;
}

static struct rte_mbuf *
attach(struct uroce_mr *mr, uint64_t addr, uint16_t length)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	assert_non_null(m);
	assert_int_equal(uroce_mr_attach(mr->slot, addr, length, false, m), 0);
	return m;
}

static void
test_leads_into_the_region(void **state)
{
	struct uroce_mr *mr = reg(memory + 5, 5000);
	struct rte_mbuf *m;
	const char *reason;

	m = attach(mr, 0x1000 + 77, 4096);
	assert_int_equal(uroce_mr_inflight(mr), 1);
	assert_ptr_equal(rte_pktmbuf_mtod(m, char *), memory + 5 + 77);
	assert_int_equal(rte_pktmbuf_iova(m), rte_mem_virt2iova(memory + 5 + 77));
	assert_int_equal(m->data_len, 4096);
	assert_int_equal(m->pkt_len, 4096);
	assert_int_equal(m->nb_segs, 1);
	assert_true(RTE_MBUF_HAS_EXTBUF(m));
	assert_int_equal(rte_mbuf_check(m, 1, &reason), 0);
	rte_pktmbuf_free(m);
	assert_int_equal(uroce_mr_inflight(mr), 0);
	uroce_mr_destroy(mr, NULL, NULL);
}

/* An mbuf that returns from its pool carries no trace of the region. */
static void
test_mbuf_is_restored(void **state)
{
	struct uroce_mr *mr = reg(memory, BYTES);
	struct rte_mbuf *ms[MBUFS];
	void *buffers[MBUFS];

	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, ms, MBUFS), 0);
	for (unsigned int i = 0; i < MBUFS; i++) {
		buffers[i] = ms[i]->buf_addr;
		assert_int_equal(uroce_mr_attach(mr->slot, 0x1000 + i, 100, false, ms[i]), 0);
	}
	assert_int_equal(uroce_mr_inflight(mr), MBUFS);
	rte_pktmbuf_free_bulk(ms, MBUFS);
	assert_int_equal(uroce_mr_inflight(mr), 0);
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, ms, MBUFS), 0);
	for (unsigned int i = 0; i < MBUFS; i++) {
		bool known = false;

		assert_false(RTE_MBUF_HAS_EXTBUF(ms[i]));
		assert_int_equal(ms[i]->data_len, 0);
		assert_int_equal(rte_pktmbuf_headroom(ms[i]), RTE_PKTMBUF_HEADROOM);
		for (unsigned int j = 0; j < MBUFS; j++)
			known |= buffers[j] == ms[i]->buf_addr;
		assert_true(known);
	}
	rte_pktmbuf_free_bulk(ms, MBUFS);
	uroce_mr_destroy(mr, NULL, NULL);
}

/* A header with the payload chained to it, freed as one; and an mbuf with a second reference. */
static void
test_chained_and_shared(void **state)
{
	struct uroce_mr *mr = reg(memory, BYTES);
	struct rte_mbuf *head = rte_pktmbuf_alloc(pool);
	struct rte_mbuf *m = attach(mr, 0x1000, 1000);

	assert_int_equal(rte_pktmbuf_chain(head, m), 0);
	rte_pktmbuf_refcnt_update(head, 1);
	rte_pktmbuf_free(head);
	assert_int_equal(uroce_mr_inflight(mr), 1);
	rte_pktmbuf_free(head);
	assert_int_equal(uroce_mr_inflight(mr), 0);
	uroce_mr_destroy(mr, NULL, NULL);
}

static void
test_no_iova(void **state)
{
	static char zeroed[1000];
	struct uroce_mr *mr = reg(zeroed, sizeof(zeroed));
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct rte_mbuf before = *m;

	assert_int_equal(uroce_mr_attach(mr->slot, 0x1000, 100, false, m), -ENOTSUP);
	assert_memory_equal(m, &before, sizeof(before));
	assert_int_equal(uroce_mr_inflight(mr), 0);
	/* a port that reads by virtual address */
	assert_int_equal(uroce_mr_attach(mr->slot, 0x1000, 100, true, m), 0);
	assert_ptr_equal(rte_pktmbuf_mtod(m, char *), zeroed);
	assert_int_equal(uroce_mr_inflight(mr), 1);
	rte_pktmbuf_free(m);
	assert_int_equal(uroce_mr_inflight(mr), 0);
	uroce_mr_destroy(mr, NULL, NULL);
}

/* A worker counts the mbufs that it attaches and those that it frees; other threads count in the region. A later region
 * in the same slot begins with none. */
static void
test_workers_count(void **state)
{
	struct uroce_mr *mr = reg(memory, BYTES);
	struct rte_mbuf *ms[3];

	uroce_rcu_online(A);
	ms[0] = attach(mr, 0x1000, 100);
	ms[1] = attach(mr, 0x1000, 100);
	uroce_rcu_offline(A);
	assert_int_equal(uroce_mr_inflight(mr), 2);
	assert_int_equal(mr->attached, 0);
	ms[2] = attach(mr, 0x1000, 100);
	assert_int_equal(mr->attached, 1);
	uroce_rcu_online(B);
	rte_pktmbuf_free(ms[0]);
	rte_pktmbuf_free(ms[2]);
	uroce_rcu_offline(B);
	assert_int_equal(uroce_mr_inflight(mr), 1);
	assert_int_equal(mr->released, 0);
	rte_pktmbuf_free(ms[1]);
	assert_int_equal(mr->released, 1);
	assert_int_equal(uroce_mr_inflight(mr), 0);
	uroce_mr_destroy(mr, NULL, NULL);
	for (unsigned int i = 0; i < 1u << table.log2; i++) {
		mr = reg(memory, BYTES);
		assert_int_equal(uroce_mr_inflight(mr), 0);
		uroce_mr_destroy(mr, NULL, NULL);
	}
}

struct holder {
	struct rte_mbuf *m;
	struct uroce_mr *mr;
	int waited; /* atomic: calls of progress by the region's owner */
	int freed;  /* atomic: set before the mbuf is freed */
};

static bool
count_progress(void *arg)
{
	struct holder *h = arg;

	__atomic_add_fetch(&h->waited, 1, __ATOMIC_RELEASE);
	return true;
}

static void *
free_later(void *arg)
{
	struct holder *h = arg;

	while (__atomic_load_n(&h->waited, __ATOMIC_ACQUIRE) < 10)
		sched_yield();
	assert_int_equal(uroce_mr_inflight(h->mr), 1);
	assert_int_equal(table.count, 1);
	__atomic_store_n(&h->freed, 1, __ATOMIC_RELEASE);
	rte_pktmbuf_free(h->m);
	return NULL;
}

static void
test_destroy_waits(void **state)
{
	struct holder h = { .mr = reg(memory, BYTES) };
	pthread_t thread;

	h.m = attach(h.mr, 0x1000, 1000);
	assert_int_equal(pthread_create(&thread, NULL, free_later, &h), 0);
	uroce_mr_destroy(h.mr, count_progress, &h);
	assert_int_equal(__atomic_load_n(&h.freed, __ATOMIC_ACQUIRE), 1);
	assert_int_equal(table.count, 0);
	pthread_join(thread, NULL);
}

static bool
free_in_progress(void *arg)
{
	struct holder *h = arg;

	/* while the owner waits, the key resolves no more */
	assert_null(uroce_mr_lookup(&table, h->mr->ibv.rkey, &pd.ibv, 0x1000, 1, 0));
	h->waited++;
	if (h->waited == 3)
		rte_pktmbuf_free(h->m);
	return true;
}

static bool
give_up(void *arg)
{
	return ++((struct holder *)arg)->waited < 5;
}

/* If the owner gives up, the key is dead, the region stays, and a later destroy succeeds. */
static void
test_destroy_gives_up(void **state)
{
	struct holder h = { .mr = reg(memory, BYTES) };
	const uint32_t key = h.mr->ibv.rkey;

	h.m = attach(h.mr, 0x1000, 1000);
	assert_int_equal(uroce_mr_destroy(h.mr, give_up, &h), -ETIMEDOUT);
	assert_int_equal(h.waited, 5);
	assert_int_equal(table.count, 1);
	assert_null(uroce_mr_lookup(&table, key, &pd.ibv, 0x1000, 1, 0));
	assert_false(uroce_mr_is_idle(h.mr));
	rte_pktmbuf_free(h.m);
	assert_true(uroce_mr_is_idle(h.mr));
	assert_int_equal(uroce_mr_destroy(h.mr, give_up, &h), 0);
	assert_int_equal(h.waited, 5);
	assert_int_equal(table.count, 0);
}

/* A change that gives up leaves the region and its key as they were. */
static void
test_change_gives_up(void **state)
{
	struct holder h = { .mr = reg(memory, BYTES) };
	const struct uroce_mr_change to = { &pd.ibv, memory, BYTES / 2, 0x50000000, 0 };

	h.m = attach(h.mr, 0x1000, 1000);
	assert_int_equal(uroce_mr_change(h.mr, &to, give_up, &h), -ETIMEDOUT);
	assert_non_null(uroce_mr_lookup(&table, h.mr->ibv.rkey, &pd.ibv, 0x1000, 1, 0));
	assert_null(uroce_mr_lookup(&table, h.mr->ibv.rkey, &pd.ibv, 0x50000000, 1, 0));
	assert_int_equal(h.mr->ibv.length, BYTES);
	rte_pktmbuf_free(h.m);
	assert_int_equal(uroce_mr_change(h.mr, &to, give_up, &h), 0);
	assert_non_null(uroce_mr_lookup(&table, h.mr->ibv.rkey, &pd.ibv, 0x50000000, 1, 0));
	assert_int_equal(uroce_mr_destroy(h.mr, NULL, NULL), 0);
}

/* In one thread, the holder of the mbuf runs only inside the owner's progress call. */
static void
test_destroy_makes_progress(void **state)
{
	struct holder h = { .mr = reg(memory, BYTES) };

	h.m = attach(h.mr, 0x1000, 1000);
	uroce_mr_destroy(h.mr, free_in_progress, &h);
	assert_int_equal(h.waited, 3);
	/* nothing references the region: no progress call */
	h.mr = reg(memory, BYTES);
	uroce_mr_destroy(h.mr, free_in_progress, &h);
	assert_int_equal(h.waited, 3);
}

static int
setup(void **state)
{
	test_eal_init(NULL);
	pool = rte_pktmbuf_pool_create(
		"attach", MBUFS, 0,
		RTE_ALIGN(sizeof(struct rte_mbuf_ext_shared_info), RTE_MBUF_PRIV_ALIGN),
		RTE_PKTMBUF_HEADROOM + 256, SOCKET_ID_ANY);
	memory = rte_malloc(NULL, BYTES, 0);
	if (pool == NULL || memory == NULL || uroce_mrs_init(&table, 4, -1) != 0)
		return -1;
	uroce_mrs_count_for(&table, A);
	uroce_mrs_count_for(&table, B);
	return uroce_rcu_register(A) | uroce_rcu_register(B);
}

static int
teardown(void **state)
{
	assert_int_equal(rte_mempool_avail_count(pool), MBUFS);
	uroce_rcu_unregister(A);
	uroce_rcu_unregister(B);
	uroce_mrs_fini(&table);
	rte_free(memory);
	rte_mempool_free(pool);
	return 0;
}

UROCE_TESTS(attach)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leads_into_the_region),
		cmocka_unit_test(test_mbuf_is_restored),
		cmocka_unit_test(test_chained_and_shared),
		cmocka_unit_test(test_no_iova),
		cmocka_unit_test(test_workers_count),
		cmocka_unit_test(test_destroy_waits),
		cmocka_unit_test(test_destroy_makes_progress),
		cmocka_unit_test(test_destroy_gives_up),
		cmocka_unit_test(test_change_gives_up),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
