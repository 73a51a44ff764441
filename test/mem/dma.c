/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * External memory and devices with an IOMMU: when the library maps and unmaps it, and which memory it copies because a
 * device cannot map it. The devices are stubs of the test. They share one container, as all VFIO devices do: a second
 * mapping of an area succeeds and changes nothing, and the first unmap removes it for all of them.
 */

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_eal_memconfig.h>
#include <rte_malloc.h>

#include "eal.h"
#include "groups.h"
#include "mem/mr.h"
#include "mem/pd.h"

#define PAGE  4096
#define PAGES 8
#define IOVA  UINT64_C(0x10000000)

static struct ibv_context context;
static struct uroce_pd pd = { .ibv = { .context = &context }, .protection = &pd.ibv };
static struct uroce_mrs table, second;
static char *memory;
static struct uroce_dma_run mapped[PAGES]; /* the mappings of the container */
static unsigned int n_mapped, map_calls, unmap_calls;
static unsigned int maps_until_error;
static int map_error;

static bool
container_find(rte_iova_t iova, unsigned int *i)
{
	for (*i = 0; *i < n_mapped; ++*i)
		if (mapped[*i].iova == iova)
			return true;
	return false;
}

static int
map(void *arg, void *va, rte_iova_t iova, size_t bytes)
{
	unsigned int i;

	assert_true(arg == &table || arg == &second);
	if (map_calls++ == maps_until_error)
		return map_error;
	if (!container_find(iova, &i))
		mapped[n_mapped++] = (struct uroce_dma_run){ va, iova, bytes };
	/* as a driver that allocates, which takes EAL's lock */
	rte_mcfg_mem_write_lock();
	rte_mcfg_mem_write_unlock();
	return 0;
}

static void
unmap(void *arg, void *va, rte_iova_t iova, size_t bytes)
{
	unsigned int i;

	assert_true(arg == &table || arg == &second);
	unmap_calls++;
	if (!container_find(iova, &i))
		return;
	assert_ptr_equal(va, mapped[i].va);
	assert_int_equal(bytes, mapped[i].bytes);
	mapped[i] = mapped[--n_mapped];
}

static struct uroce_mr *
reg_with(struct uroce_mrs *t, char *va, size_t bytes)
{
	struct uroce_mr *mr = uroce_mr_create(t, &pd.ibv, va, bytes, (uintptr_t)va, 0);

	assert_non_null(mr);
	return mr;
}

static struct uroce_mr *
reg(char *va, size_t bytes)
{
	return reg_with(&table, va, bytes);
}

static void
dereg(struct uroce_mr *mr)
{
	assert_int_equal(uroce_mr_destroy(mr, NULL, NULL), 0);
}

static rte_iova_t
iova_of(const struct uroce_mr *mr)
{
	return uroce_mr_iova(mr->slot, uroce_mr_addr(mr), 1);
}

static void
assert_mapped(unsigned int i, size_t page, size_t pages, rte_iova_t iova)
{
	assert_ptr_equal(mapped[i].va, memory + page * PAGE);
	assert_int_equal(mapped[i].bytes, pages * PAGE);
	assert_int_equal(mapped[i].iova, iova);
}

/* The first region maps all of the area, in as few pieces as its addresses allow; the second region maps nothing;
 * the last one unmaps. Pages without an address are left out. */
static void
test_shared_by_regions(void **state)
{
	struct uroce_mr *a = reg(memory, 100), *b = reg(memory + 2 * PAGE, PAGE);

	assert_int_equal(n_mapped, 2);
	assert_int_equal(map_calls, 2);
	assert_mapped(0, 0, 4, IOVA);
	assert_mapped(1, 5, 3, 2 * IOVA);
	assert_int_equal(iova_of(a), IOVA);
	assert_int_equal(iova_of(b), IOVA + 2 * PAGE);
	dereg(a);
	assert_int_equal(unmap_calls, 0);
	dereg(b);
	assert_int_equal(unmap_calls, 2);
	a = reg(memory, 100);
	assert_int_equal(n_mapped, 2);
	dereg(a);
	assert_int_equal(n_mapped, 0);
}

