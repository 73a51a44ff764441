/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * XRC target QPs: one QP with several handles (ibv_open_qp(3)), the calls on each of them, which handle gets its
 * events, and which one destroys it.
 */

#include <errno.h>
#include <poll.h>
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
#include "verbs/srq/xrc.h"

#define NEEDED (IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE)
#define RTS_MASK (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN)

static struct ibv_qp *
create(void)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd,
	};
	struct ibv_qp *qp = uroce_create_qp_ex(fake.context, &init);

	assert_non_null(qp);
	return qp;
}

static struct ibv_qp_open_attr
open_attr(const struct ibv_qp *qp)
{
	return (struct ibv_qp_open_attr){
		.comp_mask = NEEDED | IBV_QP_OPEN_ATTR_CONTEXT, .qp_num = qp->qp_num, .xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV, .qp_context = &pair,
	};
}

static void
refused(struct ibv_qp_open_attr attr, int error)
{
	errno = 0;
	assert_null(uroce_open_qp(fake.context, &attr));
	assert_int_equal(errno, error);
}

static int
modify(struct ibv_qp *qp, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = fake_attr(to);

	return uroce_modify_qp(qp, &attr, mask);
}

static void
expect_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(uroce_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, state);
	assert_int_equal(qp->state, state);
	assert_ptr_equal(init.qp_context, qp->qp_context);
	assert_int_equal(init.qp_type, IBV_QPT_XRC_RECV);
	assert_null(init.send_cq);
	assert_null(init.recv_cq);
	assert_int_equal(init.cap.max_send_wr, 0);
}

static void
test_open_refused(void **state)
{
	struct ibv_qp *qp = create();
	struct ibv_qp *rc = fake_qp_create(&pair);
	struct ibv_xrcd *other = open_xrcd();
	struct ibv_qp_open_attr attr = open_attr(qp);

	attr.qp_num ^= 1;
	refused(attr, EINVAL);
	attr.qp_num = rc->qp_num;
	refused(attr, EINVAL);
	attr = open_attr(qp);
	attr.xrcd = other;
	refused(attr, EINVAL);
	attr = open_attr(qp);
	attr.qp_type = IBV_QPT_RC;
	refused(attr, EINVAL);
	for (uint32_t bit = IBV_QP_OPEN_ATTR_NUM; bit < IBV_QP_OPEN_ATTR_RESERVED; bit <<= 1) {
		if (bit == IBV_QP_OPEN_ATTR_CONTEXT)
			continue;
		attr = open_attr(qp);
		attr.comp_mask &= ~bit;
		refused(attr, EINVAL);
	}
	attr = open_attr(qp);
	attr.comp_mask |= IBV_QP_OPEN_ATTR_RESERVED;
	refused(attr, EOPNOTSUPP);
	assert_int_equal(uroce_close_xrcd(other), 0);
	assert_int_equal(uroce_destroy_qp(rc), 0);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	refused(open_attr(qp), EINVAL);
}

/* Each handle acts on the same QP; closing the last handle, whichever it is, destroys the QP. */
static void
test_handles(void **state)
{
	struct ibv_qp *first = create(), *second;
	struct ibv_qp_open_attr attr = open_attr(first);
	struct uroce_qp *real = uroce_qp_lookup(&fake.dev, first->qp_num);

	assert_non_null(real);
	assert_ptr_not_equal(&real->ibv, first);
	assert_int_equal(modify(first, IBV_QPS_INIT, FAKE_INIT_MASK), 0);
	second = uroce_open_qp(fake.context, &attr);
	assert_non_null(second);
	assert_ptr_not_equal(first, second);
	assert_int_equal(second->qp_num, first->qp_num);
	assert_ptr_equal(second->qp_context, &pair);
	assert_int_equal(second->state, IBV_QPS_INIT);
	assert_int_equal(fake.dev.qp_count, 1);
	assert_int_equal(modify(second, IBV_QPS_RTR, FAKE_RTR_MASK), 0);
	expect_state(first, IBV_QPS_RTR);
	assert_ptr_equal(fake.changed_qp, real);
	assert_int_equal(uroce_destroy_qp(first), 0);
	assert_int_equal(fake.attached, 1);
	assert_int_equal(modify(second, IBV_QPS_RTS, RTS_MASK), 0);
	expect_state(second, IBV_QPS_RTS);
	assert_int_equal(uroce_close_xrcd(xrcd), EBUSY);
	/* again, without a QP context */
	attr.comp_mask = NEEDED;
	first = uroce_open_qp(fake.context, &attr);
	assert_non_null(first);
	assert_null(first->qp_context);
	assert_int_equal(uroce_destroy_qp(second), 0);
	assert_int_equal(uroce_destroy_qp(first), 0);
	assert_int_equal(fake.attached, 0);
	assert_int_equal(fake.dev.qp_count, 0);
}

