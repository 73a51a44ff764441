/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the table of the requester's states: the state and the actions of each event in each state.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "transport/requester/state.h"

/* For each pair of event and state that the table does not ignore. */
#define FOR_STEPS(event, from) \
	for (enum uroce_requester_event event = 0; event < UROCE_REQUESTER_EVENTS; event++) \
		for (uint8_t from = 0; from < UROCE_REQUESTER_STATES; from++) \
			if (uroce_requester_step(event)->next[from] != UROCE_REQUESTER_IGNORES)

static void
a_state_recovers_while_there_is_a_record(void **state)
{
	FOR_STEPS(event, from) {
		const struct uroce_requester_step *step = uroce_requester_step(event);
		bool record = uroce_requester_recovers(from);

		assert_uint_in_range(step->next[from], 0, UROCE_REQUESTER_STATES - 1);
		assert_false(event == UROCE_ON_MISSING && record);
		record = event == UROCE_ON_MISSING || (record && !(step->actions & UROCE_DO_RELEASE));
		assert_int_equal(uroce_requester_recovers(step->next[from]), record);
	}
}

static void
only_its_timer_ends_an_rnr_wait(void **state)
{
	FOR_STEPS(event, from) {
		const struct uroce_requester_step *step = uroce_requester_step(event);

		if (uroce_requester_waits(from) && !uroce_requester_waits(step->next[from]))
			assert_true(event == UROCE_ON_RNR_OVER || event == UROCE_ON_STOP);
		if (!uroce_requester_waits(from))
			assert_int_equal(uroce_requester_waits(step->next[from]), event == UROCE_ON_RNR_NAK);
	}
}

static void
a_charged_event_goes_back_and_has_a_reason(void **state)
{
	for (enum uroce_requester_event event = 0; event < UROCE_REQUESTER_EVENTS; event++) {
		const struct uroce_requester_step *step = uroce_requester_step(event);

		if (!(step->actions & UROCE_DO_CHARGE))
			continue;
		assert_true(step->actions & UROCE_DO_RELEASE);
		assert_true(step->actions & UROCE_DO_BACK);
		assert_non_null(step->why);
	}
}

static void
a_lost_response_is_charged_once_until_there_is_progress(void **state)
{
	const struct uroce_requester_step *gap = uroce_requester_step(UROCE_ON_RESPONSE_GAP);
	uint8_t s = gap->next[UROCE_REQUESTER_IN_ORDER];

	assert_int_equal(gap->next[s], UROCE_REQUESTER_IGNORES);
	s = uroce_requester_step(UROCE_ON_MISSING)->next[s];
	assert_int_equal(gap->next[s], UROCE_REQUESTER_IGNORES);
	s = uroce_requester_step(UROCE_ON_PROGRESS)->next[s];
	assert_int_equal(s, UROCE_REQUESTER_IN_ORDER_RECOVERS);
	assert_int_equal(gap->next[s], UROCE_REQUESTER_GAP);
}

UROCE_TESTS(requester_state)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_state_recovers_while_there_is_a_record),
		cmocka_unit_test(only_its_timer_ends_an_rnr_wait),
		cmocka_unit_test(a_charged_event_goes_back_and_has_a_reason),
		cmocka_unit_test(a_lost_response_is_charged_once_until_there_is_progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
