/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * How the thread that drives the ports paces itself, by a clock of our own: no pause while frames come, then sleeps
 * that grow up to their limits; sleeps from the start where others want the core; longer ones where the program polls.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "groups.h"
#include "progress/backoff.h"
#include "uroce_config.h"

#define BUSY_NS 400000
#define START_NS 1000000000ull

static struct uroce_backoff pace;

static int
setup(void **state)
{
	pace = (struct uroce_backoff){ .spared_ns = UROCE_VERBS_SPARED_NS };	/* as one before it was left */
	uroce_backoff_init(&pace, BUSY_NS, START_NS);
	return 0;
}

static void
test_busy(void **state)
{
	uint64_t now_ns = START_NS;

	assert_int_equal(uroce_backoff_step(&pace, now_ns + BUSY_NS - 1, 0, false), 0);
	assert_true(uroce_backoff_is_busy(&pace, now_ns + BUSY_NS - 1));
	assert_false(uroce_backoff_is_busy(&pace, now_ns + BUSY_NS));
	now_ns += BUSY_NS;
	assert_int_equal(uroce_backoff_step(&pace, now_ns, 3, false), 0);	/* it goes on from here */
	assert_int_equal(uroce_backoff_step(&pace, now_ns + BUSY_NS - 1, 0, false), 0);
	assert_int_equal(uroce_backoff_step(&pace, now_ns + BUSY_NS, 0, false), BUSY_NS / UROCE_VERBS_SLEEP_PART);
}

/* What comes has to wait for a small part of the time that it was waited for. */
static void
test_growing(void **state)
{
	uint64_t now_ns = START_NS + BUSY_NS, last_ns = 0, ns = 0;

	while (now_ns < START_NS + UROCE_VERBS_IDLE_NS / 2) {
		ns = uroce_backoff_step(&pace, now_ns, 0, false);
		assert_true(ns >= last_ns && ns >= UROCE_VERBS_MIN_SLEEP_NS && ns <= UROCE_VERBS_MAX_SLEEP_NS);
		assert_true(ns <= (now_ns - START_NS) / UROCE_VERBS_SLEEP_PART);
		last_ns = ns;
		now_ns += ns;
	}
	assert_int_equal(ns, UROCE_VERBS_MAX_SLEEP_NS);
}

/* A program that holds a device and does nothing: some hundred looks a second, no more. */
static void
test_idle(void **state)
{
	uint64_t now_ns = START_NS + UROCE_VERBS_IDLE_NS, ns = 0;
	unsigned int looks = 0;

	assert_int_equal(uroce_backoff_step(&pace, now_ns - 1, 0, false), UROCE_VERBS_MAX_SLEEP_NS);
	assert_int_equal(uroce_backoff_step(&pace, now_ns, 0, false), UROCE_VERBS_IDLE_SLEEP_NS);
	for (uint64_t end_ns = now_ns + 10000000000ull; now_ns < end_ns; looks++) {
		ns = uroce_backoff_step(&pace, now_ns, 0, false);
		assert_true(ns >= UROCE_VERBS_MIN_SLEEP_NS);
		now_ns += ns;
	}
	assert_int_equal(ns, UROCE_VERBS_IDLE_SLEEP_NS);
	assert_true(looks < 10 * 130);
	assert_int_equal(uroce_backoff_step(&pace, now_ns, 1, false), 0);
	assert_int_equal(uroce_backoff_step(&pace, now_ns + BUSY_NS, 0, false), BUSY_NS / UROCE_VERBS_SLEEP_PART);
}

static void
test_crowded(void **state)
{
	for (unsigned int i = 1; i < 10; i++)
		assert_int_equal(uroce_backoff_step(&pace, START_NS + i, 0, true), UROCE_VERBS_MIN_SLEEP_NS);
	assert_int_equal(uroce_backoff_step(&pace, START_NS + 10, 1, true), 0);
	assert_int_equal(uroce_backoff_step(&pace, START_NS + BUSY_NS + 9, 0, true), UROCE_VERBS_MIN_SLEEP_NS);
	assert_int_equal(uroce_backoff_step(&pace, START_NS + BUSY_NS + 10, 0, true), BUSY_NS / UROCE_VERBS_SLEEP_PART);
}

static void
test_wake(void **state)
{
	uint64_t now_ns = START_NS + 5 * UROCE_VERBS_IDLE_NS;

	assert_true(uroce_backoff_step(&pace, now_ns, 0, false) > 0);
	uroce_backoff_wake(&pace, now_ns);
	assert_int_equal(uroce_backoff_step(&pace, now_ns, 0, false), 0);
}

static void
test_never_busy(void **state)
{
	uroce_backoff_init(&pace, 0, START_NS);
	assert_int_equal(uroce_backoff_step(&pace, START_NS, 1, false), 0);
	assert_int_equal(uroce_backoff_step(&pace, START_NS, 0, false), UROCE_VERBS_MIN_SLEEP_NS);
}

/* For a while from now_ns on the program polls at each look. @return when that is over */
static uint64_t
polled_for(uint64_t now_ns, uint64_t for_ns)
{
	uint64_t end_ns = now_ns + for_ns, ns;

	while (now_ns < end_ns) {
		ns = uroce_backoff_spare(&pace, now_ns, true);
		assert_true(ns >= UROCE_VERBS_MIN_SLEEP_NS && ns <= UROCE_VERBS_MAX_SLEEP_NS);
		now_ns += ns;
	}
	return now_ns;
}

/* Who polls has the core for himself, but for a look a millisecond; who stops waits for a part of the time that he has
 * polled. */
