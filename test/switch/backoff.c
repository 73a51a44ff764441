/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * When the switch polls, yields and waits.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <uroce_config.h>

#include "backoff.h"
#include "groups.h"

#define START 5000000000ull

static struct switch_backoff p;

static void
expect(bool moved, uint64_t now_ns, enum switch_step step)
{
	assert_int_equal(uroce_switch_backoff(&p, moved, now_ns), step);
}

/* Without frames, the switch polls, then yields. Before it waits, it asks clients to wake it, and polls once more.
 * Waits get longer. */
static void
test_alone(void **state)
{
	uint64_t now_ns = START + 3000 + UROCE_SWITCH_YIELD_NS;

	p = (struct switch_backoff){ 0 };
	expect(true, START, SWITCH_POLL);
	expect(false, START + 1000, SWITCH_YIELD);
	expect(false, START + 2000, SWITCH_YIELD);
	expect(true, START + 3000, SWITCH_POLL);
	expect(false, now_ns - 1, SWITCH_YIELD);
	expect(false, now_ns, SWITCH_ASK);
	expect(false, now_ns + 1, SWITCH_WAIT);
	assert_int_equal(p.wait_ns, UROCE_SWITCH_WAKE_NS);
	now_ns += UROCE_SWITCH_WAKE_NS;
	expect(false, now_ns, SWITCH_WAIT);
	assert_int_equal(p.wait_ns, UROCE_SWITCH_WAIT_NS);
	expect(true, now_ns + 1, SWITCH_THANK);
	expect(true, now_ns + 2, SWITCH_POLL);
	expect(false, now_ns + 3, SWITCH_YIELD);
}

/* Other threads used the CPU for long: the switch waits at once for a while, and later checks whether the CPU is
 * still crowded. */
static void
test_crowd(void **state)
{
	uint64_t now_ns = START;

	p = (struct switch_backoff){ 0 };
	expect(true, now_ns, SWITCH_POLL);
	expect(false, now_ns, SWITCH_YIELD);
	now_ns += UROCE_SWITCH_CROWDED_NS;
	expect(true, now_ns, SWITCH_POLL);
	expect(false, now_ns, SWITCH_ASK);
	expect(false, now_ns, SWITCH_WAIT);
	now_ns += UROCE_SWITCH_CROWD_NS;
	expect(true, now_ns, SWITCH_THANK);
	expect(false, now_ns, SWITCH_YIELD);
	expect(false, now_ns + UROCE_SWITCH_CROWDED_NS - 1, SWITCH_YIELD);
}

/* Frames took the time, not other threads. */
static void
test_no_crowd(void **state)
{
	p = (struct switch_backoff){ 0 };
	expect(true, START, SWITCH_POLL);
	expect(true, START + UROCE_SWITCH_CROWDED_NS, SWITCH_POLL);
	expect(false, START + UROCE_SWITCH_CROWDED_NS, SWITCH_YIELD);
}

static void
test_busy(void **state)
{
	p = (struct switch_backoff){ .busy = true };
	expect(true, START, SWITCH_POLL);
	expect(false, START + 1, SWITCH_POLL);
	expect(false, START + 10 * UROCE_SWITCH_IDLE_NS, SWITCH_POLL);
}

/* Ethdevs cannot wake the switch: it polls often. */
static void
test_ethdevs(void **state)
{
	p = (struct switch_backoff){ .ethdevs = true };
	expect(true, START, SWITCH_POLL);
	expect(false, START + UROCE_SWITCH_YIELD_NS, SWITCH_ASK);
	expect(false, START + UROCE_SWITCH_YIELD_NS, SWITCH_WAIT);
	assert_int_equal(p.wait_ns, UROCE_SWITCH_NAP_NS);
	expect(false, START + UROCE_SWITCH_IDLE_NS, SWITCH_WAIT);
	assert_int_equal(p.wait_ns, UROCE_SWITCH_SLEEP_NS);
}

UROCE_TESTS(switch_backoff)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_no_crowd),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_ethdevs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
