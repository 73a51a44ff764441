/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests that need hugepages: IOVAs of real pages (argument "pa" or "va"), and memory that DPDK returns to the system
 * while regions cover it. Without hugepages the program names the reason and exits with 77.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_memory.h>
#include <rte_memzone.h>

#include "uroce_config.h"
#include "mem/iova.h"
#include "mem/mr.h"
#include "mem/pd.h"
#include "base/rcu.h"

#define SKIP         77
#define MB           (1024ul * 1024)
#define PAGE         (2 * MB)
#define BLOCK        (6 * MB) /* of the heap: freeing it frees at least two whole pages */
#define PAGES_NEEDED 32

/* ThreadSanitizer cannot see EAL's locks, and reports EAL's accesses under them as races. */
const char *__tsan_default_suppressions(void);

const char *
__tsan_default_suppressions(void)
{
	return "called_from_lib:librte_eal.so";
}

static struct ibv_context context;
static struct uroce_pd pd = { .ibv = { .context = &context }, .protection = &pd.ibv };
static struct uroce_mrs table;

static struct uroce_mr *
reg(void *va, size_t length)
{
	return uroce_mr_create(&table, &pd.ibv, va, length, (uintptr_t)va, IBV_ACCESS_LOCAL_WRITE);
}

static bool
resolves(const struct uroce_mr *mr)
{
	return uroce_mr_lookup(&table, mr->ibv.lkey, &pd.ibv, (uintptr_t)mr->ibv.addr, 1, 0) != NULL;
}

static bool
is_mapped(const void *va)
{
	struct rte_memseg_list *msl = rte_mem_virt2memseg_list(va);
	unsigned int page;

	if (msl == NULL)
		return false;
	page = (unsigned int)(((uintptr_t)va - msl->addr_64) / msl->page_sz);
	return rte_fbarray_is_used(&msl->memseg_arr, page) == 1;
}

/* Compare each 4 KiB with the kernel's page map, and each range that crosses pages with both pages. */
static void
check_against_kernel(char *va, size_t length)
{
	struct uroce_mr *mr = reg(va, length);

	assert_non_null(mr);
	assert_non_null(mr->iova);
	memset(va, 1, length);
	for (char *at = va; at < va + length - 1; at += 4096) {
		const rte_iova_t iova = rte_mem_virt2iova(at);

		assert_int_not_equal(iova, RTE_BAD_IOVA);
		assert_int_equal(uroce_mr_iova(mr->slot, (uintptr_t)at, 1), iova);
	}
	for (char *at = RTE_PTR_ALIGN(va + 100, PAGE); at < va + length; at += PAGE) {
		const rte_iova_t before = rte_mem_virt2iova(at - 100);
		const bool follows = before + 100 == rte_mem_virt2iova(at);

		assert_int_equal(uroce_mr_iova(mr->slot, (uintptr_t)at - 100, 101),
				 follows ? before : RTE_BAD_IOVA);
	}
	uroce_mr_destroy(mr, NULL, NULL);
}

static void
test_iovas(void **state)
{
	const struct rte_memzone *mz;
	char *va = rte_malloc(NULL, BLOCK, 0);

	assert_non_null(va);
	check_against_kernel(va, BLOCK);
	check_against_kernel(va + 777, BLOCK - 1000);
	rte_free(va);
	mz = rte_memzone_reserve_aligned("hugepages", 2 * PAGE, SOCKET_ID_ANY, 0, PAGE);
	assert_non_null(mz);
	check_against_kernel(mz->addr, mz->len);
	rte_memzone_free(mz);
}

/* With this many pages, registration reads no page map and trusts EAL's table. */
static void
test_iovas_of_many_pages(void **state)
{
	const size_t length = (UROCE_IOVA_SCAN_PAGES + 2) * PAGE;
	char *va = rte_malloc(NULL, length, PAGE);
	struct uroce_mr *mr;

	assert_non_null(va);
	check_against_kernel(va, length);
	check_against_kernel(va + PAGE + 5, length - PAGE - 100);
	mr = reg(va, length);
	assert_int_equal(uroce_mr_numa_node(mr), rte_mem_virt2memseg_list(va)->socket_id);
	assert_int_equal(mr->iova->n_pages,
			 rte_eal_iova_mode() == RTE_IOVA_VA ? 0 : UROCE_IOVA_SCAN_PAGES + 2);
	rte_free(va);
	assert_false(resolves(mr));
	uroce_mr_destroy(mr, NULL, NULL);
}