static void
test_spare(void **state)
{
	uint64_t now_ns = START_NS + BUSY_NS;

	assert_int_equal(uroce_backoff_spare(&pace, START_NS, false), 0);	/* it was needed just now */
	assert_int_equal(uroce_backoff_spare(&pace, START_NS, true), UROCE_VERBS_MIN_SLEEP_NS);
	assert_int_equal(uroce_backoff_spare(&pace, now_ns, false), BUSY_NS / UROCE_VERBS_SLEEP_PART);
	now_ns = polled_for(now_ns, UROCE_VERBS_SPARED_NS);
	assert_int_equal(uroce_backoff_spare(&pace, now_ns, true), UROCE_VERBS_MAX_SLEEP_NS);
}

/* That he has polled since the last look is known, and nothing of the time before that. */
static void
test_spared(void **state)
{
	uroce_backoff_spare(&pace, START_NS + 10, false);
	uroce_backoff_spare(&pace, START_NS + 30, false);
	assert_int_equal(pace.spared_ns, 30);
	uroce_backoff_step(&pace, START_NS + 130, 0, false);	/* that halves it */
	uroce_backoff_spare(&pace, START_NS + 140, false);
	assert_int_equal(pace.spared_ns, 15 + 10);
}

/* He has polled just as long as is enough. */
static void
test_just_spared(void **state)
{
	uint64_t half_ns = UROCE_VERBS_SPARED_NS / 2;

	uroce_backoff_spare(&pace, START_NS + BUSY_NS, false);
	uroce_backoff_wake(&pace, START_NS + BUSY_NS);
	assert_int_equal(uroce_backoff_spare(&pace, START_NS + BUSY_NS, false), BUSY_NS / UROCE_VERBS_SLEEP_PART);
	uroce_backoff_spare(&pace, START_NS + half_ns - 1, false);
	assert_false(uroce_backoff_trusts(&pace));
	uroce_backoff_spare(&pace, START_NS + half_ns, false);
	assert_true(uroce_backoff_trusts(&pace));
}

/* Once he did not get to it, and frames lay there: the thread gives the core back, and is not back on it until then. */
static void
test_missed(void **state)
{
	uint64_t now_ns = polled_for(START_NS, 2 * UROCE_VERBS_SPARED_NS);

	assert_true(uroce_backoff_asks(&pace, now_ns));
	assert_true(uroce_backoff_trusts(&pace));
	assert_int_equal(uroce_backoff_step(&pace, now_ns, 3, true), UROCE_VERBS_MIN_SLEEP_NS);
	assert_int_equal(uroce_backoff_spare(&pace, now_ns + 1, true), UROCE_VERBS_MAX_SLEEP_NS);
	/* where nobody else wants one, it goes on */
	assert_int_equal(uroce_backoff_step(&pace, now_ns + 2, 3, false), 0);
	/* and if he did not get to it so often, it is the thread's part again */
	for (unsigned int i = 0; i < 16; i++)
		uroce_backoff_step(&pace, ++now_ns, 3, true);
	assert_int_equal(uroce_backoff_step(&pace, now_ns, 3, true), 0);
	assert_false(uroce_backoff_asks(&pace, now_ns + BUSY_NS));
}

/* A program that polls and looks at memory by turns waits for the thread each time: it is not trusted for long, and
 * before long each wait is as short as can be. */
static void
test_by_turns(void **state)
{
	uint64_t now_ns = polled_for(START_NS, 2 * UROCE_VERBS_SPARED_NS), ns = 0;

	for (unsigned int i = 0; i < 32; i++) {
		now_ns += uroce_backoff_step(&pace, now_ns, 1, true);
		ns = uroce_backoff_spare(&pace, now_ns, true);
		now_ns += ns;
		assert_true(i < 2 || !uroce_backoff_trusts(&pace));
	}
	assert_int_equal(ns, UROCE_VERBS_MIN_SLEEP_NS);
}

/* He polls no more, and nothing has come yet: it may be that he waits for something else. */
static void
test_stopped(void **state)
{
	uint64_t now_ns = polled_for(START_NS, UROCE_VERBS_IDLE_NS);

	assert_int_equal(uroce_backoff_step(&pace, now_ns, 0, false), 0);
	assert_true(uroce_backoff_is_busy(&pace, now_ns + BUSY_NS - 1));
	assert_int_equal(uroce_backoff_step(&pace, now_ns + 1, 0, true), UROCE_VERBS_MIN_SLEEP_NS);
}

/* A core whose clock is behind is not one that has waited for ever. */
static void
test_clock(void **state)
{
	assert_int_equal(uroce_backoff_step(&pace, START_NS - 50, 0, false), 0);
	assert_int_equal(uroce_backoff_spare(&pace, START_NS - 60, false), 0);
	assert_int_equal(pace.spared_ns, 0);
}

UROCE_TESTS(dropin_backoff)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_busy, setup),
		cmocka_unit_test_setup(test_growing, setup),
		cmocka_unit_test_setup(test_idle, setup),
		cmocka_unit_test_setup(test_crowded, setup),
		cmocka_unit_test_setup(test_wake, setup),
		cmocka_unit_test_setup(test_never_busy, setup),
		cmocka_unit_test_setup(test_spare, setup),
		cmocka_unit_test_setup(test_spared, setup),
		cmocka_unit_test_setup(test_just_spared, setup),
		cmocka_unit_test_setup(test_missed, setup),
		cmocka_unit_test_setup(test_by_turns, setup),
		cmocka_unit_test_setup(test_stopped, setup),
		cmocka_unit_test_setup(test_clock, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
