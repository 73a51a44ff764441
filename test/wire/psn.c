/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Arithmetic on PSNs: the wrap, and the two halves of the space, ahead and behind (R11).
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_common.h>

#include "groups.h"
#include "wire/psn.h"

static const uint32_t bases[] = {
	0, 1, 2, 0x1000, 0x7ffffe, 0x7fffff, 0x800000, 0x800001, 0xfffffe, 0xffffff,
};

static void
test_add_wraps(void **state)
{
	(void)state;
	assert_int_equal(uroce_psn_add(0xffffff, 1), 0);
	assert_int_equal(uroce_psn_add(0xfffffe, 5), 3);
	assert_int_equal(uroce_psn_add(0, 0xffffff), 0xffffff);
	assert_int_equal(uroce_psn_add(5, UROCE_PSN_MASK + 1), 5);
	assert_int_equal(uroce_psn_add(5, -1u), 4);
	assert_int_equal(uroce_psn_add(0, -1u), 0xffffff);
}

static void
test_diff_halves(void **state)
{
	static const int32_t steps[] = { 0, 1, 2, 255, 65536, 0x7ffffe, 0x7fffff };

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(bases); i++) {
		for (unsigned int j = 0; j < RTE_DIM(steps); j++) {
			uint32_t ahead = uroce_psn_add(bases[i], (uint32_t)steps[j]);

			assert_int_equal(uroce_psn_diff(ahead, bases[i]), steps[j]);
			assert_int_equal(uroce_psn_diff(bases[i], ahead), -steps[j]);
		}
		/* The PSN exactly opposite counts as behind, from either side. */
		assert_int_equal(uroce_psn_diff(uroce_psn_add(bases[i], UROCE_PSN_HALF), bases[i]),
				 -(int32_t)UROCE_PSN_HALF);
	}
}

static void
test_distance_goes_forward(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(bases); i++) {
		assert_int_equal(uroce_psn_distance(bases[i], bases[i]), 0);
		assert_int_equal(uroce_psn_distance(uroce_psn_add(bases[i], 1), bases[i]), 1);
		assert_int_equal(uroce_psn_distance(bases[i], uroce_psn_add(bases[i], 1)),
				 0xffffff);
		assert_int_equal(
			uroce_psn_distance(uroce_psn_add(bases[i], UROCE_PSN_HALF), bases[i]),
			UROCE_PSN_HALF);
	}
}

/* All 2^24 differences, compared with arithmetic in 64 bits. */
static void
test_every_difference(void **state)
{
	const uint32_t base = 0xabcdef;

	(void)state;
	for (int64_t d = -(int64_t)UROCE_PSN_HALF; d < (int64_t)UROCE_PSN_HALF; d++) {
		uint32_t psn = (uint32_t)((base + d + 0x1000000) % 0x1000000);

		if (uroce_psn_diff(psn, base) != d)
			fail_msg("diff of %#x is %d", psn, uroce_psn_diff(psn, base));
		if (uroce_psn_distance(psn, base) != (uint32_t)((d + 0x1000000) % 0x1000000))
			fail_msg("distance of %#x is %u", psn, uroce_psn_distance(psn, base));
		if (uroce_psn_add(base, (uint32_t)d) != psn)
			fail_msg("add of %#x", psn);
	}
}

UROCE_TESTS(wire_psn)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_wraps),
		cmocka_unit_test(test_diff_halves),
		cmocka_unit_test(test_distance_goes_forward),
		cmocka_unit_test(test_every_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
