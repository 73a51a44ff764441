/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "uroce.h"

static void
test_rates(void **state)
{
	for (int rate = IBV_RATE_2_5_GBPS; rate <= IBV_RATE_1200_GBPS; rate++) {
		int mult = uroce_rate_to_mult(rate), mbps = uroce_rate_to_mbps(rate);

		assert_true(mult > 0 && mbps > 0);
		/* roughly the same: FDR's rate is no multiple of 2.5 Gbit/s */
		assert_uint_in_range(mbps, mult * 2500 * 0.93, mult * 2500 * 1.07);
		assert_int_equal(uroce_mult_to_rate(mult), rate);
		assert_int_equal(uroce_mbps_to_rate(mbps), rate);
	}
	assert_int_equal(uroce_rate_to_mult(IBV_RATE_5_GBPS), 2);
	assert_int_equal(uroce_rate_to_mbps(IBV_RATE_5_GBPS), 5000);
	assert_int_equal(uroce_rate_to_mult(IBV_RATE_100_GBPS), 40);
	assert_int_equal(uroce_rate_to_mbps(IBV_RATE_2_5_GBPS), 2500);
}

static void
test_no_such_rate(void **state)
{
	static const int rates[] = { IBV_RATE_MAX, 1, IBV_RATE_1200_GBPS + 1, -1 };

	for (unsigned int i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		assert_int_equal(uroce_rate_to_mult(rates[i]), -1);
		assert_int_equal(uroce_rate_to_mbps(rates[i]), -1);
	}
	for (int n = -1; n < 1; n++) {
		assert_int_equal(uroce_mult_to_rate(n), IBV_RATE_MAX);
		assert_int_equal(uroce_mbps_to_rate(n), IBV_RATE_MAX);
	}
	assert_int_equal(uroce_mult_to_rate(3), IBV_RATE_MAX);
	assert_int_equal(uroce_mbps_to_rate(2501), IBV_RATE_MAX);
}

UROCE_TESTS(rate)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_no_such_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
