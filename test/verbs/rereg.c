/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_rereg_mr(3): translation, PD and access, each alone and all together; the keys stay; a failure changes nothing.
 * And ibv_reg_mr_iova(3) and ibv_alloc_null_mr(3).
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_malloc.h>

#include "groups.h"
#include "uroce.h"
#include "mem/mr.h"
#include "mem/mw.h"
#include "mem/pd.h"
#include "eal.h"
#include "fake.h"

#define TRANSLATION IBV_REREG_MR_CHANGE_TRANSLATION
#define PD IBV_REREG_MR_CHANGE_PD
#define ACCESS IBV_REREG_MR_CHANGE_ACCESS
#define BYTES 8192

static struct ibv_pd *pd, *other;
static struct ibv_mr *mr;
static uint8_t memory[BYTES], elsewhere[BYTES];
static const char text[] = "constant";

static int
setup(void **state)
{
	fake_setup(state);
	pd = uroce_alloc_pd(fake.context);
	other = uroce_alloc_pd(fake.context);
	mr = uroce_reg_mr(pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE);
	return mr == NULL;
}

static int
teardown(void **state)
{
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(uroce_dealloc_pd(other), 0);
	return fake_teardown(state);
}

static const void *
at(const struct ibv_pd *of, uint64_t addr, uint64_t length, unsigned int access)
{
	const struct uroce_mr_key *k = uroce_mr_lookup(&fake.dev.mrs, mr->lkey, of, addr, length, access);

	return k == NULL ? NULL : uroce_mr_va(k, addr);
}