/* In each state: a target has no queue to post to. */
static void
test_nothing_can_be_posted(void **state)
{
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_qp *qp = create();

	for (int i = 0; i < 6; i++) {
		bad_recv = NULL;
		bad_send = NULL;
		assert_int_equal(ibv_post_recv(qp, &recv, &bad_recv), EINVAL);
		assert_ptr_equal(bad_recv, &recv);
		assert_int_equal(ibv_post_send(qp, &send, &bad_send), EINVAL);
		assert_ptr_equal(bad_send, &send);
		switch (i) {
		case 0: assert_int_equal(modify(qp, IBV_QPS_INIT, FAKE_INIT_MASK), 0); break;
		case 1: assert_int_equal(modify(qp, IBV_QPS_RTR, FAKE_RTR_MASK), 0); break;
		case 2: assert_int_equal(modify(qp, IBV_QPS_RTS, RTS_MASK), 0); break;
		case 4: assert_int_equal(modify(qp, IBV_QPS_RESET, IBV_QP_STATE), 0); break;
		default: assert_int_equal(modify(qp, IBV_QPS_ERR, IBV_QP_STATE), 0); break;
		}
	}
	assert_int_equal(fake.doorbells, 0);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

static bool
event_pending(void)
{
	struct pollfd p = { .fd = fake.context->async_fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* Each handle gets its own copy of an event; closing a handle discards only its own. */
static void
test_events(void **state)
{
	struct ibv_qp *first = create(), *second;
	struct ibv_qp_open_attr attr = open_attr(first);
	struct uroce_qp *real = uroce_qp_lookup(&fake.dev, first->qp_num);
	struct ibv_async_event event;
	unsigned int seen = 0;

	second = uroce_open_qp(fake.context, &attr);
	uroce_xrc_target_event(real->target, IBV_EVENT_QP_REQ_ERR);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(uroce_get_async_event(fake.context, &event), 0);
		assert_int_equal(event.event_type, IBV_EVENT_QP_REQ_ERR);
		seen |= event.element.qp == first ? 1 : event.element.qp == second ? 2 : 4;
		uroce_ack_async_event(&event);
	}
	assert_int_equal(seen, 3);
	assert_int_equal(first->events_completed, 1);
	uroce_xrc_target_event(real->target, IBV_EVENT_QP_LAST_WQE_REACHED);
	assert_int_equal(uroce_destroy_qp(first), 0);
	assert_int_equal(uroce_get_async_event(fake.context, &event), 0);
	assert_ptr_equal(event.element.qp, second);
	uroce_ack_async_event(&event);
	assert_false(event_pending());
	assert_int_equal(uroce_destroy_qp(second), 0);
}

static struct uroce_xrc_domain *watched;
static bool kept;

static void
entering(void)
{
	kept = pthread_mutex_trylock(&watched->lock) != 0;
	if (!kept)
		pthread_mutex_unlock(&watched->lock);
}

/* Destroying an SRQ detaches it from all targets of the domain: a target leaves their list and its engine under one
 * lock. */
static void
test_no_target_is_left_alone(void **state)
{
	struct ibv_qp *qp = create();

	watched = uroce_xrcd_of(xrcd)->domain;
	fake.entering = entering;
	assert_int_equal(uroce_destroy_qp(qp), 0);
	fake.entering = NULL;
	assert_true(kept);
}

UROCE_TESTS(xrc_target)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_open_refused, xrcd_setup, xrcd_teardown),
		cmocka_unit_test_setup_teardown(test_handles, xrcd_setup, xrcd_teardown),
		cmocka_unit_test_setup_teardown(test_nothing_can_be_posted, xrcd_setup, xrcd_teardown),
		cmocka_unit_test_setup_teardown(test_events, xrcd_setup, xrcd_teardown),
		cmocka_unit_test_setup_teardown(test_no_target_is_left_alone, xrcd_setup, xrcd_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
