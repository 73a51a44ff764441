/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce_alloc_pd and uroce_dealloc_pd: which objects count, and when the PD cannot be deallocated (R47).
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "mem/pd.h"
#include "verbs/device/device.h"
#include "eal.h"

static struct uroce_device dev;

static void
test_one(void **state)
{
	struct ibv_pd *pd = uroce_alloc_pd(&dev.vctx.context);

	assert_non_null(pd);
	assert_ptr_equal(pd->context, &dev.vctx.context);
	assert_int_equal(dev.pd_count, 1);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(dev.pd_count, 0);
}

static void
test_in_use(void **state)
{
	static char memory[2][10];
	struct ibv_pd *pd = uroce_alloc_pd(&dev.vctx.context);
	struct ibv_mr *mrs[2];

	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(((struct uroce_pd *)pd)->refs, i);
		mrs[i] = uroce_reg_mr(pd, memory[i], sizeof(memory[i]), 0);
		assert_non_null(mrs[i]);
	}
	/* a failed registration does not count */
	assert_null(uroce_reg_mr(pd, memory[0], 0, 0));
	assert_int_equal(uroce_dealloc_pd(pd), EBUSY);
	assert_int_equal(uroce_dereg_mr(mrs[0]), 0);
	assert_int_equal(uroce_dealloc_pd(pd), EBUSY);
	assert_int_equal(dev.pd_count, 1);
	assert_int_equal(uroce_dereg_mr(mrs[1]), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(dev.pd_count, 0);
}

static void
test_limit(void **state)
{
	struct ibv_pd **pds = calloc(UROCE_MAX_PD, sizeof(*pds));

	assert_non_null(pds);
	for (unsigned int i = 0; i < UROCE_MAX_PD; i++) {
		pds[i] = uroce_alloc_pd(&dev.vctx.context);
		assert_non_null(pds[i]);
	}
	errno = 0;
	assert_null(uroce_alloc_pd(&dev.vctx.context));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(uroce_dealloc_pd(pds[7]), 0);
	pds[7] = uroce_alloc_pd(&dev.vctx.context);
	assert_non_null(pds[7]);
	assert_null(uroce_alloc_pd(&dev.vctx.context));
	for (unsigned int i = 0; i < UROCE_MAX_PD; i++)
		assert_int_equal(uroce_dealloc_pd(pds[i]), 0);
	assert_int_equal(dev.pd_count, 0);
	free(pds);
}

static int
setup(void **state)
{
	static const struct uroce_device_ops ops;
	const struct uroce_device_conf conf = {
		.name = "uroce0",
		.numa_node = -1,
		.log2_max_qp = 4,
		.log2_max_mr = 4,
	};

	test_eal_init(NULL);
	return uroce_device_init(&dev, &ops, &conf);
}

static int
teardown(void **state)
{
	return uroce_device_fini(&dev);
}

UROCE_TESTS(pd)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