static void
test_given_back(void **state)
{
	char *stays = rte_malloc(NULL, BLOCK, 0);
	char *goes = rte_malloc(NULL, BLOCK, 0);
	static char zeroed[100];
	const uintptr_t middle = (uintptr_t)goes + BLOCK / 2;
	struct uroce_mr *gone[4], *kept[3];

	assert_non_null(stays);
	assert_non_null(goes);
	gone[0] = reg(goes, BLOCK);
	gone[1] = reg(goes + PAGE, 1 + PAGE);
	gone[2] = reg(RTE_PTR_ALIGN(goes, PAGE), 1);
	gone[3] = reg(RTE_PTR_ALIGN(goes, PAGE) - 1, 2);
	kept[0] = reg(stays, BLOCK);
	kept[1] = reg(stays, 1);
	kept[2] = reg(zeroed, sizeof(zeroed));
	rte_free(goes);
	assert_false(is_mapped((void *)middle));
	for (unsigned int i = 0; i < RTE_DIM(gone); i++)
		assert_false(resolves(gone[i]));
	for (unsigned int i = 0; i < RTE_DIM(kept); i++)
		assert_true(resolves(kept[i]));
	/* freed memory cannot be registered, though its addresses still belong to DPDK */
	errno = 0;
	assert_null(reg((void *)middle, 1));
	assert_int_equal(errno, EFAULT);
	for (unsigned int i = 0; i < RTE_DIM(gone); i++)
		uroce_mr_destroy(gone[i], NULL, NULL);
	for (unsigned int i = 0; i < RTE_DIM(kept); i++)
		uroce_mr_destroy(kept[i], NULL, NULL);
	rte_free(stays);
}

/* Memory that returns at the same address does not revive the old key, and gets a key of its own. */
static void
test_given_back_and_allocated_again(void **state)
{
	char *va = rte_malloc(NULL, BLOCK, 0);
	struct uroce_mr *old = reg(va, BLOCK), *mr;
	char *again;

	assert_non_null(old);
	rte_free(va);
	again = rte_malloc(NULL, BLOCK, 0);
	assert_ptr_equal(again, va);
	assert_false(resolves(old));
	mr = reg(again, BLOCK);
	assert_non_null(mr);
	assert_true(resolves(mr));
	uroce_mr_destroy(old, NULL, NULL);
	assert_true(resolves(mr));
	uroce_mr_destroy(mr, NULL, NULL);
	rte_free(again);
}

static void
test_two_tables(void **state)
{
	char *va = rte_malloc(NULL, BLOCK, 0);
	struct uroce_mr *first = reg(va, BLOCK), *second;
	struct uroce_mrs other;

	assert_int_equal(uroce_mrs_init(&other, 4, -1), 0);
	second = uroce_mr_create(&other, &pd.ibv, va, BLOCK, 0, 0);
	assert_non_null(uroce_mr_lookup(&other, second->ibv.lkey, &pd.ibv, 0, 1, 0));
	rte_free(va);
	assert_false(resolves(first));
	assert_null(uroce_mr_lookup(&other, second->ibv.lkey, &pd.ibv, 0, 1, 0));
	uroce_mr_destroy(second, NULL, NULL);
	uroce_mrs_fini(&other);
	/* the second region still gets the notification */
	uroce_mr_destroy(first, NULL, NULL);
	va = rte_malloc(NULL, BLOCK, 0);
	first = reg(va, BLOCK);
	rte_free(va);
	assert_false(resolves(first));
	uroce_mr_destroy(first, NULL, NULL);
}

/* As SPDK: register all memory that DPDK allocates, and deregister what it frees, in a callback of EAL, which holds its
 * memory lock. */
struct follower {
	struct uroce_mr *mr;
	unsigned int registered, deregistered;
};

