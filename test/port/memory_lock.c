/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A driver takes EAL's memory lock in a burst, while a thread that holds the lock frees memory. A callback of ethdev
 * plays the driver. A failure is a deadlock.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_eal_memconfig.h>
#include <rte_malloc.h>

#include "eal.h"
#include "groups.h"
#include "mem/mr.h"
#include "base/rcu.h"
#include "port/worker/worker.h"
#include "tap.h"

#define BYTES 4096

struct fixture {
	struct tap tap;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char *memory;
	bool armed;    /* atomic: the next burst takes the lock */
	bool in_burst; /* atomic */
	bool locked;   /* atomic: another thread holds the lock for writing */
};

static const char *const cidrs[] = { "10.0.0.1/24", NULL };

static uint16_t
burst(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t n, uint16_t room, void *arg)
{
	struct fixture *f = arg;

	if (!__atomic_load_n(&f->armed, __ATOMIC_ACQUIRE))
		return n;
	__atomic_store_n(&f->in_burst, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&f->locked, __ATOMIC_ACQUIRE))
		sched_yield();
	rte_mcfg_mem_read_lock();
	rte_mcfg_mem_read_unlock();
	return n;
}

static void *
poll_once(void *arg)
{
	uroce_worker_poll(((struct fixture *)arg)->tap.worker);
	return NULL;
}

static void *
wait_for_readers(void *arg)
{
	uroce_rcu_wait();
	return NULL;
}

static void
fixture_open(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	tap_open(&f->tap, 0, cidrs);
	f->memory = rte_malloc(NULL, BYTES, 0);
	f->pd = uroce_alloc_pd(f->tap.context);
	f->mr = uroce_reg_mr(f->pd, f->memory, BYTES, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(f->mr);
}

static void
fixture_close(struct fixture *f)
{
	assert_int_equal(uroce_dereg_mr(f->mr), 0);
	assert_int_equal(uroce_dealloc_pd(f->pd), 0);
	rte_free(f->memory);
	tap_close(&f->tap);
}

static const struct uroce_mr_key *
look_up(const struct fixture *f)
{
	return uroce_mr_lookup(&f->tap.port->dev.mrs, f->mr->lkey, f->pd, (uintptr_t)f->memory, 1, 0);
}

static void
give_back(struct fixture *f)
{
	uroce_mrs_give_back(&f->tap.port->dev.mrs, f->memory, BYTES);
	assert_null(look_up(f));
}

/* The worker's thread is in a burst from the start, and another thread waits for the lock, too. */
static void
give_back_during_a_burst(struct fixture *f)
{
	const struct rte_eth_rxtx_callback *callback =
		rte_eth_add_rx_callback(f->tap.wire.port_id, 0, burst, f);
	pthread_t poller, waiter;

	assert_non_null(callback);
	__atomic_store_n(&f->armed, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_create(&poller, NULL, poll_once, f), 0);
	while (!__atomic_load_n(&f->in_burst, __ATOMIC_ACQUIRE))
		sched_yield();
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_readers, NULL), 0);
	for (unsigned int i = 0; i < 1000; i++)
		sched_yield();
	rte_mcfg_mem_write_lock();
	__atomic_store_n(&f->locked, true, __ATOMIC_RELEASE);
	give_back(f);
	rte_mcfg_mem_write_unlock();
	pthread_join(poller, NULL);
	pthread_join(waiter, NULL);
	assert_int_equal(rte_eth_remove_rx_callback(f->tap.wire.port_id, 0, callback), 0);
}

static void
test_burst(void **state)
{
	struct fixture f;

	fixture_open(&f);
	assert_non_null(look_up(&f));
	give_back_during_a_burst(&f);
	fixture_close(&f);
}

/* The driver may be copying from the memory: the thread waits for the end of the burst, with a limit. */
static void
test_burst_with_frames(void **state)
{
	struct rte_mbuf *m;
	struct fixture f;

	fixture_open(&f);
	m = rte_pktmbuf_alloc(f.tap.worker->engine.header_pool);
	assert_int_equal(uroce_mr_attach(look_up(&f), (uintptr_t)f.memory, 1, false, m), 0);
	give_back_during_a_burst(&f);
	rte_pktmbuf_free(m);
	fixture_close(&f);
}

static void
give_back_as_a_driver(void *arg)
{
	rte_mcfg_mem_write_lock();
	give_back(arg);
	rte_mcfg_mem_write_unlock();
}

/* Stopping a driver frees its memory; the stopping thread then has the turn of each worker. */
static void
test_held_workers(void **state)
{
	struct fixture f;

	fixture_open(&f);
	uroce_hold_workers(give_back_as_a_driver, &f);
	fixture_close(&f);
}

UROCE_TESTS(port_memory_lock)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_burst_with_frames),
		cmocka_unit_test(test_held_workers),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
