/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_advise_mr(3): after a synchronous call the pages are present; and which calls are refused.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce.h"
#include "eal.h"
#include "fake.h"

#define PAGES 8

static const enum ibv_advise_mr_advice advices[] = {
	IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
};

static size_t page;
static struct ibv_pd *pd;
static uint8_t *memory;

static int
setup(void **state)
{
	fake_setup(state);
	page = (size_t)sysconf(_SC_PAGESIZE);
	pd = uroce_alloc_pd(fake.context);
	memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return pd == NULL || memory == MAP_FAILED;
}

static int
teardown(void **state)
{
	munmap(memory, PAGES * page);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	return fake_teardown(state);
}

static unsigned int
present(void)
{
	unsigned char there[PAGES];
	unsigned int n = 0;

	assert_int_equal(mincore(memory, PAGES * page, there), 0);
	for (unsigned int i = 0; i < PAGES; i++)
		n += there[i] & 1;
	return n;
}

static void
pages_are_provided(void **state)
{
	struct ibv_mr *mr = uroce_reg_mr(pd, memory, PAGES * page, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)memory + page - 1, .length = 2, .lkey = mr->lkey },
		{ .addr = (uintptr_t)memory + 4 * page, .length = (uint32_t)page, .lkey = mr->lkey },
	};
	int ret;

	(void)state;
	assert_int_equal(present(), 0);
	ret = ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, sge, 2);
	if (ret == ENOTSUP) {	/* kernels before 5.14 */
		assert_int_equal(uroce_dereg_mr(mr), 0);
		skip();
	}
	assert_int_equal(ret, 0);
	assert_int_equal(present(), 3);
	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, sge, 2), 0);
	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, sge, 2), 0);
	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, sge, 0), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
refused(struct ibv_sge second, enum ibv_advise_mr_advice advice, uint32_t flags, int error)
{
	struct ibv_mr *mr = uroce_reg_mr(pd, memory, PAGES * page, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge[2] = { { .addr = (uintptr_t)memory, .length = 1, .lkey = mr->lkey }, second };

	assert_int_equal(ibv_advise_mr(pd, advice, flags, sge, 2), error);
	assert_int_equal(present(), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

/* All or nothing: the first entry is valid. */
static void
what_is_refused(void **state)
{
	struct ibv_pd *other = uroce_alloc_pd(fake.context);
	struct ibv_mr *foreign = uroce_reg_mr(other, memory, page, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *read_only = uroce_reg_mr(pd, memory, page, 0);
	struct ibv_mr *null = ibv_alloc_null_mr(pd);
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = 1, .lkey = read_only->lkey };

	(void)state;
	refused(sge, 3, 0, EINVAL);
	refused(sge, IBV_ADVISE_MR_ADVICE_PREFETCH, 1u << 31, EINVAL);
	refused(sge, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, EFAULT);
	for (unsigned int i = 0; i < RTE_DIM(advices); i++) {
		sge = (struct ibv_sge){ .addr = (uintptr_t)memory, .length = 1, .lkey = foreign->lkey };
		refused(sge, advices[i], 0, EFAULT);
		sge.lkey = null->lkey;
		refused(sge, advices[i], 0, EFAULT);
		sge.lkey = 0;
		refused(sge, advices[i], 0, EFAULT);
		sge.lkey = read_only->lkey;
		sge.length = (uint32_t)page + 1;
		refused(sge, advices[i], 0, EFAULT);
	}
	assert_int_equal(uroce_dereg_mr(null), 0);
	assert_int_equal(uroce_dereg_mr(read_only), 0);
	assert_int_equal(uroce_dereg_mr(foreign), 0);
	assert_int_equal(uroce_dealloc_pd(other), 0);
}

UROCE_TESTS(advise)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pages_are_provided, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_refused, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
