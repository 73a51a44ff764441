/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The statistics must detect the weak number generators of other stacks, and sequences that are easily mistaken for
 * unpredictable; and must accept the kernel's generator.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <rte_common.h>

#include "base/random.h"
#include "groups.h"
#include "statistics.h"

#define DRAWS 100000

static uint32_t values[DRAWS];

static const char *
verdict(uint32_t (*draw)(uint32_t i), unsigned int bits)
{
	for (uint32_t i = 0; i < DRAWS; i++)
		values[i] = draw(i);
	return statistics_check(values, DRAWS, bits);
}

static uint32_t
counter(uint32_t i)
{
	return 0x11 + i;
}

static uint32_t
stride(uint32_t i)
{
	return i * 0x9e3779b9u;
}

/* a counter behind a constant mask */
static uint32_t
masked(uint32_t i)
{
	return i ^ 0x5bd1e995u;
}

static uint32_t
reversed(uint32_t i)
{
	uint32_t v = 0;

	for (unsigned int bit = 0; bit < 32; bit++)
		v |= (i >> bit & 1) << (31 - bit);
	return v;
}

static uint32_t
gray(uint32_t i)
{
	return i ^ i >> 1;
}

/* an index above 8 random bits: the keys of rxe */
static uint32_t
index_and_random(uint32_t i)
{
	return i << 8 | (uint32_t)(uroce_random() & 0xff);
}

static uint32_t
address(uint32_t i)
{
	return (uint32_t)((0x7f1234560000ull + 4096ull * i) >> 12);
}

static uint32_t
congruence(uint32_t i)
{
	static uint32_t x;

	x = i == 0 ? 12345 : x * 1664525u + 1013904223u;
	return x;
}

/* the example of ANSI C: its lower bits repeat */
static uint32_t
ansi(uint32_t i)
{
	static uint32_t x;

	x = i == 0 ? 1 : x * 1103515245u + 12345u;
	return x & 0x7fffffff;
}

/* eight buffers, each used twice */
static uint32_t
twice(uint32_t i)
{
	if (i % 64 >= 32)
		return values[i - 32];
	return (uint32_t)uroce_random();
}

/* one bit in a hundred is constant */
static uint32_t
leaning(uint32_t i)
{
	const uint32_t v = (uint32_t)uroce_random();

	return i % 20 == 0 ? v | 0x10 : v;
}

static uint32_t
sound(uint32_t i)
{
	(void)i;
	return (uint32_t)uroce_random();
}

static void
what_can_be_guessed_is_found(void **state)
{
	assert_non_null(verdict(counter, 32));
	assert_non_null(verdict(counter, 24));
	assert_non_null(verdict(stride, 32));
	assert_non_null(verdict(masked, 32));
	assert_non_null(verdict(reversed, 32));
	assert_non_null(verdict(gray, 24));
	assert_non_null(verdict(index_and_random, 32));
	assert_non_null(verdict(address, 32));
	assert_non_null(verdict(congruence, 32));
	assert_non_null(verdict(ansi, 31));
	assert_non_null(verdict(twice, 32));
	assert_non_null(verdict(leaning, 32));
}

static void
what_cannot_is_not(void **state)
{
	for (unsigned int bits = 14; bits <= 32; bits++) {
		const char *wrong = verdict(sound, bits);

		if (wrong != NULL)
			fail_msg("%u bits: %s", bits, wrong);
	}
}

UROCE_TESTS(hostile_generators)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_can_be_guessed_is_found),
		cmocka_unit_test(what_cannot_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
