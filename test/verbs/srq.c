/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Shared receive queues as objects (ibv_create_srq(3), ibv_modify_srq(3), ibv_post_srq_recv(3)): refused and granted
 * attributes, order, the limit and its event, resizing in use, and lifetimes.
 */

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "eal.h"
#include "fixture.h"
#include "verbs/srq/srq.h"

#define MAX_WR 5
#define MAX_SGE 3

/* Room for a WQE with the most scatter/gather entries. */
union place {
	struct uroce_rqe rqe;
	uint8_t bytes[sizeof(struct uroce_rqe) + UROCE_MAX_SGE * sizeof(struct ibv_sge)];
};

static struct ibv_srq *
create(uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = max_wr, .max_sge = max_sge } };
	struct ibv_srq *srq = uroce_create_srq(pair.pd, &init);

	assert_non_null(srq);
	return srq;
}

static int
post(struct ibv_srq *srq, uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = wr_id << 8, .length = 16, .lkey = 7 };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	int ret = ibv_post_srq_recv(srq, &wr, &bad);

	assert_ptr_equal(bad, ret == 0 ? NULL : &wr);
	return ret;
}

static void
expect_taken(struct ibv_srq *srq, uint64_t wr_id)
{
	union place to;

	assert_true(uroce_srq_take(uroce_srq_of(srq), &to.rqe));
	assert_int_equal(to.rqe.wr_id, wr_id);
	assert_int_equal(to.rqe.num_sge, 1);
	assert_int_equal(to.rqe.length, 16);
	assert_int_equal(to.rqe.sge[0].addr, wr_id << 8);
}

static void
expect_empty(struct ibv_srq *srq)
{
	union place to;

	assert_false(uroce_srq_take(uroce_srq_of(srq), &to.rqe));
}

static bool
event_pending(void)
{
	struct pollfd p = { .fd = fake.context->async_fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void
expect_limit_event(struct ibv_srq *srq)
{
	struct ibv_async_event event;

	assert_true(event_pending());
	assert_int_equal(uroce_get_async_event(fake.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, srq);
	uroce_ack_async_event(&event);
	assert_false(event_pending());
}

static int
modify(struct ibv_srq *srq, uint32_t max_wr, uint32_t limit, int mask)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr, .srq_limit = limit };

	return uroce_modify_srq(srq, &attr, mask);
}

static void
expect_attr(struct ibv_srq *srq, uint32_t max_wr, uint32_t limit)
{
	struct ibv_srq_attr attr;

	assert_int_equal(uroce_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, max_wr);
	assert_int_equal(attr.srq_limit, limit);
}

static void
test_refused(void **state)
{
	static const struct ibv_srq_attr bad[] = {
		{ .max_wr = 0 },
		{ .max_wr = UROCE_MAX_SRQ_WR + 1 },
		{ .max_wr = UINT32_MAX },
		{ .max_wr = 1, .max_sge = UROCE_MAX_SGE + 1 },
		{ .max_wr = 1, .max_sge = UINT32_MAX },
	};

	for (size_t i = 0; i < RTE_DIM(bad); i++) {
		struct ibv_srq_init_attr init = { .attr = bad[i] };

		errno = 0;
		assert_null(uroce_create_srq(pair.pd, &init));
		assert_int_equal(errno, EINVAL);
		assert_memory_equal(&init.attr, &bad[i], sizeof(init.attr));
		assert_int_equal(fake.dev.srq_count, 0);
	}
	/* as many as the device allows, and not one more */
	fake.dev.srq_count = 1 << UROCE_LOG2_MAX_SRQ;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1 } };
	errno = 0;
	assert_null(uroce_create_srq(pair.pd, &init));
	assert_int_equal(errno, ENOMEM);
	fake.dev.srq_count = 0;
}

