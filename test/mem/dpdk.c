/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * DPDK's knowledge about addresses: its own memory, unused pages of it, external memory, and all other memory.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_eal_memconfig.h>
#include <rte_malloc.h>

#include "eal.h"
#include "groups.h"
#include "mem/dpdk.h"

#define BYTES (8 * 4096) /* of the heap: several pages */
#define PAGES 4		 /* of external memory */

static char *heap;

static int
setup(void **state)
{
	heap = rte_malloc("test", BYTES, 4096);
	return heap != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	rte_free(heap);
	return 0;
}

static int
check(uint64_t first, uint64_t last, bool write)
{
	struct uroce_dpdk_area area;
	int ret;

	rte_mcfg_mem_read_lock();
	area = uroce_dpdk_area(first);
	ret = uroce_dpdk_check(&area, first, last, write);
	rte_mcfg_mem_read_unlock();
	return ret;
}

static bool
overlaps(uint64_t first, uint64_t last)
{
	bool ret;

	rte_mcfg_mem_read_lock();
	ret = uroce_dpdk_overlaps(first, last);
	rte_mcfg_mem_read_unlock();
	return ret;
}

static void
test_own(void **state)
{
	const uint64_t at = (uintptr_t)heap;
	struct rte_memseg_list *msl = uroce_dpdk_list(at);

	assert_non_null(msl);
	assert_false(msl->external);
	for (unsigned int write = 0; write < 2; write++) {
		assert_int_equal(check(at, at + BYTES - 1, write), 0);
		assert_int_equal(check(at + 5, at + 5, write), 0);
	}
	assert_true(uroce_dpdk_extent(msl, at) >= at + BYTES);
	assert_int_equal(uroce_dpdk_page(msl, msl->addr_64), 0);
	assert_int_equal(uroce_dpdk_page(msl, msl->addr_64 + msl->page_sz), 1);
	assert_int_equal(uroce_dpdk_page(msl, msl->addr_64 + 2 * msl->page_sz - 1), 1);
	assert_int_equal(uroce_dpdk_node(at), -1); /* without hugepages, the node is not verified */
}

/* The list's first and last byte belong to it, their neighbors do not. */
static void
test_overlaps(void **state)
{
	const struct rte_memseg_list *msl = uroce_dpdk_list((uintptr_t)heap);
	const uint64_t start = msl->addr_64, end = start + msl->len;

	assert_true(overlaps(start, end - 1));
	assert_true(overlaps(start - 1, start));
	assert_true(overlaps(end - 1, end));
	assert_true(overlaps(start - 1, end));
	assert_true(overlaps(start + 1, start + 1));
	assert_true(overlaps(0, UINT64_MAX));
	assert_false(overlaps(0, 4095));
}

/* Unused pages of a list are not memory, whether they are mapped or not. */
static void
test_hole(void **state)
{
	struct rte_memseg_list *msl = uroce_dpdk_list((uintptr_t)heap);
	const uint64_t at = (uintptr_t)heap, hole = at + 2 * msl->page_sz;

	assert_true(msl->page_sz * 4 <= BYTES);
	assert_int_equal(rte_fbarray_set_free(&msl->memseg_arr, (int)uroce_dpdk_page(msl, hole)),
			 0);
	assert_int_equal(check(at, hole - 1, true), 0);
	assert_int_equal(check(at, hole, false), -EFAULT);
	assert_int_equal(check(hole, hole, false), -EFAULT);
	assert_int_equal(check(hole + msl->page_sz - 1, at + BYTES - 1, false), -EFAULT);
	assert_int_equal(check(hole + msl->page_sz, at + BYTES - 1, true), 0);
	assert_true(uroce_dpdk_extent(msl, at) == hole);
	assert_true(uroce_dpdk_extent(msl, hole) == hole);
	assert_true(overlaps(hole, hole)); /* used or unused */
	assert_int_equal(rte_fbarray_set_used(&msl->memseg_arr, (int)uroce_dpdk_page(msl, hole)),
			 0);
	assert_int_equal(check(at, at + BYTES - 1, true), 0);
}

/* The kernel's mapping of external memory counts, not what the application told DPDK. */
static void
test_external(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = PAGES * page;
	char *va = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t at = (uintptr_t)va;

	assert_ptr_not_equal(va, MAP_FAILED);
	assert_null(uroce_dpdk_list(at));
	assert_false(overlaps(at, at + bytes - 1));
	assert_int_equal(check(at, at + bytes - 1, false), 0);
	assert_int_equal(check(at, at + bytes - 1, true), -EFAULT);
	assert_int_equal(rte_extmem_register(va, bytes, NULL, 0, page), 0);
	assert_non_null(uroce_dpdk_list(at));
	assert_true(uroce_dpdk_list(at)->external);
	assert_true(overlaps(at + bytes - 1, at + bytes - 1));
	assert_int_equal(uroce_dpdk_node(at), -1);
	assert_int_equal(check(at, at + bytes - 1, false), 0);
	assert_int_equal(check(at, at + bytes - 1, true), -EFAULT);
	assert_int_equal(mprotect(va + page, page, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(check(at + page, at + 2 * page - 1, true), 0);
	assert_int_equal(mprotect(va + page, page, PROT_NONE), 0);
	assert_int_equal(check(at, at + bytes - 1, false), -EFAULT);
	assert_int_equal(rte_extmem_unregister(va, bytes), 0);
	assert_false(overlaps(at, at + bytes - 1));
	munmap(va, bytes);
	assert_int_equal(check(at, at, false), -EFAULT);
}

UROCE_TESTS(dpdk)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_hole),
		cmocka_unit_test(test_external),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, setup, teardown);
}
