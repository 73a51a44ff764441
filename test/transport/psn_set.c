/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Compares the set of PSNs with an array of bools, for every start of a window and across the end of the PSN space.
 */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "groups.h"
#include "transport/psn_set.h"
#include "uroce_config.h"
#include "wire/psn.h"

static const uint32_t starts[] = { 0, 1, 63, 64, 65, UROCE_REORDER_WINDOW - 1, UROCE_PSN_MASK - 100, UROCE_PSN_MASK };

static void
expect_same(const struct uroce_psn_set *s, const bool *model, uint32_t start)
{
	for (uint32_t i = 0; i < UROCE_REORDER_WINDOW; i++) {
		uint32_t psn = uroce_psn_add(start, i), run = 0;

		assert_int_equal(uroce_psn_set_has(s, psn), model[i]);
		while (i + run < UROCE_REORDER_WINDOW && model[i + run] == model[i])
			run++;
		assert_int_equal(uroce_psn_set_run(s, psn, UROCE_REORDER_WINDOW - i, model[i]), run);
		assert_int_equal(uroce_psn_set_run(s, psn, UROCE_REORDER_WINDOW - i, !model[i]), 0);
		assert_int_equal(uroce_psn_set_run(s, psn, run / 2, model[i]), run / 2);
	}
}

static void
test_put(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 2, 63, 64, 65, 130, UROCE_REORDER_WINDOW };

	(void)state;
	for (unsigned int s = 0; s < RTE_DIM(starts); s++) {
		bool model[UROCE_REORDER_WINDOW] = { false };
		uint64_t words[UROCE_PSN_SET_WORDS(UROCE_REORDER_WINDOW)];
		struct uroce_psn_set set = { words, 0 };

		uroce_psn_set_clear(&set, UROCE_REORDER_WINDOW);
		for (unsigned int round = 0; round < 4 * RTE_DIM(lengths); round++) {
			uint32_t n = lengths[(round * 5) % RTE_DIM(lengths)];
			uint32_t at = (round * 37) % (UROCE_REORDER_WINDOW - n + 1);
			bool in = round % 3 != 2;

			uroce_psn_set_put(&set, uroce_psn_add(starts[s], at), n, in);
			memset(&model[at], in, n);
			expect_same(&set, model, starts[s]);
		}
	}
}

/* A PSN that leaves the set makes room for the PSN one window ahead. */
static void
test_slides(void **state)
{
	uint64_t words[UROCE_PSN_SET_WORDS(UROCE_REORDER_WINDOW)];
	struct uroce_psn_set set = { words, 0 };
	uint32_t psn = UROCE_PSN_MASK - 2 * UROCE_REORDER_WINDOW;

	(void)state;
	uroce_psn_set_clear(&set, UROCE_REORDER_WINDOW);
	uroce_psn_set_put(&set, psn, UROCE_REORDER_WINDOW, true);
	for (uint32_t i = 0; i < 4 * UROCE_REORDER_WINDOW; i++, psn = uroce_psn_add(psn, 1)) {
		assert_true(uroce_psn_set_has(&set, psn));
		uroce_psn_set_put(&set, psn, 1, false);
		assert_int_equal(uroce_psn_set_run(&set, psn, UROCE_REORDER_WINDOW, false), 1);
		uroce_psn_set_put(&set, uroce_psn_add(psn, UROCE_REORDER_WINDOW), 1, true);
		assert_int_equal(uroce_psn_set_run(&set, uroce_psn_add(psn, 1), UROCE_REORDER_WINDOW, true),
				 UROCE_REORDER_WINDOW);
	}
}

/* Counts the members of either of two sets that overlap, also over the end of the PSN space. */
static void
test_either(void **state)
{
	uint64_t words[2][UROCE_PSN_SET_WORDS(UROCE_REORDER_WINDOW)];
	struct uroce_psn_set a = { words[0], 0 }, b = { words[1], 0 };

	(void)state;
	for (unsigned int s = 0; s < RTE_DIM(starts); s++) {
		uroce_psn_set_clear(&a, UROCE_REORDER_WINDOW);
		uroce_psn_set_clear(&b, UROCE_REORDER_WINDOW);
		uroce_psn_set_put(&a, uroce_psn_add(starts[s], 10), 100, true);
		uroce_psn_set_put(&b, uroce_psn_add(starts[s], 60), 100, true);
		assert_int_equal(uroce_psn_set_either(&a, &b, starts[s], UROCE_REORDER_WINDOW), 150);
		assert_int_equal(uroce_psn_set_either(&b, &a, uroce_psn_add(starts[s], 100), 61), 60);
		assert_int_equal(uroce_psn_set_either(&a, &b, starts[s], 10), 0);
		assert_int_equal(uroce_psn_set_either(&a, &b, uroce_psn_add(starts[s], 59), 2), 2);
	}
}

UROCE_TESTS(psn_set)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_slides),
		cmocka_unit_test(test_either),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