static void
test_granted(void **state)
{
	struct ibv_srq_init_attr init = { .srq_context = &pair, .attr = { .max_wr = MAX_WR, .max_sge = MAX_SGE } };
	struct ibv_srq *srq = uroce_create_srq(pair.pd, &init);
	struct ibv_srq_attr attr;
	uint32_t number;

	assert_non_null(srq);
	assert_ptr_equal(srq->context, fake.context);
	assert_ptr_equal(srq->srq_context, &pair);
	assert_ptr_equal(srq->pd, pair.pd);
	assert_int_equal(init.attr.max_wr, MAX_WR);
	assert_int_equal(init.attr.max_sge, MAX_SGE);
	assert_int_equal(uroce_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, MAX_WR);
	assert_int_equal(attr.max_sge, MAX_SGE);
	assert_int_equal(attr.srq_limit, 0);
	assert_int_equal(ibv_get_srq_num(srq, &number), EOPNOTSUPP);
	assert_int_equal(uroce_dealloc_pd(pair.pd), EBUSY);
	assert_int_equal(uroce_destroy_srq(srq), 0);
	assert_int_equal(fake.dev.srq_count, 0);
}

static void
test_ex(void **state)
{
	struct ibv_srq_init_attr_ex good = {
		.attr = { .max_wr = MAX_WR }, .pd = pair.pd, .srq_type = IBV_SRQT_BASIC,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
	};
	struct verbs_context *vctx = verbs_get_ctx(fake.context);
	struct ibv_srq_init_attr_ex bad;
	struct ibv_srq *srq;

	srq = vctx->create_srq_ex(fake.context, &good);
	assert_non_null(srq);
	assert_int_equal(good.attr.max_sge, 1);
	assert_int_equal(uroce_destroy_srq(srq), 0);
	bad = good;
	bad.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	assert_null(uroce_create_srq_ex(fake.context, &bad));
	assert_int_equal(errno, EINVAL);
	bad = good;
	bad.comp_mask |= IBV_SRQ_INIT_ATTR_RESERVED;
	assert_null(uroce_create_srq_ex(fake.context, &bad));
	assert_int_equal(errno, EINVAL);
	bad = good;
	bad.srq_type = IBV_SRQT_TM;
	assert_null(uroce_create_srq_ex(fake.context, &bad));
	assert_int_equal(errno, EOPNOTSUPP);
	bad.comp_mask = IBV_SRQ_INIT_ATTR_PD;	/* without its bit in the mask, the type is ignored */
	srq = uroce_create_srq_ex(fake.context, &bad);
	assert_non_null(srq);
	assert_int_equal(uroce_destroy_srq(srq), 0);
}

static void
test_order_and_room(void **state)
{
	struct ibv_srq *srq = create(MAX_WR, 1);
	uint64_t posted = 0, taken = 0;

	expect_empty(srq);
	/* several times round the ring, which is larger than MAX_WR */
	for (int i = 0; i < 7; i++) {
		while (posted - taken < MAX_WR)
			assert_int_equal(post(srq, posted++), 0);
		assert_int_equal(post(srq, 99), ENOMEM);
		for (int j = 0; j < 3; j++)
			expect_taken(srq, taken++);
	}
	while (taken != posted)
		expect_taken(srq, taken++);
	expect_empty(srq);
	assert_int_equal(uroce_destroy_srq(srq), 0);
}

