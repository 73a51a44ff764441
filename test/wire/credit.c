/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The credit codes compared with the specification's table, and each number of receives compared with the codes.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce_config.h"
#include "wire/credit.h"
#include "wire/headers.h"

static const uint16_t table[31] = {
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
	4096, 6144, 8192, 12288, 16384, 24576, 32768,
};

static void
test_decode(void **state)
{
	for (uint8_t code = 0; code < RTE_DIM(table); code++)
		assert_int_equal(uroce_credits_decode(code), table[code]);
}

/* The code stands for the largest number in the table that does not exceed the receives. */
static void
test_encode(void **state)
{
	for (uint32_t n = 0; n < 70000; n++) {
		uint8_t code = uroce_credits_encode(n);

		assert_true(code < UROCE_AETH_CREDITS_UNLIMITED);
		assert_true(table[code] <= n);
		assert_true(code == 30 || n < table[code + 1]);
	}
	assert_int_equal(uroce_credits_encode(UINT32_MAX), 30);
	/* a code can stand for a full receive queue */
	assert_true(UROCE_MAX_QP_WR <= UROCE_CREDITS_MAX);
}

UROCE_TESTS(wire_credit)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_encode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
