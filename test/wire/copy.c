/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Copies of every small length, and of lengths on both sides of each step, at all alignments: the right bytes arrive,
 * and no other byte is written.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "wire/copy.h"

#define MOST 40
#define LONGEST 4096

typedef void (*copy)(uint8_t *to, const uint8_t *from, uint32_t bytes);

static void
check_short(copy how)
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
				how(to + 8 + b, from + a, bytes);
				assert_memory_equal(to, expected, sizeof(to));
			}
		}
	}
}

static void
test_every_length(void **state)
{
	check_short(uroce_copy);
	check_short(uroce_place);
}

static void
check_long(uint32_t bytes, unsigned int a, unsigned int b)
{
	static const copy ways[] = { uroce_copy, uroce_place };
	static uint8_t from[LONGEST + 512], to[sizeof(from)], expected[sizeof(from)];

	for (unsigned int i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 7 + i / 251);
	memset(expected, 0xee, sizeof(expected));
	memcpy(expected + 64 + b, from + a, bytes);
	for (unsigned int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		memset(to, 0xee, sizeof(to));
		ways[i](to + 64 + b, from + a, bytes);
		assert_memory_equal(to, expected, sizeof(to));
	}
}

static void
test_long(void **state)
{
	for (uint32_t bytes = MOST; bytes < UROCE_COPY_LONG_BYTES + 320; bytes++)
		for (unsigned int i = 0; i < 64; i += 5)
			check_long(bytes, i, bytes % 64);
	for (unsigned int i = 0; i < 64; i++) {
		check_long(LONGEST, i, 63 - i);
		check_long(LONGEST / 4, i, 63 - i);
		check_long(LONGEST - i, i, i);
	}
}

UROCE_TESTS(wire_copy)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