static void
follow(enum rte_mem_event event, const void *addr, size_t len, void *arg)
{
	struct follower *f = arg;

	if (event == RTE_MEM_EVENT_ALLOC) {
		RTE_VERIFY(f->mr == NULL);
		f->mr = reg((void *)(uintptr_t)addr, len);
		RTE_VERIFY(f->mr != NULL && resolves(f->mr));
		f->registered++;
	} else if (f->mr != NULL && f->mr->ibv.addr == addr) {
		RTE_VERIFY(uroce_mr_destroy(f->mr, NULL, NULL) == 0);
		f->mr = NULL;
		f->deregistered++;
	}
}

static void
test_in_a_callback(void **state)
{
	struct follower f = { .mr = NULL };
	char *va;

	assert_int_equal(rte_mem_event_callback_register("follow", follow, &f), 0);
	for (unsigned int i = 1; i <= 3; i++) {	/* the same memory each time */
		va = rte_malloc(NULL, BLOCK, 0);
		assert_non_null(va);
		assert_int_equal(f.registered, i);
		rte_free(va);
		assert_int_equal(f.deregistered, i);
	}
	assert_int_equal(rte_mem_event_callback_unregister("follow", &f), 0);
}

/* Memory of the application that becomes a DPDK heap and stops being one. */
static void
test_heap_memory_removed(void **state)
{
	void *area = NULL;
	struct uroce_mr *mr;

	assert_int_equal(posix_memalign(&area, PAGE, 2 * PAGE), 0);
	assert_int_equal(rte_malloc_heap_create("external"), 0);
	assert_int_equal(rte_malloc_heap_memory_add("external", area, 2 * PAGE, NULL, 0, PAGE), 0);
	mr = reg((char *)area + 100, 10000);
	assert_non_null(mr);
	assert_true(resolves(mr));
	assert_int_equal(rte_malloc_heap_memory_remove("external", area, 2 * PAGE), 0);
	assert_false(resolves(mr));
	uroce_mr_destroy(mr, NULL, NULL);
	assert_int_equal(rte_malloc_heap_destroy("external"), 0);
	free(area);
}

/* Read a byte that must still be mapped. DPDK clears freed memory before it returns the page, while this thread
 * reads: harmless here, but a race for a sanitizer. */
static __attribute__((no_sanitize("thread"), noinline)) unsigned int
touch(const uint8_t *byte)
{
	return *(const volatile uint8_t *)byte;
}

struct poll {
	struct uroce_mr *mr;
	int found; /* atomic: the look-up has succeeded */
	int left;  /* atomic: set at the end of the poll */
};

static void *
poll_slowly(void *arg)
{
	struct poll *p = arg;
	const struct uroce_mr_key *k;
	unsigned int sum = 0;

	uroce_rcu_register(3);
	uroce_rcu_begin_read(3);
	k = uroce_mr_lookup(&table, p->mr->ibv.lkey, &pd.ibv, (uintptr_t)p->mr->ibv.addr, BLOCK, 0);
	RTE_VERIFY(k != NULL);
	__atomic_store_n(&p->found, 1, __ATOMIC_RELEASE);
	/* the key goes before the memory does */
	while (__atomic_load_n(&k->key, __ATOMIC_RELAXED) != 0)
		sched_yield();
	for (unsigned int i = 0; i < 100; i++) {
		sched_yield();
		for (size_t at = 0; at < BLOCK; at += 4096)
			sum += touch(&k->va[at]);
	}
	RTE_VERIFY(sum == 0);
	__atomic_store_n(&p->left, 1, __ATOMIC_RELEASE);
	uroce_rcu_end_read(3);
	uroce_rcu_unregister(3);
	return NULL;
}