static void
test_post_lists_and_entries(void **state)
{
	struct ibv_srq *srq = create(MAX_WR, MAX_SGE);
	struct ibv_sge sge[MAX_SGE + 1] = {
		{ 0x1000, 10, 1 }, { 0x2000, UINT32_MAX, 2 }, { 0x3000, 30, 3 }, { 0x4000, 40, 4 },
	};
	struct ibv_recv_wr wr[3] = {
		{ .wr_id = 1, .next = &wr[1], .sg_list = sge, .num_sge = MAX_SGE },
		{ .wr_id = 2, .next = &wr[2], .sg_list = sge, .num_sge = MAX_SGE + 1 },
		{ .wr_id = 3 },
	};
	struct ibv_recv_wr *bad = NULL;
	union place to;

	assert_int_equal(uroce_post_srq_recv(srq, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	wr[1].num_sge = -1;
	assert_int_equal(uroce_post_srq_recv(srq, &wr[1], &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	wr[1].num_sge = 0;
	assert_int_equal(uroce_post_srq_recv(srq, &wr[1], &bad), 0);
	assert_true(uroce_srq_take(uroce_srq_of(srq), &to.rqe));
	assert_int_equal(to.rqe.wr_id, 1);
	assert_int_equal(to.rqe.num_sge, MAX_SGE);
	assert_int_equal(to.rqe.length, UINT32_MAX);
	assert_memory_equal(to.rqe.sge, sge, MAX_SGE * sizeof(sge[0]));
	assert_true(uroce_srq_take(uroce_srq_of(srq), &to.rqe));
	assert_int_equal(to.rqe.wr_id, 2);
	assert_int_equal(to.rqe.num_sge, 0);
	assert_int_equal(to.rqe.length, 0);
	assert_true(uroce_srq_take(uroce_srq_of(srq), &to.rqe));
	assert_int_equal(to.rqe.wr_id, 3);
	expect_empty(srq);
	assert_int_equal(uroce_destroy_srq(srq), 0);
}

static void
test_limit(void **state)
{
	struct ibv_srq *srq = create(MAX_WR, 1);

	for (uint64_t i = 0; i < MAX_WR; i++)
		assert_int_equal(post(srq, i), 0);
	assert_int_equal(modify(srq, 0, MAX_WR + 1, IBV_SRQ_LIMIT), EINVAL);
	expect_attr(srq, MAX_WR, 0);
	assert_int_equal(modify(srq, 0, 4, IBV_SRQ_LIMIT), 0);
	expect_attr(srq, MAX_WR, 4);
	expect_taken(srq, 0);
	assert_false(event_pending());	/* four receives are left: not below the limit */
	expect_taken(srq, 1);
	expect_limit_event(srq);
	expect_attr(srq, MAX_WR, 0);	/* disarmed after one event */
	expect_taken(srq, 2);
	assert_false(event_pending());
	/* already below the limit */
	assert_int_equal(modify(srq, 0, 3, IBV_SRQ_LIMIT), 0);
	expect_limit_event(srq);
	expect_attr(srq, MAX_WR, 0);
	/* armed, then disarmed */
	assert_int_equal(modify(srq, 0, 2, IBV_SRQ_LIMIT), 0);
	assert_int_equal(modify(srq, 0, 0, IBV_SRQ_LIMIT), 0);
	expect_taken(srq, 3);
	assert_false(event_pending());
	/* receives posted later count */
	assert_int_equal(modify(srq, 0, 1, IBV_SRQ_LIMIT), 0);
	assert_int_equal(post(srq, 5), 0);
	expect_taken(srq, 4);
	assert_false(event_pending());
	expect_taken(srq, 5);
	expect_limit_event(srq);
	assert_int_equal(uroce_destroy_srq(srq), 0);
}

static void
test_resize(void **state)
{
	struct ibv_srq *srq = create(MAX_WR, 1);
	uint64_t posted = 0, taken = 0;

	for (; posted < 3; posted++)
		assert_int_equal(post(srq, posted), 0);
	expect_taken(srq, taken++);
	for (; posted < 6; posted++)
		assert_int_equal(post(srq, posted), 0);
	/* five receives are queued, across the end of the ring */
	assert_int_equal(modify(srq, 40, 0, IBV_SRQ_MAX_WR), 0);
	expect_attr(srq, 40, 0);
	for (; posted < 41; posted++)
		assert_int_equal(post(srq, posted), 0);
	assert_int_equal(post(srq, 99), ENOMEM);
	while (taken < 38)
		expect_taken(srq, taken++);
	assert_int_equal(modify(srq, 2, 0, IBV_SRQ_MAX_WR), EINVAL);
	expect_attr(srq, 40, 0);
	assert_int_equal(modify(srq, 3, 3, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
	expect_attr(srq, 3, 3);
	assert_int_equal(post(srq, 99), ENOMEM);
	expect_taken(srq, taken++);
	expect_limit_event(srq);
	assert_int_equal(post(srq, posted++), 0);
	while (taken != posted)
		expect_taken(srq, taken++);
	expect_empty(srq);
	assert_int_equal(uroce_destroy_srq(srq), 0);
}

static void
test_modify_refused(void **state)
{
	struct ibv_srq *srq = create(MAX_WR, 1);

	assert_int_equal(modify(srq, 0, 2, IBV_SRQ_LIMIT), 0);
	expect_limit_event(srq);
	assert_int_equal(post(srq, 0), 0);
	assert_int_equal(post(srq, 1), 0);
	assert_int_equal(modify(srq, 0, 2, IBV_SRQ_LIMIT), 0);
	assert_int_equal(modify(srq, 1, 1, IBV_SRQ_LIMIT << 1), EINVAL);
	assert_int_equal(modify(srq, 0, 1, IBV_SRQ_MAX_WR), EINVAL);
	assert_int_equal(modify(srq, UROCE_MAX_SRQ_WR + 1, 1, IBV_SRQ_MAX_WR), EINVAL);
	/* all or nothing; an armed limit must also fit */
	assert_int_equal(modify(srq, 8, 9, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
	assert_int_equal(modify(srq, 1, 1, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
	expect_taken(srq, 0);
	expect_limit_event(srq);
	assert_int_equal(modify(srq, 8, 9, 0), 0);
	expect_attr(srq, MAX_WR, 0);
	assert_int_equal(uroce_destroy_srq(srq), 0);
}

static void
test_qp(void **state)
{
	struct ibv_srq *srq = create(MAX_WR, MAX_SGE);
	struct ibv_qp_init_attr init = fake_init_attr(&pair), got;
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	init.srq = srq;
	init.cap.max_recv_wr = UINT32_MAX;	/* ignored */
	init.cap.max_recv_sge = UINT32_MAX;
	qp = uroce_create_qp(pair.pd, &init);
	assert_non_null(qp);
	assert_ptr_equal(qp->srq, srq);
	assert_int_equal(init.cap.max_recv_wr, 0);
	assert_int_equal(init.cap.max_recv_sge, 0);
	assert_int_equal(uroce_destroy_srq(srq), EBUSY);	/* R47 */
	for (enum ibv_qp_state s = IBV_QPS_RESET; s <= IBV_QPS_RTS; s++) {
		if (s != IBV_QPS_RESET)
			fake_qp_to(qp, s);
		assert_int_equal(uroce_post_recv(qp, &wr, &bad), EINVAL);
		assert_ptr_equal(bad, &wr);
		if (s == IBV_QPS_RESET)
			continue;
		attr.qp_state = IBV_QPS_RESET;
		assert_int_equal(uroce_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	}
	assert_int_equal(uroce_query_qp(qp, &attr, IBV_QP_CAP, &got), 0);
	assert_ptr_equal(got.srq, srq);
	assert_int_equal(got.cap.max_recv_wr, 0);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(uroce_destroy_srq(srq), 0);
}

/* Unread events of a destroyed SRQ disappear; it waits for reported ones (test_events). */
static void
test_destroy_with_events(void **state)
{
	struct ibv_srq *srq = create(MAX_WR, 1);
	struct ibv_async_event event;

	assert_int_equal(modify(srq, 0, 1, IBV_SRQ_LIMIT), 0);
	assert_int_equal(modify(srq, 0, 1, IBV_SRQ_LIMIT), 0);
	assert_int_equal(uroce_get_async_event(fake.context, &event), 0);
	assert_true(event_pending());
	uroce_ack_async_event(&event);
	assert_int_equal(srq->events_completed, 1);
	assert_int_equal(uroce_destroy_srq(srq), 0);
	assert_false(event_pending());
}

UROCE_TESTS(srq)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_granted, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_ex, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_order_and_room, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_post_lists_and_entries, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_limit, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_resize, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_modify_refused, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_qp, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_destroy_with_events, pair_setup, pair_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
