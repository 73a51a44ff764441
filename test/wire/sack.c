/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The payload of a selective acknowledgement: which lengths are valid.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "wire/sack.h"

static void
test_lengths(void **state)
{
	(void)state;
	for (uint32_t bytes = 0; bytes < 4096; bytes++) {
		int runs = uroce_sack_runs(bytes);

		if (bytes % 4 != 0 || bytes < 4 || bytes > sizeof(struct uroce_sack))
			assert_int_equal(runs, -1);
		else
			assert_int_equal(UROCE_SACK_BYTES(runs), bytes);
	}
	assert_int_equal(uroce_sack_runs(UINT32_MAX), -1);
	assert_int_equal(uroce_sack_runs(UINT32_MAX - 3), -1);
}

static void
test_layout(void **state)
{
	static const uint8_t bytes[] = { 0x00, 0x12, 0x34, 0x56, 0x00, 0x01, 0x02, 0x03 };
	struct uroce_sack sack;

	(void)state;
	memset(&sack, 0, sizeof(sack));
	sack.asked[0] = 0x12;
	sack.asked[1] = 0x34;
	sack.asked[2] = 0x56;
	sack.runs[0].offset = rte_cpu_to_be_16(1);
	sack.runs[0].count = rte_cpu_to_be_16(0x203);
	assert_memory_equal(&sack, bytes, sizeof(bytes));
}

UROCE_TESTS(wire_sack)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
