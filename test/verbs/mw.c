/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_alloc_mw(3), ibv_dealloc_mw(3) and ibv_bind_mw(3), by the inline calls of <infiniband/verbs.h>.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "groups.h"
#include "uroce.h"
#include "mem/mw.h"
#include "eal.h"
#include "fake.h"

static struct fake_pair pair;
static struct uroce_qp *qp;
static struct ibv_mr *mr;
static uint8_t memory[4096];

static int
setup(void **state)
{
	fake_setup(state);
	pair = fake_pair_create(16);
	qp = uroce_qp_of(fake_qp_create(&pair));
	fake_qp_to(&qp->ibv, IBV_QPS_RTS);
	mr = uroce_reg_mr(pair.pd, memory, sizeof(memory), IBV_ACCESS_MW_BIND);
	return mr == NULL;
}

static int
teardown(void **state)
{
	if (qp != NULL)
		assert_int_equal(uroce_destroy_qp(&qp->ibv), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	fake_pair_destroy(&pair);
	return fake_teardown(state);
}

static struct ibv_mw_bind
good(void)
{
	return (struct ibv_mw_bind){ .wr_id = 5, .bind_info = { .mr = mr, .addr = (uintptr_t)memory, .length = 8,
								.mw_access_flags = IBV_ACCESS_REMOTE_READ } };
}

static void
refused(struct ibv_mw *mw, struct ibv_mw_bind bind, int error)
{
	const uint32_t tail = qp->sq.tail, rkey = mw->rkey;
	const unsigned int doorbells = fake.doorbells;

	assert_int_equal(ibv_bind_mw(&qp->ibv, mw, &bind), error);
	assert_int_equal(uroce_bind_mw(&qp->ibv, mw, &bind), error);
	assert_int_equal(qp->sq.tail, tail);
	assert_int_equal(mw->rkey, rkey);
	assert_int_equal(fake.doorbells, doorbells);
}

static void
windows_belong_to_a_pd(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(pair.pd, IBV_MW_TYPE_2);

	(void)state;
	assert_non_null(mw);
	assert_ptr_equal(mw->context, fake.context);
	assert_ptr_equal(mw->pd, pair.pd);
	assert_int_equal(mw->type, IBV_MW_TYPE_2);
	assert_int_not_equal(mw->rkey, 0);
	assert_int_equal(uroce_dealloc_pd(pair.pd), EBUSY);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	errno = 0;
	assert_null(ibv_alloc_mw(pair.pd, 0));
	assert_int_equal(errno, EINVAL);
}

static void
a_bind_is_posted(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(pair.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = good();
	const uint32_t first = mw->rkey;
	const struct uroce_sqe *sqe = uroce_sqe_at(&qp->sq, qp->sq.tail);

	(void)state;
	bind.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
	assert_int_equal(ibv_bind_mw(&qp->ibv, mw, &bind), 0);
	assert_int_equal(fake.doorbells, 1);
	assert_int_not_equal(mw->rkey, first);
	assert_int_equal(sqe->wr_id, 5);
	assert_int_equal(sqe->opcode, IBV_WR_BIND_MW);
	assert_int_equal(sqe->flags, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	assert_int_equal(sqe->rkey, mw->rkey);
	assert_ptr_equal(sqe->bind.mw, mw);
	assert_int_equal(sqe->bind.addr, (uintptr_t)memory);
	assert_int_equal(sqe->bind.length, 8);
	assert_int_equal(sqe->bind_lkey, mr->lkey);
	assert_int_equal(sqe->bind_access, IBV_ACCESS_REMOTE_READ);
	/* until the send queue is full */
	while (qp->sq.tail - qp->sq.head < qp->sq.capacity)
		assert_int_equal(ibv_bind_mw(&qp->ibv, mw, &bind), 0);
	refused(mw, bind, ENOMEM);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void
what_is_refused_at_once(void **state)
{
	struct ibv_mw *one = ibv_alloc_mw(pair.pd, IBV_MW_TYPE_1), *two = ibv_alloc_mw(pair.pd, IBV_MW_TYPE_2);
	struct ibv_pd *other = uroce_alloc_pd(fake.context);
	struct ibv_mr *foreign = uroce_reg_mr(other, memory, 8, IBV_ACCESS_MW_BIND);
	struct ibv_mw_bind bind = good();

	(void)state;
	refused(two, bind, EINVAL);
	bind.bind_info.mr = NULL;
	refused(one, bind, EINVAL);
	bind.bind_info.addr = 0;
	refused(one, bind, EINVAL);
	bind = good();
	bind.bind_info.mr = foreign;
	refused(one, bind, EPERM);
	bind = good();
	bind.bind_info.mw_access_flags = IBV_ACCESS_MW_BIND;
	refused(one, bind, EINVAL);
	/* applications often add LOCAL_WRITE to REMOTE_WRITE */
	bind.bind_info.mw_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	assert_int_equal(uroce_bind_mw(&qp->ibv, one, &bind), 0);
	bind = good();
	bind.send_flags = IBV_SEND_INLINE;
	refused(one, bind, EINVAL);
	bind = good();
	qp->state = IBV_QPS_RTR;
	refused(one, bind, EINVAL);
	assert_int_equal(uroce_dereg_mr(foreign), 0);
	assert_int_equal(uroce_dealloc_pd(other), 0);
	assert_int_equal(ibv_dealloc_mw(one), 0);
	assert_int_equal(ibv_dealloc_mw(two), 0);
}

/* Destroying the QP of a type 2 window unbinds the window. */
static void
a_qp_goes(void **state)
{
	struct ibv_mw *mw = ibv_alloc_mw(pair.pd, IBV_MW_TYPE_2);
	struct uroce_mw_bind b = {
		.mw = (struct uroce_mw *)mw, .rkey = mw->rkey, .lkey = mr->lkey, .addr = (uintptr_t)memory, .length = 8,
		.access = IBV_ACCESS_REMOTE_READ, .pd = pair.pd, .qp = &qp->windows,
	};

	(void)state;
	assert_int_equal(uroce_mw_bind(&fake.dev.mrs, &b), 0);
	assert_int_equal(uroce_dereg_mr(mr), EBUSY);
	assert_int_equal(uroce_destroy_qp(&qp->ibv), 0);
	qp = NULL;
	assert_true(LIST_EMPTY(&((struct uroce_mr *)mr)->windows));
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

UROCE_TESTS(verbs_mw)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(windows_belong_to_a_pd),
		TEST(a_bind_is_posted),
		TEST(what_is_refused_at_once),
		TEST(a_qp_goes),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
