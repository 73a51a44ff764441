/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the lists of parts of a run that are kept.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "keep.h"

/* Compare the output of keep_print() for one list. */
static void
expect_done(enum keep_what what, const char *list)
{
	char expected[64], line[64];
	FILE *file = tmpfile();
	FILE *out = stdout;
	bool found = false;

	assert_non_null(file);
	snprintf(expected, sizeof(expected), "did: %s %s\n", keep_names[what], list);
	stdout = file;
	keep_print();
	stdout = out;
	rewind(file);
	while (!found && fgets(line, sizeof(line), file) != NULL)
		found = strcmp(line, expected) == 0;
	fclose(file);
	assert_true(found);
}

static void
without_a_list_all_is_kept(void **state)
{
	keep_reset();
	expect_done(KEEP_HARM, "none");
	for (uint64_t i = 7; i < 10; i++)
		assert_true(keep_do(KEEP_HARM, i));
	assert_true(keep_do(KEEP_HARM, UINT64_MAX - 1));
	assert_true(keep_has(KEEP_HARM, 3));
	assert_true(keep_more(KEEP_HARM, 3, 4));
	expect_done(KEEP_HARM, "7-9,18446744073709551614");
	expect_done(KEEP_ACTIONS, "none");
	keep_reset();
	expect_done(KEEP_HARM, "none");
}

static void
a_list_limits(void **state)
{
	assert_true(keep_parse(KEEP_ACTIONS, "1-3,5,1048576-1048577"));
	assert_false(keep_has(KEEP_ACTIONS, 0));
	assert_true(keep_has(KEEP_ACTIONS, 1));
	assert_true(keep_has(KEEP_ACTIONS, 3));
	assert_false(keep_has(KEEP_ACTIONS, 4));
	assert_true(keep_has(KEEP_ACTIONS, 5));
	assert_false(keep_has(KEEP_ACTIONS, 6));
	assert_true(keep_has(KEEP_ACTIONS, KEEP_PHASE_ACTIONS + 1));
	assert_false(keep_has(KEEP_ACTIONS, KEEP_PHASE_ACTIONS + 2));
	assert_true(keep_more(KEEP_ACTIONS, 4, KEEP_PHASE_ACTIONS));
	assert_false(keep_more(KEEP_ACTIONS, 6, KEEP_PHASE_ACTIONS));
	assert_true(keep_more(KEEP_ACTIONS, 6, KEEP_PHASE_ACTIONS + 1));
	assert_false(keep_more(KEEP_ACTIONS, KEEP_PHASE_ACTIONS + 2, UINT64_MAX));
	assert_false(keep_do(KEEP_ACTIONS, 4));
	assert_true(keep_do(KEEP_ACTIONS, 5));
	expect_done(KEEP_ACTIONS, "5");
	/* the other lists do not change */
	assert_true(keep_has(KEEP_SCENARIOS, 4));
	assert_true(keep_parse(KEEP_ACTIONS, "none"));
	assert_false(keep_has(KEEP_ACTIONS, 1));
	assert_false(keep_more(KEEP_ACTIONS, 0, UINT64_MAX));
}

static void
lists_that_are_none(void **state)
{
	static const char *const bad[] = {
		"", ",", "1,", ",1", "1-", "-1", "3-2", "2,1", "1-3,3", "1,1", "a", "1a", "1 2", "0x1", "nonesuch",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(keep_parse(KEEP_RECONNECTS, bad[i]));
}

static void
each_number_has_draws_of_its_own(void **state)
{
	struct sim_random a, b;

	keep_draw_anew(&a, 1, LINK_STREAM, 5);
	keep_draw_anew(&b, 1, LINK_STREAM, 5);
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(random_draw(&a), random_draw(&b));
	for (uint64_t number = 0; number < 100; number++) {
		keep_draw_anew(&a, 1, LINK_STREAM, number);
		keep_draw_anew(&b, 1, LINK_STREAM, number + 1);
		for (unsigned int i = 0; i < 10; i++)
			assert_int_not_equal(random_draw(&a), random_draw(&b));
	}
}

UROCE_TESTS(sim_keep)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_list_all_is_kept),
		cmocka_unit_test(a_list_limits),
		cmocka_unit_test(lists_that_are_none),
		cmocka_unit_test(each_number_has_draws_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