static void
each_alone_and_all_together(void **state)
{
	const uint32_t key = mr->lkey;

	(void)state;
	assert_int_equal(uroce_rereg_mr(mr, ACCESS, NULL, NULL, 0,
					IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE), 0);
	assert_ptr_equal(at(pd, (uintptr_t)memory, BYTES, IBV_ACCESS_REMOTE_WRITE), memory);
	assert_int_equal(uroce_rereg_mr(mr, TRANSLATION, NULL, elsewhere + 1, 100, 0), 0);
	assert_null(at(pd, (uintptr_t)memory, 1, 0));
	assert_ptr_equal(at(pd, (uintptr_t)elsewhere + 1, 100, IBV_ACCESS_REMOTE_WRITE), elsewhere + 1);
	assert_null(at(pd, (uintptr_t)elsewhere + 1, 101, 0));
	assert_ptr_equal(mr->addr, elsewhere + 1);
	assert_int_equal(mr->length, 100);
	assert_int_equal(uroce_rereg_mr(mr, PD, other, NULL, 0, 0), 0);
	assert_ptr_equal(mr->pd, other);
	assert_null(at(pd, (uintptr_t)elsewhere + 1, 1, 0));
	assert_non_null(at(other, (uintptr_t)elsewhere + 1, 100, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(((struct uroce_pd *)pd)->refs, 0);
	assert_int_equal(uroce_dealloc_pd(other), EBUSY);
	assert_int_equal(uroce_rereg_mr(mr, TRANSLATION | PD | ACCESS, pd, (void *)(uintptr_t)text, 4, 0), 0);
	assert_ptr_equal(at(pd, (uintptr_t)text, 4, 0), text);
	assert_null(at(pd, (uintptr_t)text, 4, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(((struct uroce_pd *)other)->refs, 0);
	assert_int_equal(mr->lkey, key);
	assert_int_equal(mr->rkey, key);
	assert_int_equal(fake.dev.mrs.count, 1);
}

static void
what_the_first_byte_is_called(void **state)
{
	const int zero = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE;

	(void)state;
	assert_int_equal(uroce_rereg_mr(mr, ACCESS, NULL, NULL, 0, zero), 0);
	assert_ptr_equal(at(pd, 0, BYTES, 0), memory);
	assert_int_equal(uroce_rereg_mr(mr, TRANSLATION, NULL, elsewhere, BYTES, 0), 0);
	assert_ptr_equal(at(pd, 0, BYTES, 0), elsewhere);
	assert_int_equal(uroce_rereg_mr(mr, ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE), 0);
	assert_ptr_equal(at(pd, (uintptr_t)elsewhere, BYTES, 0), elsewhere);
	assert_int_equal(uroce_dereg_mr(mr), 0);

	/* a separate iova stays until the translation changes */
	mr = uroce_reg_mr_iova(pd, memory, BYTES, 0x123456789000, IBV_ACCESS_LOCAL_WRITE);
	assert_ptr_equal(at(pd, 0x123456789000, BYTES, 0), memory);
	assert_int_equal(uroce_rereg_mr(mr, PD | ACCESS, pd, NULL, 0, 0), 0);
	assert_ptr_equal(at(pd, 0x123456789000, BYTES, 0), memory);
	assert_int_equal(uroce_rereg_mr(mr, TRANSLATION, NULL, memory, BYTES, 0), 0);
	assert_ptr_equal(at(pd, (uintptr_t)memory, BYTES, 0), memory);
	assert_null(at(pd, 0x123456789000, 1, 0));
}

static void
refused(int flags, struct ibv_pd *to, const void *addr, size_t length, int access, int error)
{
	const struct ibv_mr before = *mr;
	const struct uroce_mr_key slot = *((struct uroce_mr *)mr)->slot;

	errno = 0;
	assert_int_equal(uroce_rereg_mr(mr, flags, to, (void *)(uintptr_t)addr, length, access),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, error);
	assert_memory_equal(mr, &before, sizeof(before));
	assert_memory_equal(((struct uroce_mr *)mr)->slot, &slot, sizeof(slot));
	assert_int_equal(((struct uroce_pd *)other)->refs, 0);
	assert_int_equal(fake.dev.mrs.count, 1);
}

static void
all_or_nothing(void **state)
{
	const int local = IBV_ACCESS_LOCAL_WRITE;
	struct ibv_context no_context;
	struct ibv_pd stranger = { .context = &no_context };

	(void)state;
	refused(0, NULL, NULL, 0, 0, EINVAL);
	refused(8, NULL, NULL, 0, 0, EINVAL);
	refused(PD, NULL, NULL, 0, 0, EINVAL);
	refused(PD, &stranger, NULL, 0, 0, EINVAL);
	refused(PD | ACCESS, other, NULL, 0, IBV_ACCESS_REMOTE_WRITE, EINVAL);	/* R46 */
	refused(ACCESS, NULL, NULL, 0, 1 << 10, EINVAL);
	refused(ACCESS, NULL, NULL, 0, local | IBV_ACCESS_FLUSH_PERSISTENT, EINVAL);
	refused(ACCESS, NULL, NULL, 0, local | IBV_ACCESS_ON_DEMAND, EOPNOTSUPP);
	refused(TRANSLATION | PD, other, memory, 0, 0, EINVAL);
	refused(TRANSLATION | PD, other, (void *)UINTPTR_MAX, 2, 0, EINVAL);
	refused(TRANSLATION | PD, other, NULL, 1, 0, EFAULT);
	/* the region allows local writes, which read-only memory cannot keep */
	refused(TRANSLATION | PD, other, text, 4, 0, EFAULT);
	refused(TRANSLATION | PD | ACCESS, other, text, 4, local, EFAULT);
}

/* The new rights are checked against the old memory. */
static void
rights_that_the_memory_does_not_give(void **state)
{
	(void)state;
	assert_int_equal(uroce_dereg_mr(mr), 0);
	mr = uroce_reg_mr(pd, (void *)(uintptr_t)text, 4, 0);
	refused(ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE, EFAULT);
	assert_non_null(at(pd, (uintptr_t)text, 4, 0));
}

static void
r47_bound_windows(void **state)
{
	struct uroce_mw_owner qp = { 0 };
	struct uroce_mw *mw = uroce_mw_create(&fake.dev.mrs, pd, IBV_MW_TYPE_2);
	struct uroce_mw_bind b = { .mw = mw, .rkey = uroce_mw_next_rkey(mw, 0), .lkey = mr->lkey,
				   .addr = (uintptr_t)memory, .length = 8, .access = IBV_ACCESS_REMOTE_READ,
				   .pd = pd, .qp = &qp };

	(void)state;
	assert_int_equal(uroce_rereg_mr(mr, ACCESS, NULL, NULL, 0, IBV_ACCESS_MW_BIND), 0);
	assert_int_equal(uroce_mw_bind(&fake.dev.mrs, &b), 0);
	errno = 0;
	assert_int_equal(uroce_rereg_mr(mr, ACCESS, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(uroce_dereg_mr(mr), EBUSY);
	assert_non_null(at(pd, (uintptr_t)memory, BYTES, IBV_ACCESS_MW_BIND));
	uroce_mw_destroy(mw);
}

/* A region moves to DPDK's memory and back: only memory that it covers now matters when DPDK frees memory. */
static void
memory_of_dpdk(void **state)
{
	uint8_t *heap = rte_malloc(NULL, BYTES, 4096);

	(void)state;
	assert_non_null(heap);
	assert_int_equal(uroce_rereg_mr(mr, TRANSLATION, NULL, heap, BYTES, 0), 0);
	assert_true(((struct uroce_mr *)mr)->is_of_dpdk);
	assert_ptr_equal(LIST_FIRST(&fake.dev.mrs.of_dpdk), mr);
	assert_int_equal(uroce_rereg_mr(mr, TRANSLATION, NULL, heap + 100, 100, 0), 0);
	assert_ptr_equal(LIST_FIRST(&fake.dev.mrs.of_dpdk), mr);
	assert_null(LIST_NEXT((struct uroce_mr *)mr, link));
	refused(TRANSLATION, NULL, NULL, 1, 0, EFAULT);
	assert_int_equal(uroce_rereg_mr(mr, TRANSLATION, NULL, memory, BYTES, 0), 0);
	assert_true(LIST_EMPTY(&fake.dev.mrs.of_dpdk));
	assert_null(((struct uroce_mr *)mr)->iova);
	rte_free(heap);
}

static void
null_regions(void **state)
{
	struct ibv_mr *null = ibv_alloc_null_mr(pd);

	(void)state;
	assert_non_null(null);
	assert_int_equal(uroce_dealloc_pd(pd), EBUSY);
	errno = 0;
	assert_int_equal(uroce_rereg_mr(null, ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(uroce_dereg_mr(null), 0);
}

/* Relaxed ordering and other optional flags are accepted, and grant no right. */
static void
optional_flags(void **state)
{
	struct ibv_mr *relaxed = uroce_reg_mr_iova2(pd, memory, BYTES, 0x1000, IBV_ACCESS_RELAXED_ORDERING);

	(void)state;
	assert_non_null(relaxed);
	assert_int_equal(((struct uroce_mr *)relaxed)->slot->access, 0);
	assert_int_equal(uroce_dereg_mr(relaxed), 0);
}

UROCE_TESTS(rereg_mr)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_alone_and_all_together), TEST(what_the_first_byte_is_called), TEST(all_or_nothing),
		TEST(rights_that_the_memory_does_not_give), TEST(r47_bound_windows), TEST(memory_of_dpdk),
		TEST(null_regions), TEST(optional_flags),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