/* Memory that cannot be mapped is copied; the part that was mapped is unmapped at once. */
static void
test_cannot_map(void **state)
{
	struct uroce_mr *mr;

	map_error = -ENOSPC;
	maps_until_error = 1;
	mr = reg(memory, 100);
	assert_int_equal(map_calls, 2);
	assert_int_equal(n_mapped, 0);
	assert_int_equal(iova_of(mr), RTE_BAD_IOVA);
	dereg(mr);
	assert_int_equal(unmap_calls, 1);
}

/* A device without an IOMMU in front of it maps nothing. */
static void
test_needs_no_mapping(void **state)
{
	struct uroce_mr *mr;

	map_error = -ENOTSUP;
	maps_until_error = 0;
	mr = reg(memory, 100);
	assert_int_equal(map_calls, 1);
	assert_int_equal(iova_of(mr), IOVA);
	dereg(mr);
	assert_int_equal(unmap_calls, 0);
}

/* EAL maps its own memory; other memory has no I/O addresses. */
static void
test_other_memory(void **state)
{
	static char ordinary[100];
	char *own = rte_malloc(NULL, 100, 0);
	struct uroce_mr *a = reg(own, 100), *b = reg(ordinary, 100);

	assert_int_not_equal(iova_of(a), RTE_BAD_IOVA);
	assert_int_equal(map_calls, 0);
	dereg(a);
	dereg(b);
	rte_free(own);
}

/* A region that changes leaves one area and joins another. */
static void
test_change(void **state)
{
	static char ordinary[100];
	struct uroce_mr *mr = reg(ordinary, 100);
	struct uroce_mr_change to = { &pd.ibv, memory, 100, (uintptr_t)memory, 0 };

	assert_int_equal(uroce_mr_change(mr, &to, NULL, NULL), 0);
	assert_int_equal(n_mapped, 2);
	assert_int_equal(iova_of(mr), IOVA);
	to.length = 0;
	assert_int_equal(uroce_mr_change(mr, &to, NULL, NULL), -EINVAL);
	to = (struct uroce_mr_change){ &pd.ibv, ordinary, 100, (uintptr_t)ordinary, 0 };
	assert_int_equal(uroce_mr_change(mr, &to, NULL, NULL), 0);
	assert_int_equal(n_mapped, 0);
	dereg(mr);
	assert_int_equal(unmap_calls, 2);
}

