/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests that each copy function of the floor copies all bytes, and no others.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "floor/copies.h"
#include "groups.h"

#define GUARD 64
#define MOST  4096

static uint8_t from[MOST + GUARD], to[GUARD + MOST + GUARD], expected[sizeof(to)];

static void
check(const struct perf_copy *c, size_t n, size_t shift)
{
	memset(to, 0xa5, sizeof(to));
	memcpy(expected, to, sizeof(to));
	memcpy(expected + shift, from + shift % 7, n);
	c->copy(to + shift, from + shift % 7, n);
	assert_memory_equal(to, expected, sizeof(to));
}

static void
test_copies(void **state)
{
	unsigned int can = 0;

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 167 + (i >> 8));
	for (unsigned int i = 0; i < uroce_perf_nb_copies; i++) {
		const struct perf_copy *c = &uroce_perf_copies[i];

		if (!c->can())
			continue;
		can++;
		for (size_t n = 0; n <= 600; n++)
			check(c, n, n % GUARD);
		check(c, MOST, GUARD);
		check(c, MOST - 1, 1);
	}
	assert_true(can >= 2); /* each processor has two of them */
}

static void
test_names(void **state)
{
	for (unsigned int i = 0; i < uroce_perf_nb_copies; i++) {
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(uroce_perf_copies[i].name, uroce_perf_copies[j].name);
	}
}

UROCE_TESTS(perf_copies)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
