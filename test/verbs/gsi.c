/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * QP1: one per device, found by its number, ready to send and receive.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce.h"
#include "verbs/qp/gsi.h"
#include "eal.h"
#include "fixture.h"

static const struct ibv_qp_cap cap = {
	.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 256,
};

static void
test_life(void **state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	(void)state;
	assert_null(uroce_qp_lookup(&fake.dev, UROCE_GSI_QPN));
	qp = uroce_gsi_create(pair.pd, pair.cq, pair.cq, &cap);
	assert_non_null(qp);
	assert_int_equal(qp->qp_num, 1);
	assert_ptr_equal(uroce_qp_lookup(&fake.dev, 1), uroce_qp_of(qp));
	assert_null(uroce_qp_lookup(&fake.dev, 0));
	assert_null(uroce_qp_lookup(&fake.dev, UROCE_MULTICAST_QPN));
	assert_int_equal(uroce_query_qp(qp, &attr, IBV_QP_QKEY, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.qkey, 0x80010000);
	assert_int_equal(attr.pkey_index, 0);
	assert_int_equal(init.qp_type, IBV_QPT_UD);
	assert_true(init.cap.max_inline_data >= 256);
	/* the device cannot be closed before it */
	assert_int_equal(uroce_device_fini(&fake.dev), -EBUSY);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_null(uroce_qp_lookup(&fake.dev, UROCE_GSI_QPN));
}

static void
test_one_for_each_device(void **state)
{
	struct ibv_qp *qp = uroce_gsi_create(pair.pd, pair.cq, pair.cq, &cap);

	(void)state;
	errno = 0;
	assert_null(uroce_gsi_create(pair.pd, pair.cq, pair.cq, &cap));
	assert_int_equal(errno, EEXIST);
	fake.attached--; /* the second QP got an engine before its number was refused */
	assert_ptr_equal(uroce_qp_lookup(&fake.dev, 1), uroce_qp_of(qp));
	assert_int_equal(uroce_destroy_qp(qp), 0);
	qp = uroce_gsi_create(pair.pd, pair.cq, pair.cq, &cap);
	assert_non_null(qp);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

static void
test_failures_leave_nothing(void **state)
{
	struct ibv_qp_cap big = cap;
	struct ibv_qp *qp;

	(void)state;
	big.max_send_wr = 1 << 30;
	assert_null(uroce_gsi_create(pair.pd, pair.cq, pair.cq, &big));
	assert_int_equal(errno, EINVAL);
	fake.attach_error = -ENOMEM;
	assert_null(uroce_gsi_create(pair.pd, pair.cq, pair.cq, &cap));
	assert_int_equal(errno, ENOMEM);
	fake.attach_error = 0;
	fake.port_error = -EIO;		/* the port's MTU is unknown */
	assert_null(uroce_gsi_create(pair.pd, pair.cq, pair.cq, &cap));
	assert_int_equal(errno, EIO);
	fake.port_error = 0;
	assert_int_equal(fake.dev.qp_count, 0);
	qp = uroce_gsi_create(pair.pd, pair.cq, pair.cq, &cap);
	assert_non_null(qp);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

static void
test_others_beside_it(void **state)
{
	struct ibv_qp *gsi = uroce_gsi_create(pair.pd, pair.cq, pair.cq, &cap);
	struct ibv_qp *qps[256];

	(void)state;
	/* QP1 takes no slot of the table, and no other QP gets a reserved number */
	for (unsigned int i = 0; i < RTE_DIM(qps); i++) {
		qps[i] = fake_qp_create(&pair);
		assert_true(qps[i]->qp_num > 1 && qps[i]->qp_num < UROCE_MULTICAST_QPN);
		assert_ptr_equal(uroce_qp_lookup(&fake.dev, qps[i]->qp_num), uroce_qp_of(qps[i]));
	}
	assert_ptr_equal(uroce_qp_lookup(&fake.dev, 1), uroce_qp_of(gsi));
	for (unsigned int i = 0; i < RTE_DIM(qps); i++)
		assert_int_equal(uroce_destroy_qp(qps[i]), 0);
	assert_int_equal(uroce_destroy_qp(gsi), 0);
}

UROCE_TESTS(gsi)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_life, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_one_for_each_device, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_failures_leave_nothing, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_others_beside_it, pair_setup, pair_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
