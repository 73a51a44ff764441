/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Whether an application polls steadily, from the number of its polls, on a clock that the test sets.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "groups.h"
#include "progress/polling.h"
#include "uroce_config.h"

#define START_NS 1000000000ull
#define STEP_NS 10000ull	/* between two checks */

static struct uroce_polling polling;
static uint64_t now_ns, last_ns;

static int
setup(void **state)
{
	polling = (struct uroce_polling){ .gap_ns = UINT64_MAX / UROCE_VERBS_GAP_FACTOR };	/* init must reset it */
	now_ns = START_NS;
	last_ns = 0;
	uroce_polling_init(&polling, 0, now_ns);
	return 0;
}

/* Check while the application polls every gap_ns, for this long. @return the result of the last check */
static bool
check_for(uint64_t ns, uint64_t gap_ns)
{
	const uint64_t end_ns = now_ns + ns;
	bool is_steady = false;

	while (now_ns < end_ns) {
		uint64_t polls = 0;

		now_ns += STEP_NS;
		for (; gap_ns != 0 && last_ns + gap_ns <= now_ns; polls++)
			last_ns = last_ns == 0 ? now_ns : last_ns + gap_ns;
		is_steady = uroce_polling_is_steady(&polling, polls, last_ns, now_ns);
	}
	return is_steady;
}

/* A poll is recent for a while if it is new, and for longer if its thread has yielded in it. */
static void
test_recent(void **state)
{
	assert_true(uroce_polling_is_recent(true, false, START_NS, START_NS + UROCE_VERBS_POLLED_NS - 1));
	assert_false(uroce_polling_is_recent(true, false, START_NS, START_NS + UROCE_VERBS_POLLED_NS));
	assert_false(uroce_polling_is_recent(false, false, START_NS, START_NS));
	assert_true(uroce_polling_is_recent(false, true, START_NS, START_NS + UROCE_VERBS_YIELDED_NS - 1));
	assert_false(uroce_polling_is_recent(true, true, START_NS, START_NS + UROCE_VERBS_YIELDED_NS));
}

static void
test_never(void **state)
{
	assert_false(check_for(10 * UROCE_VERBS_GAP_INTERVAL_NS, 0));
}

/* A gap much longer than the interval between two checks. */
static void
test_gaps(void **state)
{
	assert_false(check_for(UROCE_VERBS_GAP_INTERVAL_NS - STEP_NS, 100000));	/* not known yet */
	assert_true(check_for(2 * STEP_NS, 100000));
	assert_true(check_for(10 * UROCE_VERBS_GAP_INTERVAL_NS, 100000));
	/* it stops: this is noticed after some gaps, and at once if it polls only once again */
	assert_true(check_for((UROCE_VERBS_GAP_FACTOR - 2) * 100000, 0));
	assert_false(check_for(3 * 100000, 0));
	assert_false(check_for(10 * UROCE_VERBS_GAP_INTERVAL_NS, 0));
	assert_false(uroce_polling_is_steady(&polling, 1, now_ns, now_ns));
}

/* An application that polls all the time, and stops: the next check notices it. */
static void
test_stops(void **state)
{
	assert_true(check_for(2 * UROCE_VERBS_GAP_INTERVAL_NS, 500));
	assert_false(check_for(STEP_NS, 0));
}

static void
test_rarely(void **state)
{
	assert_false(check_for(10 * UROCE_VERBS_GAP_INTERVAL_NS, UROCE_VERBS_GAP_INTERVAL_NS));
}

/* The clock of the core that polled last is ahead, or that of this core was. */
static void
test_clocks(void **state)
{
	assert_true(check_for(2 * UROCE_VERBS_GAP_INTERVAL_NS, 100000));
	assert_true(uroce_polling_is_steady(&polling, 1, now_ns + 1000000, now_ns));
	assert_true(uroce_polling_is_steady(&polling, 0, 0, now_ns - UROCE_VERBS_GAP_INTERVAL_NS));
}

/* A reactor polls steadily, but may serve a batch of requests between two polls. */
static void
test_reactor(void **state)
{
	const uint64_t least_ns = 20 * STEP_NS;

	uroce_polling_init(&polling, least_ns, now_ns);
	assert_false(check_for(UROCE_VERBS_GAP_INTERVAL_NS - STEP_NS, 500));	/* not known yet */
	assert_true(check_for(2 * UROCE_VERBS_GAP_INTERVAL_NS, 500));
	assert_true(check_for(least_ns - STEP_NS, 0));
	assert_false(check_for(2 * STEP_NS, 0));
	/* it has stopped */
	assert_false(check_for(2 * UROCE_VERBS_GAP_INTERVAL_NS, 0));
	assert_false(uroce_polling_is_steady(&polling, 1, now_ns, now_ns));
}

UROCE_TESTS(dropin_polling)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recent),
		cmocka_unit_test_setup(test_never, setup),
		cmocka_unit_test_setup(test_gaps, setup),
		cmocka_unit_test_setup(test_stops, setup),
		cmocka_unit_test_setup(test_rarely, setup),
		cmocka_unit_test_setup(test_clocks, setup),
		cmocka_unit_test_setup(test_reactor, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
