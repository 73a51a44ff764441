/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_create_qp_ex(3): which domain each type of QP needs, and which combinations are refused.
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
#include "mem/pd.h"
#include "verbs/srq/xrc.h"

static struct ibv_qp_init_attr_ex
attr_of(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr base = fake_init_attr(&pair);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = pair.cq, .recv_cq = pair.cq, .cap = base.cap, .qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD, .pd = pair.pd, .xrcd = xrcd,
	};

	return attr;
}

static void
refused(struct ibv_qp_init_attr_ex attr, int error)
{
	errno = 0;
	assert_null(uroce_create_qp_ex(fake.context, &attr));
	assert_int_equal(errno, error);
	assert_int_equal(fake.dev.qp_count, 0);
	assert_int_equal(fake.attached, 0);
}

static void
test_refused(void **state)
{
	struct ibv_context elsewhere = { 0 };
	struct ibv_pd foreign_pd = { .context = &elsewhere };
	struct ibv_xrcd foreign_xrcd = { .context = &elsewhere };
	struct ibv_qp_init_attr_ex bad = attr_of(IBV_QPT_RC);

	bad.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	refused(bad, EINVAL);
	bad = attr_of(IBV_QPT_XRC_SEND);
	bad.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	refused(bad, EINVAL);
	bad = attr_of(IBV_QPT_XRC_RECV);
	bad.comp_mask = IBV_QP_INIT_ATTR_PD;
	refused(bad, EINVAL);
	bad = attr_of(IBV_QPT_RC);
	bad.pd = &foreign_pd;
	refused(bad, EINVAL);
	bad = attr_of(IBV_QPT_XRC_RECV);
	bad.xrcd = &foreign_xrcd;
	refused(bad, EINVAL);
	bad = attr_of(IBV_QPT_RC);
	bad.comp_mask |= IBV_QP_INIT_ATTR_RX_HASH;
	refused(bad, EOPNOTSUPP);
	bad = attr_of(IBV_QPT_RC);
	bad.cap.max_send_wr = UROCE_MAX_QP_WR + 1;
	refused(bad, EINVAL);
	fake.attach_error = -ENOSPC;
	refused(attr_of(IBV_QPT_XRC_RECV), ENOSPC);
}

static void
test_rc(void **state)
{
	struct ibv_qp_init_attr_ex attr = attr_of(IBV_QPT_RC);
	struct ibv_qp *qp = verbs_get_ctx(fake.context)->create_qp_ex(fake.context, &attr);

	assert_non_null(qp);
	assert_int_equal(qp->qp_type, IBV_QPT_RC);
	assert_ptr_equal(qp->pd, pair.pd);
	assert_ptr_equal(qp->recv_cq, pair.cq);
	assert_true(attr.cap.max_send_sge >= 2);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

/* Receive attributes of an XRC initiator are ignored, and the QP has no receive queue. */
static void
test_xrc_send(void **state)
{
	struct ibv_qp_init_attr_ex attr = attr_of(IBV_QPT_XRC_SEND);
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;
	struct ibv_qp *qp;

	attr.recv_cq = NULL;
	attr.cap.max_recv_wr = UINT32_MAX;
	qp = verbs_get_ctx(fake.context)->create_qp_ex(fake.context, &attr);
	assert_non_null(qp);
	assert_int_equal(qp->qp_type, IBV_QPT_XRC_SEND);
	assert_null(qp->recv_cq);
	assert_null(qp->srq);
	assert_int_equal(attr.cap.max_recv_wr, 0);
	assert_int_equal(attr.cap.max_recv_sge, 0);
	assert_int_equal(attr.cap.max_send_wr, 5);
	assert_int_equal(uroce_post_recv(qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(uroce_dealloc_pd(pair.pd), EBUSY);
	assert_int_equal(uroce_destroy_cq(pair.cq), EBUSY);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	/* also with ibv_create_qp() */
	qp = uroce_create_qp(pair.pd, (struct ibv_qp_init_attr *)&attr);
	assert_non_null(qp);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

/* An XRC target belongs to its XRCD only, and has no queues. */
static void
test_xrc_recv(void **state)
{
	struct ibv_qp_init_attr_ex attr = attr_of(IBV_QPT_XRC_RECV);
	struct ibv_qp *qp;

	attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	attr.qp_context = &pair;
	qp = verbs_get_ctx(fake.context)->create_qp_ex(fake.context, &attr);
	assert_non_null(qp);
	assert_ptr_equal(qp->qp_context, &pair);
	assert_int_equal(qp->qp_type, IBV_QPT_XRC_RECV);
	assert_null(qp->pd);
	assert_null(qp->send_cq);
	assert_null(qp->recv_cq);
	assert_int_equal(attr.cap.max_send_wr, 0);
	assert_int_equal(attr.cap.max_recv_wr, 0);
	assert_int_equal(uroce_close_xrcd(xrcd), EBUSY);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	/* a given PD is visible in the QP, but not referenced */
	attr.comp_mask |= IBV_QP_INIT_ATTR_PD;
	qp = verbs_get_ctx(fake.context)->create_qp_ex(fake.context, &attr);
	assert_non_null(qp);
	assert_ptr_equal(qp->pd, pair.pd);
	assert_int_equal(__atomic_load_n(&((struct uroce_pd *)pair.pd)->refs, __ATOMIC_RELAXED), 0);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

/* Attributes of the other end of XRC are ignored. */
static void
test_xrc_modify(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV };

	for (unsigned int i = 0; i < RTE_DIM(types); i++) {
		struct ibv_qp_init_attr_ex init = attr_of(types[i]);
		struct ibv_qp_attr attr;
		struct ibv_qp *qp;

		init.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
		qp = uroce_create_qp_ex(fake.context, &init);
		assert_non_null(qp);
		attr = fake_attr(IBV_QPS_INIT);
		assert_int_equal(uroce_modify_qp(qp, &attr, FAKE_INIT_MASK), 0);
		attr = fake_attr(IBV_QPS_RTR);
		assert_int_equal(uroce_modify_qp(qp, &attr, FAKE_RTR_MASK), 0);
		attr = fake_attr(IBV_QPS_RTS);
		assert_int_equal(uroce_modify_qp(qp, &attr, FAKE_RTS_MASK), 0);
		assert_int_equal(qp->state, IBV_QPS_RTS);
		assert_int_equal(uroce_destroy_qp(qp), 0);
	}
}

UROCE_TESTS(qp_ex)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused, xrcd_setup, xrcd_teardown),
		cmocka_unit_test_setup_teardown(test_rc, xrcd_setup, xrcd_teardown),
		cmocka_unit_test_setup_teardown(test_xrc_send, xrcd_setup, xrcd_teardown),
		cmocka_unit_test_setup_teardown(test_xrc_recv, xrcd_setup, xrcd_teardown),
		cmocka_unit_test_setup_teardown(test_xrc_modify, xrcd_setup, xrcd_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
