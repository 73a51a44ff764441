/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the table of effects of a change of a QP's state: it has an entry for each transition that verbs allows, and
 * transitions to a state have the effects that this state requires.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "transport/qp_change.h"
#include "verbs/qp/qp.h"

/* Does R45 allow the transition with some set of attributes? No transition needs the rate limit, a bit of its own. */
static bool
is_allowed(enum ibv_qp_state from, enum ibv_qp_state to)
{
	for (enum ibv_qp_type type = IBV_QPT_RC; type <= IBV_QPT_UD; type++) {
		for (int mask = 0; mask < 2 * IBV_QP_DEST_QPN; mask++)
			if (uroce_qp_transition_check(from, to, type, mask | IBV_QP_STATE) == 0)
				return true;
	}
	return false;
}

static void
every_change_has_a_row(void **state)
{
	unsigned int allowed = 0;

	for (enum ibv_qp_state from = IBV_QPS_RESET; from <= IBV_QPS_ERR; from++) {
		for (enum ibv_qp_state to = IBV_QPS_RESET; to <= IBV_QPS_ERR; to++) {
			const bool has_row = uroce_qp_effects(from, to) != 0;

			assert_int_equal(has_row, is_allowed(from, to));
			allowed += has_row;
		}
	}
	assert_uint_in_range(allowed, 20, 49);
}

static void
reset_and_error_leave_nothing(void **state)
{
	const unsigned int stop = UROCE_EFFECT_STOP_REQUESTER | UROCE_EFFECT_RESET_RESPONDER | UROCE_EFFECT_FLUSH;
	const unsigned int reset = UROCE_EFFECT_LEAVE_TURNS | UROCE_EFFECT_FORGET_ACKS | UROCE_EFFECT_RELEASE_RATE |
				   UROCE_EFFECT_RESET_REQUESTER | UROCE_EFFECT_RESET_RESPONDER |
				   UROCE_EFFECT_RESET_HISTORY;

	for (enum ibv_qp_state from = IBV_QPS_RESET; from <= IBV_QPS_ERR; from++) {
		unsigned int error = uroce_qp_effects(from, IBV_QPS_ERR);

		assert_int_equal(error & stop, stop);
		assert_int_equal((error & UROCE_EFFECT_TELL_LAST_WQE) != 0, from != IBV_QPS_ERR);
		assert_int_equal(uroce_qp_effects(from, IBV_QPS_RESET) & reset, reset);
	}
}

UROCE_TESTS(qp_change)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_change_has_a_row),
		cmocka_unit_test(reset_and_error_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
