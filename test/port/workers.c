/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The process's workers: their number is limited by memory and memzones; their indices, when they can be
 * destroyed, and the lcores that run them.
 */

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_debug.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_memzone.h>

#include "eal.h"
#include "groups.h"
#include "port/worker/pool.h"
#include "port/worker/worker.h"
#include "tap.h"
#include "uroce.h"

#define LCORE   1 /* runs workers; lcore 0 is the main one */
#define WORKERS 3
#define MORE_ZONES 10000 /* than the limit of memzones in any DPDK: 2560 */

static void
create(struct uroce_worker **workers, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		workers[i] = uroce_create_worker(-1);
		assert_non_null(workers[i]);
		assert_int_equal(workers[i]->index, i);
		assert_int_equal(workers[i]->lcore, LCORE_ID_ANY);
	}
}

static void
destroy(struct uroce_worker **workers, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	assert_int_equal(uroce_pools_retired(), 0);
}

/* A new worker takes the lowest free index, and works with a reused one. */
static void
test_index(void **state)
{
	struct uroce_worker *workers[WORKERS];

	create(workers, WORKERS);
	for (unsigned int i = 0; i < WORKERS; i++) {
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
		workers[i] = uroce_create_worker(-1);
		assert_non_null(workers[i]);
		assert_int_equal(workers[i]->index, i);
		assert_int_equal(uroce_worker_poll(workers[i]), 0);
	}
	destroy(workers, WORKERS);
}

/* Without memory, creation fails without a leak, and works again after others are destroyed. */
static void
test_limit(void **state)
{
	struct uroce_worker *workers[UROCE_MAX_WORKERS];
	unsigned int first = 0, n;

	for (unsigned int round = 0; round < 3; round++) {
		for (n = 0; n < UROCE_MAX_WORKERS; n++) {
			workers[n] = uroce_create_worker(-1);
			if (workers[n] == NULL)
				break;
			assert_int_equal(workers[n]->index, n);
		}
		errno = 0;
		assert_null(uroce_create_worker(-1));
		assert_int_equal(errno, n == UROCE_MAX_WORKERS ? ENOSPC : ENOMEM);
		if (round == 0)
			first = n;
		assert_true(n > 1 && n >= first);
		destroy(workers, n);
	}
}

/* DPDK's limit of memzones gives ENOSPC, too: the message must not name the limit of workers. */
static void
test_no_memzone(void **state)
{
	static const struct rte_memzone *zones[MORE_ZONES];
	char name[RTE_MEMZONE_NAMESIZE], *text = NULL;
	unsigned int n = 0;
	size_t bytes;
	FILE *log;

	for (; n < MORE_ZONES; n++) {
		snprintf(name, sizeof(name), "test_zone_%u", n);
		zones[n] = rte_memzone_reserve(name, RTE_CACHE_LINE_SIZE, SOCKET_ID_ANY, 0);
		if (zones[n] == NULL)
			break;
	}
	assert_true(n < MORE_ZONES);
	assert_int_equal(rte_errno, ENOSPC);
	log = open_memstream(&text, &bytes);
	assert_non_null(log);
	assert_int_equal(rte_openlog_stream(log), 0);
	assert_null(uroce_create_worker(-1));
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(rte_openlog_stream(NULL), 0);
	assert_int_equal(fclose(log), 0);
	assert_non_null(strstr(text, "cannot create a worker: "));
	assert_null(strstr(text, "the limit"));
	free(text);
	while (n > 0)
		assert_int_equal(rte_memzone_free(zones[--n]), 0);
}

static void
test_used(void **state)
{
	struct uroce_worker *workers[WORKERS], *bad[2];

	create(workers, WORKERS);
	bad[0] = workers[0];
	bad[1] = (struct uroce_worker *)bad;
	assert_int_equal(uroce_workers_get(bad, 2), -EINVAL);
	bad[1] = NULL;
	assert_int_equal(uroce_workers_get(bad, 2), -EINVAL);
	assert_int_equal(workers[0]->devices, 0); /* all or nothing */
	assert_int_equal(uroce_workers_get(workers, 2), 0);
	assert_int_equal(uroce_workers_get(workers, 1), 0);
	assert_int_equal(uroce_destroy_worker(workers[0]), EBUSY);
	uroce_workers_put(workers, 1);
	assert_int_equal(uroce_destroy_worker(workers[0]), EBUSY);
	assert_int_equal(uroce_destroy_worker(workers[1]), EBUSY);
	uroce_workers_put(workers, 2);
	destroy(workers, WORKERS);
}

