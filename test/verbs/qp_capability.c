/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "uroce.h"
#include "eal.h"
#include "fake.h"

static void
test_capabilities(void **state)
{
	struct fake_pair pair = fake_pair_create(4);
	struct ibv_qp *qp = fake_qp_create(&pair);
	struct ibv_ece ece, zero;

	/* no ordering promise for any operation */
	for (int op = IBV_WR_RDMA_WRITE; op <= IBV_WR_ATOMIC_WRITE; op++)
		assert_int_equal(uroce_query_qp_data_in_order(qp, op, 0), 0);
	memset(&zero, 0, sizeof(zero));
	memset(&ece, 0xff, sizeof(ece));
	assert_int_equal(uroce_query_ece(qp, &ece), 0);
	assert_memory_equal(&ece, &zero, sizeof(ece));
	assert_int_equal(uroce_set_ece(qp, &ece), 0);
	ece.vendor_id = 0x15b3;
	assert_int_equal(uroce_set_ece(qp, &ece), EOPNOTSUPP);
	ece = zero;
	ece.options = 1;
	assert_int_equal(uroce_set_ece(qp, &ece), EOPNOTSUPP);
	ece = zero;
	ece.comp_mask = 1;
	assert_int_equal(uroce_set_ece(qp, &ece), EOPNOTSUPP);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	fake_pair_destroy(&pair);
}

UROCE_TESTS(qp_capability)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_capabilities, fake_setup, fake_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
