/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce_numa_node: the node of present pages, and that the query does not make pages present.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <numa.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "mem/numa.h"

#define PAGES 8

static char *
map_pages(size_t page)
{
	char *va = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	assert_ptr_not_equal(va, MAP_FAILED);
	return va;
}

static void
test_page_that_is_there(void **state)
{
	static char memory[10000] = { 1 };
	const int node = uroce_numa_node(memory + 5000);

	memory[5000] = 1;
	if (numa_available() < 0)
		assert_int_equal(uroce_numa_node(memory + 5000), -1);
	else
		assert_uint_in_range(uroce_numa_node(memory + 5000), 0, numa_max_node());
	assert_true(node >= -1);
}

static void
test_page_that_is_not_there(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *va = map_pages(page);
	unsigned char resident[PAGES];

	for (unsigned int i = 0; i < PAGES; i++)
		assert_int_equal(uroce_numa_node(va + i * page + 9), -1);
	assert_int_equal(mincore(va, PAGES * page, resident), 0);
	for (unsigned int i = 0; i < PAGES; i++)
		assert_int_equal(resident[i] & 1, 0);
	munmap(va, PAGES * page);
	assert_int_equal(uroce_numa_node(va), -1);
	assert_int_equal(uroce_numa_node(NULL), -1);
}

static void
test_page_that_is_bound(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const int node = numa_available() < 0 ? -1 : numa_max_node();
	char *va = map_pages(page);
	unsigned char resident[PAGES];

	if (node < 0) {
		munmap(va, PAGES * page);
		skip();
	}
	/* only a preference: the pages may come from another node */
	numa_set_bind_policy(0);
	numa_tonode_memory(va, PAGES * page, node);
	assert_int_equal(uroce_numa_node(va), -1);
	numa_set_bind_policy(1);
	numa_tonode_memory(va, PAGES * page, node);
	assert_int_equal(uroce_numa_node(va), node);
	assert_int_equal(mincore(va, PAGES * page, resident), 0);
	assert_int_equal(resident[0] & 1, 0);
	munmap(va, PAGES * page);
}

UROCE_TESTS(numa)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page_that_is_there),
		cmocka_unit_test(test_page_that_is_not_there),
		cmocka_unit_test(test_page_that_is_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
