/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The pauses of the thread that drives the ports, on a clock that the test sets. The thread makes no pause while frames
 * arrive; then its sleeps grow up to a limit. It sleeps sooner if other threads want the CPU, and longer while the
 * application polls.
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
	pace = (struct uroce_backoff){ .spared_ns = UROCE_VERBS_SPARED_NS };	/* not zero: init must reset it */
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
	assert_int_equal(uroce_backoff_step(&pace, now_ns, 3, false), 0);	/* the busy time starts anew */
	assert_int_equal(uroce_backoff_step(&pace, now_ns + BUSY_NS - 1, 0, false), 0);
	assert_int_equal(uroce_backoff_step(&pace, now_ns + BUSY_NS, 0, false), BUSY_NS / UROCE_VERBS_SLEEP_PART);
}

/* A frame that arrives during a sleep waits for a small part of the idle time before it. */
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

/* An application that holds a device and does nothing costs about a hundred wake-ups per second. */
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
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(uroce_backoff_step(&pace, START_NS + UROCE_VERBS_CROWDED_NS + i, 0, true),
				 UROCE_VERBS_MIN_SLEEP_NS);
	assert_int_equal(uroce_backoff_step(&pace, START_NS + 10, 1, true), 0);
	assert_int_equal(uroce_backoff_step(&pace, START_NS + UROCE_VERBS_CROWDED_NS + 9, 0, true), 0);
	assert_int_equal(uroce_backoff_step(&pace, START_NS + UROCE_VERBS_CROWDED_NS + 10, 0, true),
			 UROCE_VERBS_MIN_SLEEP_NS);
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

/* From now_ns on, the application has polled at each wake-up. @return the end of that time */
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

/* While the application polls, the thread wakes once a millisecond. When the application stops, the next wake-up
 * comes after a part of the time that it polled. */
static void
test_spare(void **state)
{
	uint64_t now_ns = START_NS + BUSY_NS;

	assert_int_equal(uroce_backoff_spare(&pace, START_NS, false), 0);	/* the thread had work just now */
	assert_int_equal(uroce_backoff_spare(&pace, START_NS, true), UROCE_VERBS_MIN_SLEEP_NS);
	assert_int_equal(uroce_backoff_spare(&pace, now_ns, false), BUSY_NS / UROCE_VERBS_SLEEP_PART);
	now_ns = polled_for(now_ns, UROCE_VERBS_SPARED_NS);
	assert_int_equal(uroce_backoff_spare(&pace, now_ns, true), UROCE_VERBS_MAX_SLEEP_NS);
}

/* Only the time since the last wake-up counts as polled by the application. */
static void
test_spared(void **state)
{
	uroce_backoff_spare(&pace, START_NS + 10, false);
	uroce_backoff_spare(&pace, START_NS + 30, false);
	assert_int_equal(pace.spared_ns, 30);
	uroce_backoff_step(&pace, START_NS + 130, 0, false);	/* halves the polled time */
	uroce_backoff_spare(&pace, START_NS + 140, false);
	assert_int_equal(pace.spared_ns, 15 + 10);
}

/* The application has polled for exactly the minimum. */
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

/* Frames that the application missed once: the thread handles them, sleeps again, and yields the CPU in between. */
static void
test_missed(void **state)
{
	uint64_t now_ns = polled_for(START_NS, 2 * UROCE_VERBS_SPARED_NS);

	assert_true(uroce_backoff_asks(&pace, now_ns));
	assert_true(uroce_backoff_trusts(&pace));
	assert_int_equal(uroce_backoff_step(&pace, now_ns, 3, true), UROCE_VERBS_MIN_SLEEP_NS);
	assert_int_equal(uroce_backoff_spare(&pace, now_ns + 1, true), UROCE_VERBS_MAX_SLEEP_NS);
	/* while no other thread wants the CPU, the thread goes on polling */
	assert_int_equal(uroce_backoff_step(&pace, now_ns + 2, 3, false), 0);
	/* after many misses, the thread polls by itself again */
	for (unsigned int i = 0; i < 16; i++)
		uroce_backoff_step(&pace, ++now_ns, 3, true);
	assert_int_equal(uroce_backoff_step(&pace, now_ns, 3, true), 0);
	assert_false(uroce_backoff_asks(&pace, now_ns + BUSY_NS));
}

/* An application that alternates between polling and reading memory needs the thread each time: the trust ends soon,
 * and sleeps become as short as possible. */
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

/* The application has stopped polling, and no frame has arrived: it may wait for something else. */
static void
test_stopped(void **state)
{
	uint64_t now_ns = polled_for(START_NS, UROCE_VERBS_IDLE_NS);

	assert_int_equal(uroce_backoff_step(&pace, now_ns, 0, false), 0);
	assert_true(uroce_backoff_is_busy(&pace, now_ns + BUSY_NS - 1));
	assert_int_equal(uroce_backoff_step(&pace, now_ns + 1, 0, true), UROCE_VERBS_MIN_SLEEP_NS);
}

/* A CPU whose clock lags behind does not count as a long wait. */
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