static void
test_waits_for_workers(void **state)
{
	char *va = rte_zmalloc(NULL, BLOCK, 0);
	const uintptr_t middle = (uintptr_t)va + BLOCK / 2;
	struct poll p = { .mr = reg(va, BLOCK) };
	pthread_t thread;

	assert_non_null(p.mr);
	assert_int_equal(pthread_create(&thread, NULL, poll_slowly, &p), 0);
	while (__atomic_load_n(&p.found, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
	rte_free(va);
	assert_int_equal(__atomic_load_n(&p.left, __ATOMIC_ACQUIRE), 1);
	assert_false(is_mapped((void *)middle));
	pthread_join(thread, NULL);
	uroce_mr_destroy(p.mr, NULL, NULL);
}

/* Threads allocate, register, free and deregister in random order while a worker polls: locks taken in the wrong
 * order would deadlock. */
#define THREADS 3
#define CYCLES  60

static int stop; /* atomic */

static void *
churn(void *arg)
{
	const bool free_first = (uintptr_t)arg % 2 == 0;

	for (unsigned int i = 0; i < CYCLES; i++) {
		char *va = rte_malloc(NULL, i % 3 == 0 ? 100000 : BLOCK, 0);
		struct uroce_mr *mr;

		RTE_VERIFY(va != NULL);
		mr = reg(va, 50000);
		RTE_VERIFY(mr != NULL);
		if (free_first)
			rte_free(va);
		uroce_mr_destroy(mr, NULL, NULL);
		if (!free_first)
			rte_free(va);
	}
	return NULL;
}

static void *
poll_always(void *arg)
{
	(void)arg;
	uroce_rcu_register(4);
	while (__atomic_load_n(&stop, __ATOMIC_RELAXED) == 0) {
		uroce_rcu_begin_read(4);
		for (uint32_t i = 0; i < RTE_BIT32(table.log2); i++) {
			const uint32_t key = __atomic_load_n(&table.keys[i].key, __ATOMIC_ACQUIRE);

			if (key != 0) {
				RTE_VERIFY(uroce_mr_iova(&table.keys[i], table.keys[i].addr, 8) !=
					   0);
				touch(table.keys[i].va);
			}
		}
		uroce_rcu_end_read(4);
		sched_yield();
	}
	uroce_rcu_unregister(4);
	return NULL;
}

static void
test_no_deadlock(void **state)
{
	pthread_t threads[THREADS], worker;

	assert_int_equal(pthread_create(&worker, NULL, poll_always, NULL), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(worker, NULL);
	assert_int_equal(table.count, 0);
}

static int
setup(void **state)
{
	return uroce_mrs_init(&table, 6, -1);
}

static int
teardown(void **state)
{
	uroce_mrs_fini(&table);
	return 0;
}

static unsigned long
free_hugepages(void)
{
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned long n = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "%lu", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

static void
init_eal(const char *iova_mode)
{
	static char mode[32];
	char *argv[] = {
		(char[]){ "hugepages" },
		(char[]){ "--in-memory" },
		(char[]){ "--no-pci" },
		(char[]){ "--no-telemetry" },
		(char[]){ "--log-level=lib.eal:error" },
		mode,
		NULL,
	};

	snprintf(mode, sizeof(mode), "--iova-mode=%s", iova_mode);
	if (strcmp(iova_mode, "pa") == 0 && geteuid() != 0) {
		printf("skipped: only root sees physical addresses\n");
		exit(SKIP);
	}
	if (free_hugepages() < PAGES_NEEDED) {
		printf("skipped: %lu of %u hugepages of 2 MiB are free\n", free_hugepages(),
		       PAGES_NEEDED);
		exit(SKIP);
	}
	if (rte_eal_init((int)RTE_DIM(argv) - 1, argv) < 0) {
		printf("rte_eal_init: %s\n", rte_strerror(rte_errno));
		exit(1);
	}
	if (rte_eal_iova_mode() != (strcmp(iova_mode, "pa") == 0 ? RTE_IOVA_PA : RTE_IOVA_VA)) {
		printf("EAL did not take the IOVA mode %s\n", iova_mode);
		exit(1);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_iovas),
		cmocka_unit_test(test_iovas_of_many_pages),
		cmocka_unit_test(test_given_back),
		cmocka_unit_test(test_given_back_and_allocated_again),
		cmocka_unit_test(test_two_tables),
		cmocka_unit_test(test_in_a_callback),
		cmocka_unit_test(test_heap_memory_removed),
		cmocka_unit_test(test_waits_for_workers),
		cmocka_unit_test(test_no_deadlock),
	};
	int rc;

	init_eal(argc > 1 ? argv[1] : "va");
	rc = cmocka_run_group_tests(tests, setup, teardown);
	rte_eal_cleanup();
	return rc;
}
