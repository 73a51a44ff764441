/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * IOVAs of regions: in the heap, memzones, mempools and external memory, with pages of 4 KiB to 1 GiB, with and without
 * IOVAs, contiguous and not, and in memory that DPDK does not know.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_memzone.h>

#include "groups.h"
#include "mem/iova.h"
#include "mem/mr.h"
#include "mem/pd.h"
#include "eal.h"

#define KB 1024ul
#define MB (1024 * KB)
#define GB (1024 * MB)

static struct ibv_context context;
static struct uroce_pd pd = { .ibv = { .context = &context }, .protection = &pd.ibv };
static struct uroce_mrs table;

static struct uroce_mr *
reg(void *va, size_t length)
{
	struct uroce_mr *mr = uroce_mr_create(&table, &pd.ibv, va, length, (uintptr_t)va,
					      IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(mr);
	return mr;
}

static rte_iova_t
iova(const struct uroce_mr *mr, const void *va, uint32_t length)
{
	return uroce_mr_iova(mr->slot, (uintptr_t)va, length);
}

/* Compare the first and last byte of each page with DPDK's own answer. */
static void
check_against_eal(char *va, size_t length)
{
	struct uroce_mr *mr = reg(va, length);

	assert_non_null(mr->iova);
	assert_int_equal(iova(mr, va, 1), rte_mem_virt2iova(va));
	assert_int_equal(iova(mr, va + length - 1, 1), rte_mem_virt2iova(va + length - 1));
	for (char *at = RTE_PTR_ALIGN(va, 4 * KB); at < va + length; at += 4 * KB) {
		assert_int_equal(iova(mr, at, 1), rte_mem_virt2iova(at));
		if (at + 100 <= va + length)
			assert_int_equal(iova(mr, at + 99, 1), rte_mem_virt2iova(at + 99));
	}
	assert_int_equal(iova(mr, va, 0), RTE_BAD_IOVA);
	assert_int_equal(iova(mr, va + length, 0), RTE_BAD_IOVA);
	uroce_mr_destroy(mr, NULL, NULL);
}

static void
test_heap(void **state)
{
	static const size_t lengths[] = { 1, 64, 4096, 4097, 5 * MB };

	for (unsigned int i = 0; i < RTE_DIM(lengths); i++) {
		char *va = rte_malloc(NULL, lengths[i], 0);

		assert_non_null(va);
		check_against_eal(va, lengths[i]);
		if (lengths[i] > 10)
			check_against_eal(va + 7, lengths[i] - 9);
		rte_free(va);
	}
}

static void
test_memzone(void **state)
{
	const struct rte_memzone *mz = rte_memzone_reserve("iova_test", 3 * MB, SOCKET_ID_ANY, 0);

	assert_non_null(mz);
	check_against_eal(mz->addr, mz->len);
	rte_memzone_free(mz);
}

static void
test_mempool(void **state)
{
	struct rte_mempool *mp = rte_pktmbuf_pool_create("iova_test", 255, 0, 0, 9000,
							 SOCKET_ID_ANY);
	struct rte_mbuf *m;
	struct uroce_mr *mr;

	assert_non_null(mp);
	m = rte_pktmbuf_alloc(mp);
	assert_non_null(m);
	check_against_eal(m->buf_addr, m->buf_len);
	mr = reg(m->buf_addr, m->buf_len);
	assert_int_equal(iova(mr, m->buf_addr, m->buf_len), rte_mbuf_iova_get(m));
	uroce_mr_destroy(mr, NULL, NULL);
	rte_pktmbuf_free(m);
	rte_mempool_free(mp);
}

static void
test_unknown_to_dpdk(void **state)
{
	static char zeroed[10000];
	struct uroce_mr *mr = reg(zeroed, sizeof(zeroed));

	assert_null(mr->iova);
	assert_int_equal(iova(mr, zeroed, 1), RTE_BAD_IOVA);
	uroce_mr_destroy(mr, NULL, NULL);
}

static char *
map_aligned(size_t length, size_t page, int protection)
{
	char *va = mmap(NULL, length + page, protection,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(va, MAP_FAILED);
	/* the neighbors stay reserved until the process ends, so that no other mapping joins the area */
	return RTE_PTR_ALIGN(va, page);
}

#define PAGES 16

/* A permutation without contiguous pages, except two pairs: 4 and 5, 9 and 10. */
static void
fill_iovas(rte_iova_t *iovas, size_t page)
{
	for (uint64_t i = 0; i < PAGES; i++)
		iovas[i] = (100 + i * 7 % PAGES * 2) * page;
	iovas[5] = iovas[4] + page;
	iovas[10] = iovas[9] + page;
}

static void
check_external_table(size_t page)
{
	char *va = map_aligned(PAGES * page, page, PROT_READ | PROT_WRITE);
	rte_iova_t iovas[PAGES];
	struct uroce_mr *mr;

	fill_iovas(iovas, page);
	assert_int_equal(rte_extmem_register(va, PAGES * page, iovas, PAGES, page), 0);
	/* from the middle of page 2 to the byte before the last */
	mr = reg(va + 2 * page + 100, (PAGES - 2) * page - 101);
	for (unsigned int i = 3; i < PAGES; i++) {
		const bool follows = i == 5 || i == 10;
		const rte_iova_t end = iovas[i - 1] + page;

		assert_int_equal(iova(mr, va + i * page, 1), iovas[i]);
		assert_int_equal(iova(mr, va + i * page, (uint32_t)page - 1), iovas[i]);
		assert_int_equal(iova(mr, va + i * page + 33, 10), iovas[i] + 33);
		/* across the page boundary */
		assert_int_equal(iova(mr, va + i * page - 1, 1), end - 1);
		assert_int_equal(iova(mr, va + i * page - 1, 2), follows ? end - 1 : RTE_BAD_IOVA);
		assert_int_equal(iova(mr, va + i * page - 50, 100),
				 follows ? end - 50 : RTE_BAD_IOVA);
	}
	assert_int_equal(iova(mr, va + 2 * page + 100, 1), iovas[2] + 100);
	/* three pages, two of them contiguous */
	assert_int_equal(iova(mr, va + 4 * page, 2 * (uint32_t)page), iovas[4]);
	assert_int_equal(iova(mr, va + 4 * page, 2 * (uint32_t)page + 1), RTE_BAD_IOVA);
	assert_int_equal(iova(mr, va + 4 * page - 1, 2 * (uint32_t)page), RTE_BAD_IOVA);
	uroce_mr_destroy(mr, NULL, NULL);
	assert_int_equal(rte_extmem_unregister(va, PAGES * page), 0);
}

static void
test_external_pages_of_4k(void **state)
{
	check_external_table(4 * KB);
}

static void
test_external_pages_of_2m(void **state)
{
	check_external_table(2 * MB);
}

static void
test_external_pages_of_1g(void **state)
{
	check_external_table(1 * GB);
}

static void
test_external_contiguous(void **state)
{
	const size_t page = 2 * MB;
	char *va = map_aligned(PAGES * page, page, PROT_READ | PROT_WRITE);
	rte_iova_t iovas[PAGES];
	struct uroce_mr *mr;

	for (unsigned int i = 0; i < PAGES; i++)
		iovas[i] = 7 * GB + i * page;
	assert_int_equal(rte_extmem_register(va, PAGES * page, iovas, PAGES, page), 0);
	mr = reg(va + 5, PAGES * page - 5);
	assert_int_equal(mr->iova->n_pages, 0);
	for (size_t i = 5; i < PAGES * page; i += 99 * KB)
		assert_int_equal(iova(mr, va + i, 1), 7 * GB + i);
	assert_int_equal(iova(mr, va + 5, (uint32_t)(PAGES * page - 5)), 7 * GB + 5);
	uroce_mr_destroy(mr, NULL, NULL);
	assert_int_equal(rte_extmem_unregister(va, PAGES * page), 0);
}

/* Pages without an IOVA are copied, their neighbors are not; if no page has one, there is no map. */
static void
test_external_without_iovas(void **state)
{
	const size_t page = 4 * KB;
	char *va = map_aligned(PAGES * page, page, PROT_READ | PROT_WRITE);
	rte_iova_t iovas[PAGES];
	struct uroce_mr *mr;

	for (unsigned int i = 0; i < PAGES; i++)
		iovas[i] = i % 4 < 2 ? 5 * GB + i * page : RTE_BAD_IOVA;
	assert_int_equal(rte_extmem_register(va, PAGES * page, iovas, PAGES, page), 0);
	mr = reg(va, PAGES * page);
	assert_int_equal(iova(mr, va, 2 * (uint32_t)page), 5 * GB);
	assert_int_equal(iova(mr, va, 2 * (uint32_t)page + 1), RTE_BAD_IOVA);
	assert_int_equal(iova(mr, va + 2 * page, 1), RTE_BAD_IOVA);
	assert_int_equal(iova(mr, va + 3 * page + 5, 1), RTE_BAD_IOVA);
	assert_int_equal(iova(mr, va + 4 * page - 1, 2), RTE_BAD_IOVA);
	assert_int_equal(iova(mr, va + 4 * page, 1), 5 * GB + 4 * page);
	uroce_mr_destroy(mr, NULL, NULL);
	mr = reg(va + 2 * page, 2 * page);
	assert_null(mr->iova);
	assert_int_equal(iova(mr, va + 2 * page, 1), RTE_BAD_IOVA);
	uroce_mr_destroy(mr, NULL, NULL);
	assert_int_equal(rte_extmem_unregister(va, PAGES * page), 0);

	assert_int_equal(rte_extmem_register(va, PAGES * page, NULL, 0, page), 0);
	mr = reg(va, PAGES * page);
	assert_null(mr->iova);
	uroce_mr_destroy(mr, NULL, NULL);
	assert_int_equal(rte_extmem_unregister(va, PAGES * page), 0);
}

/* A region that begins or ends outside external memory can be registered, and is copied. */
static void
test_partly_external(void **state)
{
	const size_t page = 4 * KB;
	char *va = map_aligned(PAGES * page, page, PROT_READ | PROT_WRITE);
	char *external = va + 4 * page;
	rte_iova_t iovas[4] = { page, 2 * page, 3 * page, 4 * page };
	struct uroce_mr *mr;

	assert_int_equal(rte_extmem_register(external, 4 * page, iovas, 4, page), 0);
	mr = reg(va, PAGES * page);
	assert_true(mr->is_of_dpdk);
	assert_int_equal(iova(mr, external, 1), RTE_BAD_IOVA);
	uroce_mr_destroy(mr, NULL, NULL);
	mr = reg(external, 5 * page);
	assert_int_equal(iova(mr, external, 1), RTE_BAD_IOVA);
	uroce_mr_destroy(mr, NULL, NULL);
	mr = reg(external, 4 * page);
	assert_int_equal(iova(mr, external + 3 * page, (uint32_t)page), 4 * page);
	uroce_mr_destroy(mr, NULL, NULL);
	assert_int_equal(rte_extmem_unregister(external, 4 * page), 0);
	mr = reg(external, 4 * page);
	assert_false(mr->is_of_dpdk);
	uroce_mr_destroy(mr, NULL, NULL);
}

/* Telling DPDK about memory makes it neither writable nor present. */
static void
test_external_protection(void **state)
{
	const size_t page = 4 * KB;
	char *va = map_aligned(PAGES * page, page, PROT_READ);
	rte_iova_t iovas[PAGES] = { 0 };
	struct uroce_mr *mr;

	assert_int_equal(rte_extmem_register(va, PAGES * page, iovas, PAGES, page), 0);
	errno = 0;
	assert_null(uroce_mr_create(&table, &pd.ibv, va, page, 0, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	mr = uroce_mr_create(&table, &pd.ibv, va, page, 0, IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	uroce_mr_destroy(mr, NULL, NULL);
	munmap(va + page, page);
	errno = 0;
	assert_null(uroce_mr_create(&table, &pd.ibv, va, 3 * page, 0, 0));
	assert_int_equal(errno, EFAULT);
	assert_int_equal(rte_extmem_unregister(va, PAGES * page), 0);
}

static int
setup(void **state)
{
	test_eal_init(NULL);
	return uroce_mrs_init(&table, 6, -1);
}

static int
teardown(void **state)
{
	uroce_mrs_fini(&table);
	return 0;
}

UROCE_TESTS(iova)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heap),
		cmocka_unit_test(test_memzone),
		cmocka_unit_test(test_mempool),
		cmocka_unit_test(test_unknown_to_dpdk),
		cmocka_unit_test(test_external_pages_of_4k),
		cmocka_unit_test(test_external_pages_of_2m),
		cmocka_unit_test(test_external_pages_of_1g),
		cmocka_unit_test(test_external_contiguous),
		cmocka_unit_test(test_external_without_iovas),
		cmocka_unit_test(test_partly_external),
		cmocka_unit_test(test_external_protection),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
