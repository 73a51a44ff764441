/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Workers look up keys, and read and write the memory that they resolve to, while other threads register, deregister
 * and unmap memory. A look-up that resolves too late causes a fault or reads a wrong byte.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_malloc.h>

#include "groups.h"
#include "mem/mr.h"
#include "mem/pd.h"
#include "base/rcu.h"
#include "eal.h"

#define WORKERS 2
#define OWNERS  3
#define CYCLES  300 /* of each owner */
#define KEYS    8   /* the latest ones of each owner, most of them dead */
#define BYTES   8192

struct owner {
	pthread_t thread;
	uint32_t keys[KEYS]; /* atomic; 0: none yet */
	uint32_t seen;       /* atomic: the last key that a worker resolved */
	uint64_t number;     /* of the owner: the first word of its memory */
	bool of_dpdk;
};

static struct ibv_context context;
static struct uroce_pd pd = { .ibv = { .context = &context }, .protection = &pd.ibv };
static struct uroce_mrs table;
static struct owner owners[OWNERS];
static int stop; /* atomic */

static void
look_up(struct owner *o, uint32_t key)
{
	const struct uroce_mr_key *k = uroce_mr_lookup(&table, key, &pd.ibv, 0, BYTES,
						       IBV_ACCESS_REMOTE_WRITE);
	uint64_t *words;

	if (k == NULL)
		return;
	words = (uint64_t *)uroce_mr_va(k, 0);
	/* the owner now deregisters: give it time to do so too early */
	__atomic_store_n(&o->seen, key, __ATOMIC_RELEASE);
	sched_yield();
	RTE_VERIFY(words[0] == o->number);
	RTE_VERIFY(words[1] == key);
	/* other workers write whole words here, too, as peers do */
	__atomic_store_n(&words[BYTES / 8 - 1], key, __ATOMIC_RELAXED);
	RTE_VERIFY((k->iova != NULL) == o->of_dpdk);
	if (o->of_dpdk)
		RTE_VERIFY(uroce_mr_iova(k, 8, 8) != RTE_BAD_IOVA);
}

static void *
work(void *arg)
{
	const unsigned int id = (unsigned int)(uintptr_t)arg;

	uroce_rcu_register(id);
	while (__atomic_load_n(&stop, __ATOMIC_RELAXED) == 0) {
		uroce_rcu_begin_read(id);
		for (unsigned int i = 0; i < OWNERS; i++) {
			for (unsigned int j = 0; j < KEYS; j++)
				look_up(&owners[i],
					__atomic_load_n(&owners[i].keys[j], __ATOMIC_ACQUIRE));
		}
		uroce_rcu_end_read(id);
		sched_yield();
	}
	uroce_rcu_unregister(id);
	return NULL;
}

static uint64_t *
get_memory(const struct owner *o)
{
	void *va;

	if (o->of_dpdk)
		return rte_malloc(NULL, BYTES, 4096);
	va = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return va != MAP_FAILED ? va : NULL;
}

static void
put_memory(const struct owner *o, uint64_t *words)
{
	/* a worker that comes too late finds zeros, if the memory is still mapped */
	words[0] = 0;
	words[1] = 0;
	if (o->of_dpdk)
		rte_free(words);
	else
		munmap(words, BYTES);
}

static void *
own(void *arg)
{
	const unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct owner *o = arg;

	for (unsigned int i = 0; i < CYCLES; i++) {
		uint64_t *words = get_memory(o);
		struct uroce_mr *mr;

		RTE_VERIFY(words != NULL);
		mr = uroce_mr_create(&table, &pd.ibv, words, BYTES, 0, access);
		RTE_VERIFY(mr != NULL);
		/* no worker knows the key yet */
		words[0] = o->number;
		words[1] = mr->ibv.rkey;
		__atomic_store_n(&o->keys[i % KEYS], mr->ibv.rkey, __ATOMIC_RELEASE);
		while (__atomic_load_n(&o->seen, __ATOMIC_ACQUIRE) != mr->ibv.rkey)
			sched_yield();
		uroce_mr_destroy(mr, NULL, NULL);
		put_memory(o, words);
	}
	return NULL;
}

static void
test_lookups_and_registrations(void **state)
{
	pthread_t workers[WORKERS];

	for (uintptr_t i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&workers[i], NULL, work, (void *)i), 0);
	for (unsigned int i = 0; i < OWNERS; i++) {
		owners[i].number = 0x1111111111111111 * (i + 1);
		owners[i].of_dpdk = i == 0;
		assert_int_equal(pthread_create(&owners[i].thread, NULL, own, &owners[i]), 0);
	}
	for (unsigned int i = 0; i < OWNERS; i++)
		pthread_join(owners[i].thread, NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	assert_int_equal(table.count, 0);
}

static int
setup(void **state)
{
	test_eal_init(NULL);
	/* few slots, so that they are reused at once */
	return uroce_mrs_init(&table, 2, -1);
}

static int
teardown(void **state)
{
	uroce_mrs_fini(&table);
	return 0;
}

UROCE_TESTS(mr_threads)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookups_and_registrations),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
