/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the responder's state tables for missing packets: the result of each event in each state.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "groups.h"
#include "transport/responder/gap.h"

static void
a_gap_is_named_once(void **state)
{
	struct uroce_responder resp = { .nak_state = UROCE_STATE_IN_ORDER };

	assert_true(uroce_nak_on(&resp, UROCE_ON_AHEAD));
	for (unsigned int i = 0; i < 3; i++)
		assert_false(uroce_nak_on(&resp, UROCE_ON_AHEAD));
	assert_false(uroce_nak_on(&resp, UROCE_ON_EXPECTED));
	assert_true(uroce_nak_on(&resp, UROCE_ON_AHEAD));
	assert_false(uroce_nak_on(&resp, UROCE_ON_WITHDRAWN));
	assert_true(uroce_nak_on(&resp, UROCE_ON_AHEAD));
	assert_true(uroce_nak_on(&resp, UROCE_ON_NEXT_GAP));
	assert_int_equal(resp.nak_state, UROCE_STATE_NAK_SENT);
}

static void
nothing_leaves_closing(void **state)
{
	for (enum uroce_nak_event event = 0; event < UROCE_NAK_EVENTS; event++) {
		struct uroce_responder resp = { .nak_state = UROCE_STATE_CLOSING };

		assert_int_equal(uroce_nak_on(&resp, event), event == UROCE_ON_FATAL);
		assert_int_equal(resp.nak_state, UROCE_STATE_CLOSING);
	}
}

static void
only_a_duplicate_tells_that_a_peer_goes_back(void **state)
{
	struct uroce_responder resp = { .peer_state = UROCE_GAP_PEER_UNTOLD };

	assert_false(uroce_peer_on(&resp, UROCE_ON_DUPLICATE));
	assert_true(uroce_peer_on(&resp, UROCE_ON_CLOSED));
	assert_false(uroce_peer_goes_back(&resp));
	assert_true(uroce_peer_on(&resp, UROCE_ON_DUPLICATE));
	assert_true(uroce_peer_goes_back(&resp));
	assert_false(uroce_peer_on(&resp, UROCE_ON_PEER_AHEAD));
	assert_true(uroce_peer_on(&resp, UROCE_ON_CLOSED));
	assert_true(uroce_peer_goes_back(&resp));
	assert_true(uroce_peer_on(&resp, UROCE_ON_PEER_AHEAD));
	assert_false(uroce_peer_goes_back(&resp));
}

UROCE_TESTS(gap)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_is_named_once),
		cmocka_unit_test(nothing_leaves_closing),
		cmocka_unit_test(only_a_duplicate_tells_that_a_peer_goes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
