/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Ports register external memory with their devices. The test replaces the functions of EAL that call the devices' bus.
 */

#define ALLOW_EXPERIMENTAL_API

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "eal.h"
#include "mem/mr.h"
#include "tap.h"

#define BYTES 4096
#define IOVA  UINT64_C(0x10000000)

static struct rte_device *mapped_by, *unmapped_by;
static unsigned int maps, unmaps;
static int error;

int
rte_dev_dma_map(struct rte_device *dev, void *addr, uint64_t iova, size_t len)
{
	assert_int_equal(iova, IOVA);
	assert_int_equal(len, BYTES);
	mapped_by = dev;
	maps++;
	rte_errno = error;
	return error != 0 ? -1 : 0;
}

int
rte_dev_dma_unmap(struct rte_device *dev, void *addr, uint64_t iova, size_t len)
{
	assert_int_equal(iova, IOVA);
	unmapped_by = dev;
	unmaps++;
	rte_errno = error;
	return error != 0 ? -1 : 0;
}

/* @return the I/O address at which the port would send from the memory */
static rte_iova_t
register_once(int map_error)
{
	static const char *const cidrs[] = { "10.0.0.1/24", NULL };
	rte_iova_t iova = IOVA;
	struct rte_eth_dev_info info;
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	struct tap t;
	void *va = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_int_equal(rte_extmem_register(va, BYTES, &iova, 1, BYTES), 0);
	maps = unmaps = 0;
	error = map_error;
	tap_open(&t, 0, cidrs);
	pd = uroce_alloc_pd(t.context);
	mr = uroce_reg_mr(pd, va, BYTES, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(maps, 1);
	assert_int_equal(rte_eth_dev_info_get(t.wire.port_id, &info), 0);
	assert_ptr_equal(mapped_by, info.device);
	iova = uroce_mr_iova(uroce_mr_lookup(&t.port->dev.mrs, mr->lkey, pd, (uintptr_t)va, 1, 0), (uintptr_t)va, 1);
	assert_int_equal(unmaps, 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(unmaps, map_error == 0);
	if (unmaps != 0)
		assert_ptr_equal(unmapped_by, info.device);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	tap_close(&t);
	assert_int_equal(rte_extmem_unregister(va, BYTES), 0);
	munmap(va, BYTES);
	return iova;
}

static void
test_mapped(void **state)
{
	assert_int_equal(register_once(0), IOVA);
}

/* Without an IOMMU, the application's IOVAs are used. */
static void
test_not_needed(void **state)
{
	assert_int_equal(register_once(ENOTSUP), IOVA);
}

static void
test_failed(void **state)
{
	assert_int_equal(register_once(ENOSPC), RTE_BAD_IOVA);
}

static struct ibv_mr *
reg(struct tap *t, void *va)
{
	struct ibv_pd *pd = uroce_alloc_pd(t->context);
	struct ibv_mr *mr = uroce_reg_mr(pd, va, BYTES, IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(mr);
	return mr;
}

static void
dereg(struct ibv_mr *mr)
{
	struct ibv_pd *pd = mr->pd;

	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
}

/* The first of two ports deregisters the area, and may be removed with its device: the other port keeps it mapped. */
static void
leave_first(bool with_device)
{
	static const char *const a_cidrs[] = { "10.0.0.1/24", NULL }, *const b_cidrs[] = { "10.0.1.1/24", NULL };
	rte_iova_t iova = IOVA;
	struct ibv_mr *a_mr, *b_mr;
	struct tap a, b;
	void *va = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_int_equal(rte_extmem_register(va, BYTES, &iova, 1, BYTES), 0);
	maps = unmaps = 0;
	error = 0;
	tap_open(&a, 0, a_cidrs);
	tap_open(&b, 0, b_cidrs);
	a_mr = reg(&a, va);
	b_mr = reg(&b, va);
	assert_int_equal(maps, 2);
	dereg(a_mr);
	if (with_device)
		tap_close(&a);
	assert_int_equal(unmaps, 0);
	dereg(b_mr);
	assert_int_equal(unmaps, with_device ? 1 : 2);
	if (!with_device)
		tap_close(&a);
	tap_close(&b);
	assert_int_equal(rte_extmem_unregister(va, BYTES), 0);
	munmap(va, BYTES);
}

static void
test_two_ports(void **state)
{
	leave_first(false);
}

static void
test_device_gone(void **state)
{
	leave_first(true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mapped),
		cmocka_unit_test(test_not_needed),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_two_ports),
		cmocka_unit_test(test_device_gone),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