static void
test_launch(void **state)
{
	struct uroce_worker *workers[2];

	create(workers, 2);
	assert_int_equal(uroce_worker_launch(workers[0], rte_get_main_lcore()), EINVAL);
	assert_int_equal(uroce_worker_launch(workers[0], LCORE + 1), EINVAL); /* an lcore that is not enabled */
	assert_int_equal(uroce_worker_launch(workers[0], RTE_MAX_LCORE), EINVAL);
	assert_int_equal(uroce_worker_launch(workers[0], LCORE_ID_ANY), EINVAL);
	assert_int_equal(uroce_worker_stop(workers[0]), EINVAL);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(uroce_worker_launch(workers[0], LCORE), 0);
		assert_int_equal(uroce_worker_launch(workers[0], LCORE), EBUSY);
		assert_int_equal(uroce_worker_launch(workers[1], LCORE), EBUSY);
		assert_int_equal(uroce_worker_stop(workers[1]), EINVAL);
		assert_int_equal(uroce_destroy_worker(workers[0]), EBUSY);
		assert_int_equal(uroce_worker_stop(workers[0]), 0);
		assert_int_equal(uroce_worker_stop(workers[0]), EINVAL);
	}
	destroy(workers, 2);
}

struct freeing {
	struct uroce_worker *w;
	bool begun, ended; /* atomic */
};

/* On the worker's lcore: wait until the other thread waits for it, then call functions that lock the list of workers. */
static void
freed(void *arg)
{
	struct freeing *f = arg;
	struct uroce_worker *other;

	__atomic_store_n(&f->begun, true, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&f->w->stop, __ATOMIC_RELAXED))
		sched_yield();
	other = uroce_create_worker(-1);
	RTE_VERIFY(other != NULL && uroce_destroy_worker(other) == 0);
	__atomic_store_n(&f->ended, true, __ATOMIC_RELAXED);
}

static void
test_stop_in_callback(void **state)
{
	static const char *const cidrs[] = { "10.0.0.1/24", NULL };
	static uint8_t memory[64];
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct freeing f;
	struct tap t;

	tap_open(&t, 0, cidrs);
	f = (struct freeing){ .w = t.worker };
	pd = uroce_alloc_pd(t.context);
	mr = uroce_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(uroce_worker_launch(t.worker, LCORE), 0);
	assert_int_equal(uroce_dereg_mr_async(mr, freed, &f), 0);
	while (!__atomic_load_n(&f.begun, __ATOMIC_RELAXED))
		sched_yield();
	assert_int_equal(uroce_worker_stop(t.worker), 0);
	assert_true(f.ended);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	tap_close(&t);
}

/* Frames for a port without a worker are freed: when the port is closed, by a poll, and with the worker. */
static void
test_inbox(void **state)
{
	struct rte_mempool *pool = uroce_pool_create("test", 63, 128, SOCKET_ID_ANY);
	struct uroce_inbox_item item = { .port_id = 0 };
	struct uroce_worker *w;

	assert_non_null(pool);
	create(&w, 1);
	for (unsigned int i = 0; i < 3; i++) {
		item.packet.mbuf = rte_pktmbuf_alloc(pool);
		assert_non_null(item.packet.mbuf);
		assert_int_equal(rte_ring_mp_enqueue_elem(w->inbox, &item, sizeof(item)), 0);
		if (i == 0)
			uroce_workers_drain();
		else if (i == 1)
			uroce_workers_progress();
		if (i < 2) {
			assert_int_equal(w->lost, i + 1);
			assert_true(rte_mempool_full(pool));
		}
	}
	destroy(&w, 1);
	assert_true(rte_mempool_full(pool));
	uroce_pool_retire(pool);
}

