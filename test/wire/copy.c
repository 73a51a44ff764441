/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Every small length, at every alignment of both sides: what is copied, and that nothing else is written.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "wire/copy.h"

#define MOST 40

static void
test_every_length(void **state)
{
	uint8_t from[MOST + 16], to[MOST + 32], expected[MOST + 32];

	for (unsigned int i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i + 1);
	for (uint32_t bytes = 0; bytes <= MOST; bytes++) {
		for (unsigned int a = 0; a < 8; a++) {
			for (unsigned int b = 0; b < 8; b++) {
				memset(to, 0xee, sizeof(to));
				memset(expected, 0xee, sizeof(expected));
				memcpy(expected + 8 + b, from + a, bytes);
				uroce_copy(to + 8 + b, from + a, bytes);
				assert_memory_equal(to, expected, sizeof(to));
			}
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
