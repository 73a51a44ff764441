/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Address handles: which are refused, which objects they keep alive, and when they are freed.
 */

#include <errno.h>
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
#include "verbs/address/ah.h"
#include "eal.h"
#include "fixture.h"

static struct ibv_ah_attr
good_attr(void)
{
	return (struct ibv_ah_attr){
		.is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .dgid.raw = { [15] = 9 } },
	};
}

static void
refused(struct ibv_ah_attr attr, int error)
{
	errno = 0;
	assert_null(uroce_create_ah(pair.pd, &attr));
	assert_int_equal(errno, error);
	assert_int_equal(fake.dev.ah_count, 0);
	assert_int_equal(fake.paths, 0);
}

static void
test_refused(void **state)
{
	struct ibv_ah_attr bad = good_attr();

	(void)state;
	bad.is_global = 0;
	refused(bad, EINVAL);
	bad = good_attr();
	bad.port_num = 2;
	refused(bad, EINVAL);
	bad = good_attr();
	bad.grh.sgid_index = UROCE_MAX_GID;
	refused(bad, EINVAL);
	assert_int_equal(fake.path_inits, 0);
	fake.path_error = -ENETUNREACH;
	refused(good_attr(), ENETUNREACH);
}

static void
test_life(void **state)
{
	struct ibv_ah_attr attr = good_attr();
	struct ibv_ah *ah = uroce_create_ah(pair.pd, &attr);

	(void)state;
	assert_non_null(ah);
	assert_ptr_equal(ah->context, fake.context);
	assert_ptr_equal(ah->pd, pair.pd);
	assert_int_equal(fake.paths, 1);
	assert_int_equal(uroce_dealloc_pd(pair.pd), EBUSY);	/* R47 */
	assert_int_equal(uroce_destroy_ah(ah), 0);
	assert_int_equal(fake.paths, 0);
	assert_int_equal(fake.dev.ah_count, 0);
}

/* 20 bits of the flow label count: they determine the UDP source port, unless they are 0. */
static void
test_flow_label(void **state)
{
	static const struct {
		uint32_t label;
		bool has;
	} labels[] = { { 0, false }, { 1, true }, { UINT32_MAX, true }, { 0xfffff, true }, { 0xfff00000, false } };

	for (size_t i = 0; i < RTE_DIM(labels); i++) {
		struct ibv_ah_attr attr = good_attr();
		struct ibv_ah *ah;

		attr.is_global = 0xff;
		attr.grh.flow_label = labels[i].label;
		ah = uroce_create_ah(pair.pd, &attr);
		assert_non_null(ah);
		assert_int_equal(uroce_ah_of(ah)->has_flow_label, labels[i].has);
		assert_int_equal(uroce_destroy_ah(ah), 0);
	}
}

static void
test_a_device_with_handles_stays(void **state)
{
	struct ibv_ah_attr attr = good_attr();
	struct ibv_pd *pd;
	struct ibv_ah *ah;

	(void)state;
	fake_setup(state);
	pd = uroce_alloc_pd(fake.context);
	ah = uroce_create_ah(pd, &attr);
	assert_non_null(ah);
	assert_int_equal(uroce_device_fini(&fake.dev), -EBUSY);
	assert_int_equal(uroce_destroy_ah(ah), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	fake_teardown(state);
}

static void
test_who_is_held_lives_on(void **state)
{
	struct ibv_ah_attr attr = good_attr();
	struct ibv_ah *first = uroce_create_ah(pair.pd, &attr);
	struct ibv_ah *second = uroce_create_ah(pair.pd, &attr);

	(void)state;
	uroce_ah_get(uroce_ah_of(first));
	uroce_ah_get(uroce_ah_of(first));
	assert_int_equal(uroce_destroy_ah(first), 0);
	assert_int_equal(fake.paths, 2);
	assert_int_equal(fake.dev.ah_count, 2);
	/* it no longer counts as an object of its PD */
	assert_int_equal(uroce_destroy_ah(second), 0);
	assert_int_equal(fake.paths, 1);
	uroce_ah_put(uroce_ah_of(first));
	uroce_ahs_reap(&fake.dev);
	assert_int_equal(fake.paths, 1);
	uroce_ah_put(uroce_ah_of(first));
	uroce_ahs_reap(&fake.dev);
	assert_int_equal(fake.paths, 0);
	assert_int_equal(fake.dev.ah_count, 0);
}

static void
test_as_many_as_reported(void **state)
{
	struct ibv_ah_attr attr = good_attr();
	struct ibv_device_attr device;

	(void)state;
	assert_int_equal(uroce_query_device(fake.context, &device), 0);
	fake.dev.ah_count = (uint32_t)device.max_ah;
	errno = 0;
	assert_null(uroce_create_ah(pair.pd, &attr));
	assert_int_equal(errno, ENOMEM);
	fake.dev.ah_count = 0;
}

UROCE_TESTS(ah)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_life, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_flow_label, pair_setup, pair_teardown),
		cmocka_unit_test(test_a_device_with_handles_stays),
		cmocka_unit_test_setup_teardown(test_who_is_held_lives_on, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_as_many_as_reported, pair_setup, pair_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