/* Help polls only workers that no thread polls and no lcore runs. */
static void
test_help(void **state)
{
	struct rte_mempool *pool = uroce_pool_create("test", 63, 128, SOCKET_ID_ANY);
	struct uroce_inbox_item item = { .port_id = 0 };
	static const bool polled[] = { true, true, false, true };
	uint64_t lost = 0;
	struct uroce_worker *w;
	unsigned int frames;

	assert_non_null(pool);
	create(&w, 1);
	for (unsigned int i = 0; i < RTE_DIM(polled); i++) {
		item.packet.mbuf = rte_pktmbuf_alloc(pool);
		assert_int_equal(rte_ring_mp_enqueue_elem(w->inbox, &item, sizeof(item)), 0);
		if (i == 2)
			w->now_ns = UINT64_MAX / 2; /* a thread has just polled it */
		if (i == 3)
			w->helped_ns = w->now_ns; /* no thread has polled it since */
		assert_true(uroce_workers_help(&frames));
		lost = polled[i] ? lost + 1 + (i == 3) : lost;
		assert_int_equal(w->lost, lost);
		assert_int_equal(frames, polled[i] ? 1 + (i == 3) : 0);
	}
	w->now_ns = 0;
	assert_int_equal(uroce_worker_launch(w, LCORE), 0);
	assert_false(uroce_workers_help(&frames));
	assert_int_equal(frames, 0);
	assert_int_equal(uroce_worker_stop(w), 0);
	destroy(&w, 1);
	assert_true(rte_mempool_full(pool));
	uroce_pool_retire(pool);
}

struct held {
	struct uroce_worker **workers;
	unsigned int calls;
};

/* The lcore's worker has stopped, and the others cannot be polled. */
static void
expect_held(void *arg)
{
	struct held *held = arg;
	uint64_t now_ns[WORKERS];

	for (unsigned int i = 0; i < WORKERS; i++)
		now_ns[i] = __atomic_load_n(&held->workers[i]->now_ns, __ATOMIC_RELAXED);
	for (unsigned int round = 0; round < 100; round++) {
		for (unsigned int i = 0; i < WORKERS; i++)
			assert_int_equal(uroce_worker_poll(held->workers[i]), 0);
		if (round % 10 == 0)
			sched_yield(); /* a time slice for its lcore, of milliseconds */
	}
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_int_equal(__atomic_load_n(&held->workers[i]->now_ns, __ATOMIC_RELAXED), now_ns[i]);
	held->calls++;
}

static void
hold_again(void *arg)
{
	uroce_hold_workers(expect_held, arg);
	expect_held(arg);	/* still held */
}

static void
test_hold(void **state)
{
	struct uroce_worker *workers[WORKERS];
	struct held held = { .workers = workers };
	uint64_t now_ns;

	create(workers, WORKERS);
	assert_int_equal(uroce_worker_launch(workers[1], LCORE), 0);
	for (unsigned int i = 1; i <= 100; i++) {
		uroce_hold_workers(expect_held, &held);
		assert_int_equal(held.calls, i);
	}
	held.calls = 0;
	uroce_hold_workers(hold_again, &held);
	assert_int_equal(held.calls, 2);
	now_ns = __atomic_load_n(&workers[1]->now_ns, __ATOMIC_RELAXED);
	while (__atomic_load_n(&workers[1]->now_ns, __ATOMIC_RELAXED) == now_ns)
		sched_yield();
	uroce_worker_poll(workers[0]);
	assert_int_not_equal(workers[0]->now_ns, 0);
	assert_int_equal(uroce_worker_stop(workers[1]), 0);
	destroy(workers, WORKERS);
}

UROCE_TESTS(port_workers)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index), cmocka_unit_test(test_limit),
		cmocka_unit_test(test_used),  cmocka_unit_test(test_launch),
		cmocka_unit_test(test_inbox), cmocka_unit_test(test_help),
		cmocka_unit_test(test_hold),  cmocka_unit_test(test_no_memzone),
		cmocka_unit_test(test_stop_in_callback),
	};

	/* both on one CPU: the machine may have only one */
	test_eal_init("--lcores", "0@0,1@0", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