/* A registration that fails after its area was mapped. */
static void
test_failure(void **state)
{
	struct uroce_mr *mr;

	assert_int_equal(mprotect(memory, PAGE, PROT_READ), 0);
	assert_null(uroce_mr_create(&table, &pd.ibv, memory, 100, 0, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	assert_int_equal(n_mapped, 0);
	mr = reg(memory, 100);
	dereg(mr);
	assert_int_equal(n_mapped, 0);
	assert_int_equal(mprotect(memory, PAGE, PROT_READ | PROT_WRITE), 0);
}

/* A device that leaves an area does not unmap it while another device needs it; the last device unmaps it for both. */
static void
test_shared_by_devices(void **state)
{
	struct uroce_mr *a = reg(memory, 100), *b = reg_with(&second, memory + PAGE, 100);

	assert_int_equal(map_calls, 4);
	assert_int_equal(n_mapped, 2);
	dereg(a);
	assert_int_equal(n_mapped, 2);
	assert_int_equal(unmap_calls, 0);
	dereg(b);
	assert_int_equal(n_mapped, 0);
	assert_int_equal(unmap_calls, 4);
}

/* A device that registers the area again finds its mapping intact. */
static void
test_again_while_shared(void **state)
{
	struct uroce_mr *a = reg(memory, 100), *b = reg_with(&second, memory, 100);

	for (int i = 0; i < 3; i++) {
		dereg(a);
		a = reg(memory, 100);
		assert_int_equal(iova_of(a), IOVA);
	}
	assert_int_equal(map_calls, 4);
	dereg(b);
	assert_int_equal(n_mapped, 2);
	dereg(a);
	assert_int_equal(n_mapped, 0);
	assert_int_equal(unmap_calls, 4);
}

/* A device that cannot map all of the area does not unmap what another one uses. */
static void
test_cannot_map_while_shared(void **state)
{
	struct uroce_mr *a = reg(memory, 100), *b;

	map_error = -ENOSPC;
	maps_until_error = 3;
	b = reg_with(&second, memory, 100);
	assert_int_equal(iova_of(b), RTE_BAD_IOVA);
	assert_int_equal(n_mapped, 2);
	dereg(b);
	assert_int_equal(n_mapped, 2);
	dereg(a);
	assert_int_equal(n_mapped, 0);
	assert_int_equal(unmap_calls, 3);
}

/* A later registration, which finds room, maps the rest, and the device can access the memory. */
static void
test_can_map_later(void **state)
{
	struct uroce_mr *a = reg(memory, 100), *b;

	map_error = -ENOSPC;
	maps_until_error = 3;
	dereg(reg_with(&second, memory, 100));
	b = reg_with(&second, memory, 100);
	assert_int_equal(map_calls, 5);
	assert_int_equal(iova_of(b), IOVA);
	dereg(a);
	assert_int_equal(n_mapped, 2);
	dereg(b);
	assert_int_equal(n_mapped, 0);
	assert_int_equal(unmap_calls, 4);
}

/* A device without an IOMMU needs no mapping, and delays no unmap. */
static void
test_shared_without_iommu(void **state)
{
	struct uroce_mr *a = reg(memory, 100), *b;

	map_error = -ENOTSUP;
	maps_until_error = 2;
	b = reg_with(&second, memory, 100);
	assert_int_equal(iova_of(b), IOVA);
	dereg(a);
	assert_int_equal(n_mapped, 0);
	assert_int_equal(unmap_calls, 2);
	dereg(b);
	assert_int_equal(unmap_calls, 2);
}

/* The device's table is destroyed before the area is unmapped. */
static void
test_table_gone_while_shared(void **state)
{
	struct uroce_mr *b = reg_with(&second, memory, 100);

	dereg(reg(memory, 100));
	uroce_mrs_fini(&table);
	assert_int_equal(n_mapped, 2);
	assert_int_equal(unmap_calls, 0);
	dereg(b);
	assert_int_equal(n_mapped, 0);
	assert_int_equal(unmap_calls, 4);
	assert_int_equal(uroce_mrs_init(&table, 6, -1), 0);
}

/* Pages 0 to 3 are contiguous, page 4 has no address, pages 5 to 7 are elsewhere. */
static int
setup(void **state)
{
	static const struct uroce_dma_ops ops = { .map = map, .unmap = unmap };
	rte_iova_t iovas[PAGES];

	for (unsigned int i = 0; i < PAGES; i++)
		iovas[i] = i < 4 ? IOVA + i * PAGE : 2 * IOVA + (i - 5) * PAGE;
	iovas[4] = RTE_BAD_IOVA;
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(rte_extmem_register(memory, PAGES * PAGE, iovas, PAGES, PAGE), 0);
	n_mapped = map_calls = unmap_calls = 0;
	map_error = 0;
	maps_until_error = UINT_MAX;
	assert_int_equal(uroce_mrs_init(&table, 6, -1), 0);
	assert_int_equal(uroce_mrs_init(&second, 6, -1), 0);
	table.dma.ops = second.dma.ops = &ops;
	table.dma.arg = &table;
	second.dma.arg = &second;
	return 0;
}

static int
teardown(void **state)
{
	uroce_mrs_fini(&table);
	uroce_mrs_fini(&second);
	assert_int_equal(rte_extmem_unregister(memory, PAGES * PAGE), 0);
	return munmap(memory, PAGES * PAGE);
}

UROCE_TESTS(dma)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shared_by_regions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cannot_map, setup, teardown),
		cmocka_unit_test_setup_teardown(test_needs_no_mapping, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shared_by_devices, setup, teardown),
		cmocka_unit_test_setup_teardown(test_again_while_shared, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cannot_map_while_shared, setup, teardown),
		cmocka_unit_test_setup_teardown(test_can_map_later, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shared_without_iommu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_table_gone_while_shared, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
