/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * XRC SRQs: the objects that they need, their numbers, what they keep alive, and the effect of destroying one on target
 * QPs.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "eal.h"
#include "fixture.h"
#include "verbs/srq/srq.h"
#include "verbs/srq/xrc.h"

static struct ibv_srq_init_attr_ex
good_attr(void)
{
	return (struct ibv_srq_init_attr_ex){
		.attr = { .max_wr = 4, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC, .pd = pair.pd, .xrcd = xrcd, .cq = pair.cq,
	};
}

static struct ibv_srq *
create(void)
{
	struct ibv_srq_init_attr_ex attr = good_attr();
	struct ibv_srq *srq = verbs_get_ctx(fake.context)->create_srq_ex(fake.context, &attr);

	assert_non_null(srq);
	assert_int_equal(attr.attr.max_wr, 4);
	assert_int_equal(attr.attr.max_sge, 2);
	return srq;
}

static uint32_t
number_of(struct ibv_srq *srq)
{
	uint32_t number = UINT32_MAX;

	assert_int_equal(ibv_get_srq_num(srq, &number), 0);
	return number;
}

static void
test_refused(void **state)
{
	struct ibv_context elsewhere = { 0 };
	struct ibv_xrcd foreign_xrcd = { .context = &elsewhere };
	struct ibv_cq foreign_cq = { .context = &elsewhere };
	struct ibv_pd foreign_pd = { .context = &elsewhere };
	struct ibv_srq_init_attr_ex bad[] = {
		good_attr(), good_attr(), good_attr(), good_attr(), good_attr(), good_attr(), good_attr(), good_attr(),
	};

	bad[0].comp_mask &= ~IBV_SRQ_INIT_ATTR_XRCD;
	bad[1].comp_mask &= ~IBV_SRQ_INIT_ATTR_CQ;
	bad[2].comp_mask &= ~IBV_SRQ_INIT_ATTR_PD;
	bad[3].xrcd = &foreign_xrcd;
	bad[4].cq = &foreign_cq;
	bad[5].pd = &foreign_pd;
	bad[6].attr.max_wr = 0;
	bad[7].pd = NULL;
	for (size_t i = 0; i < RTE_DIM(bad); i++) {
		errno = 0;
		assert_null(uroce_create_srq_ex(fake.context, &bad[i]));
		assert_int_equal(errno, EINVAL);
		assert_int_equal(fake.dev.srq_count, 0);
	}
}

static void
test_keeps_alive(void **state)
{
	struct ibv_srq *srq = create();

	assert_int_equal(uroce_close_xrcd(xrcd), EBUSY);
	assert_int_equal(uroce_destroy_cq(pair.cq), EBUSY);
	assert_int_equal(uroce_dealloc_pd(pair.pd), EBUSY);
	assert_int_equal(uroce_destroy_srq(srq), 0);
}

/* Look-ups find an SRQ by its number while it lives; numbers reveal nothing about others, and are not reused. */
static void
test_numbers(void **state)
{
	enum { COUNT = 200 };
	struct ibv_srq *srqs[COUNT];
	uint32_t numbers[COUNT], steps = 0;

	for (int i = 0; i < COUNT; i++) {
		srqs[i] = create();
		numbers[i] = number_of(srqs[i]);
		assert_true(numbers[i] <= 0xffffff);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(numbers[i], numbers[j]);
		steps += i > 0 && numbers[i] - numbers[i - 1] == numbers[1] - numbers[0];
	}
	assert_true(steps < COUNT / 4);
	for (int i = 0; i < COUNT; i++) {
		assert_ptr_equal(uroce_srq_lookup(&fake.dev, numbers[i]), srqs[i]);
		/* also with other bits above the slot number */
		assert_null(uroce_srq_lookup(&fake.dev, numbers[i] ^ 1));
		assert_int_equal(uroce_destroy_srq(srqs[i]), 0);
		assert_null(uroce_srq_lookup(&fake.dev, numbers[i]));
	}
	for (int i = 0; i < COUNT; i++) {
		struct ibv_srq *srq = create();

		for (int j = 0; j < COUNT; j++)
			assert_int_not_equal(number_of(srq), numbers[j]);
		assert_int_equal(uroce_destroy_srq(srq), 0);
	}
}

/* Its receives are for XRC targets: no other QP can use it. */
static void
test_not_for_a_qp(void **state)
{
	struct ibv_qp_init_attr init = fake_init_attr(&pair);

	init.srq = create();
	errno = 0;
	assert_null(uroce_create_qp(pair.pd, &init));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(uroce_destroy_srq(init.srq), 0);
}

/* Its CQ is shared: the engines of any QPs push to it. */
static void
test_cq_is_shared(void **state)
{
	struct ibv_srq *srq = create();
	struct ibv_qp *qp;

	assert_true(uroce_cq_of(pair.cq)->shared);
	qp = fake_qp_create(&pair);
	assert_true(uroce_cq_of(pair.cq)->shared);
	assert_int_equal(uroce_destroy_srq(srq), 0);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	/* and in the reverse order */
	qp = fake_qp_create(&pair);
	assert_false(uroce_cq_of(pair.cq)->shared);
	srq = create();
	assert_true(uroce_cq_of(pair.cq)->shared);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(uroce_destroy_srq(srq), 0);
}

static void
test_destroy_takes_it_from_targets(void **state)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd,
	};
	struct ibv_srq *srq = create(), *other = create();
	struct ibv_qp *qps[2];

	for (int i = 0; i < 2; i++) {
		struct uroce_qp *real;

		qps[i] = uroce_create_qp_ex(fake.context, &init);
		assert_non_null(qps[i]);
		real = uroce_qp_real(uroce_qp_of(qps[i]));
		real->recv_srq = uroce_srq_of(i == 0 ? srq : other);
		real->recv_taken = true;
		real->rq.tail = real->rq.head + 1;
	}
	assert_int_equal(uroce_destroy_srq(srq), 0);
	for (int i = 0; i < 2; i++) {
		struct uroce_qp *real = uroce_qp_real(uroce_qp_of(qps[i]));

		assert_ptr_equal(real->recv_srq, i == 0 ? NULL : uroce_srq_of(other));
		assert_int_equal(real->recv_taken, i == 1);
		assert_int_equal(real->rq.tail - real->rq.head, i);
		assert_int_equal(uroce_destroy_qp(qps[i]), 0);
	}
	assert_int_equal(uroce_destroy_srq(other), 0);
}

UROCE_TESTS(srq_xrc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused, xrcd_setup, xrcd_teardown),
		cmocka_unit_test_setup_teardown(test_keeps_alive, xrcd_setup, xrcd_teardown),
		cmocka_unit_test_setup_teardown(test_numbers, xrcd_setup, xrcd_teardown),
		cmocka_unit_test_setup_teardown(test_not_for_a_qp, xrcd_setup, xrcd_teardown),
		cmocka_unit_test_setup_teardown(test_cq_is_shared, xrcd_setup, xrcd_teardown),
		cmocka_unit_test_setup_teardown(test_destroy_takes_it_from_targets, xrcd_setup, xrcd_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
