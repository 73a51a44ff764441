/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Compares the timer wheel with a model, a list of deadlines: random arms, disarms, removals and time steps from a
 * printed seed (UROCE_TEST_SEED=n repeats one), and the edge cases one by one.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <rte_common.h>

#include "base/timer_wheel.h"
#include "groups.h"
#include "uroce_config.h"

#define TIMERS 64
#define STEPS 20000
#define SPAN_NS ((UINT64_C(1) << (UROCE_WHEEL_LEVELS * UROCE_WHEEL_LOG2_SLOTS)) * UROCE_TICK_NS)

struct bed {
	struct uroce_wheel wheel;
	uint64_t now_ns;
	uint64_t random;
	struct uroce_timer timers[TIMERS];
	/* the model */
	uint64_t deadline_ns[TIMERS];	/* 0: not armed */
	bool armed_in_fire[TIMERS];
	unsigned int fired[TIMERS];
	bool meddle;			/* a firing timer arms and removes others */
};

static uint64_t
draw(struct bed *b)
{
	b->random ^= b->random << 13;
	b->random ^= b->random >> 7;
	b->random ^= b->random << 17;
	return b->random;
}

/* Delays of each order of magnitude, so that each level is used. */
static uint64_t
draw_delay(struct bed *b)
{
	return draw(b) & ((UINT64_C(1) << (1 + draw(b) % 54)) - 1);
}

static bool
is_due(uint64_t deadline_ns, uint64_t now_ns)
{
	return deadline_ns != 0 &&
	       (deadline_ns - 1) / UROCE_TICK_NS + 1 <= now_ns / UROCE_TICK_NS;
}

static void
bed_init(struct bed *b, uint64_t now_ns)
{
	memset(b, 0, sizeof(*b));
	b->now_ns = now_ns;
	b->random = 1;
	uroce_wheel_init(&b->wheel, now_ns);
}

static void
arm(struct bed *b, unsigned int i, uint64_t deadline_ns)
{
	uroce_wheel_arm(&b->wheel, &b->timers[i], deadline_ns);
	b->deadline_ns[i] = deadline_ns;
}

static void
take_out(struct bed *b, unsigned int i)
{
	uroce_wheel_remove(&b->wheel, &b->timers[i]);
	b->deadline_ns[i] = 0;
	memset(&b->timers[i].link, 0xee, sizeof(b->timers[i].link));	/* poison, as freed memory might be */
}

static uint64_t
draw_deadline(struct bed *b)
{
	uint64_t delay = draw_delay(b);

	if (draw(b) % 8 == 0)
		return b->now_ns > delay ? b->now_ns - delay : 1;	/* in the past */
	return RTE_MAX(b->now_ns + delay, UINT64_C(1));
}

static void
on_fire(struct uroce_timer *t, void *arg)
{
	struct bed *b = arg;
	unsigned int i = (unsigned int)(t - b->timers), other;

	assert_true(is_due(b->deadline_ns[i], b->now_ns));
	b->deadline_ns[i] = 0;
	b->fired[i]++;
	if (!b->meddle)
		return;
	other = draw(b) % 2 == 0 ? i : (unsigned int)(draw(b) % TIMERS);
	switch (draw(b) % 4) {
	case 0:
	case 1:
		arm(b, other, draw_deadline(b));
		b->armed_in_fire[other] = true;
		break;
	case 2:
		take_out(b, other);
		break;
	default:
		break;
	}
}

/* Expire, then compare: timers due in the model have fired, and the next deadline is not later than that of any
 * other. */
static void
expire(struct bed *b)
{
	uint64_t earliest = UINT64_MAX;

	memset(b->armed_in_fire, 0, sizeof(b->armed_in_fire));
	uroce_wheel_expire(&b->wheel, b->now_ns, on_fire, b);
	for (unsigned int i = 0; i < TIMERS; i++) {
		uint64_t deadline_ns = b->deadline_ns[i];

		if (deadline_ns == 0)
			continue;
		assert_true(!is_due(deadline_ns, b->now_ns) || b->armed_in_fire[i]);
		earliest = RTE_MIN(earliest, deadline_ns);
	}
	if (earliest != UINT64_MAX)
		assert_true(uroce_wheel_next(&b->wheel) < RTE_MAX(earliest, b->now_ns) + UROCE_TICK_NS);
}

static void
step(struct bed *b)
{
	unsigned int i = (unsigned int)(draw(b) % TIMERS);

	switch (draw(b) % 8) {
	case 0:
		uroce_wheel_disarm(&b->timers[i]);
		b->deadline_ns[i] = 0;
		break;
	case 1:
		take_out(b, i);
		break;
	case 2:
		b->now_ns += draw_delay(b) >> (draw(b) % 16);
		expire(b);
		break;
	case 3:	/* to the wheel's next deadline, as a sleeping driver would */
		if (uroce_wheel_next(&b->wheel) != UINT64_MAX)
			b->now_ns = RTE_MAX(b->now_ns, uroce_wheel_next(&b->wheel));
		expire(b);
		break;
	default:
		arm(b, i, draw_deadline(b));
		break;
	}
}

static void
test_random(void **state)
{
	const char *given = getenv("UROCE_TEST_SEED");
	uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	static struct bed b;

	(void)state;
	for (unsigned int run = 0; run < 8; run++, seed++) {
		printf("seed %ju\n", (uintmax_t)seed);
		bed_init(&b, seed % 3 == 0 ? 0 : seed * 1000003);
		b.random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
		b.meddle = run % 2 == 1;
		for (unsigned int i = 0; i < STEPS; i++)
			step(&b);
		for (unsigned int i = 0; i < TIMERS; i++)
			take_out(&b, i);
		assert_true(uroce_wheel_next(&b.wheel) == UINT64_MAX);
	}
}

static void
test_rounds_up(void **state)
{
	static struct bed b;

	(void)state;
	for (unsigned int early_ns = 0; early_ns < 2; early_ns++) {
		bed_init(&b, 10);
		arm(&b, 0, 3 * UROCE_TICK_NS - early_ns);
		assert_int_equal(uroce_wheel_next(&b.wheel), 3 * UROCE_TICK_NS);
		b.now_ns = 3 * UROCE_TICK_NS - 1;
		expire(&b);
		assert_int_equal(b.fired[0], 0);
		b.now_ns++;
		expire(&b);
		assert_int_equal(b.fired[0], 1);
		assert_true(uroce_wheel_next(&b.wheel) == UINT64_MAX);
	}
}

static void
test_past_fires_next(void **state)
{
	static struct bed b;

	(void)state;
	bed_init(&b, 1000 * UROCE_TICK_NS + 5);
	arm(&b, 0, 1);
	arm(&b, 1, b.now_ns);	/* a deadline now fires when its tick has passed */
	expire(&b);
	assert_int_equal(b.fired[0], 1);
	assert_int_equal(b.fired[1], 0);
	b.now_ns += UROCE_TICK_NS;
	expire(&b);
	assert_int_equal(b.fired[1], 1);
}

/* Re-arming to a later deadline leaves the timer in its slot; the wheel moves it when it reaches the slot. */
static void
test_lazy(void **state)
{
	static struct bed b;
	uint64_t slot_ns;

	(void)state;
	bed_init(&b, 0);
	arm(&b, 0, 100 * UROCE_TICK_NS);
	slot_ns = b.timers[0].slot_ns;
	arm(&b, 0, 5000 * UROCE_TICK_NS);
	assert_int_equal(b.timers[0].slot_ns, slot_ns);
	b.now_ns = slot_ns;
	expire(&b);
	assert_int_equal(b.fired[0], 0);
	assert_int_equal(b.timers[0].slot_ns, 5000 * UROCE_TICK_NS);
	arm(&b, 0, 200 * UROCE_TICK_NS);
	assert_int_equal(b.timers[0].slot_ns, 200 * UROCE_TICK_NS);
	b.now_ns = 200 * UROCE_TICK_NS;
	expire(&b);
	assert_int_equal(b.fired[0], 1);
}

/* A disarmed timer leaves no trace once its slot has passed. */
static void
test_disarm(void **state)
{
	static struct bed b;

	(void)state;
	bed_init(&b, 0);
	arm(&b, 0, 70000 * UROCE_TICK_NS);
	uroce_wheel_disarm(&b.timers[0]);
	b.deadline_ns[0] = 0;
	b.now_ns = 80000 * UROCE_TICK_NS;
	expire(&b);
	assert_int_equal(b.fired[0], 0);
	assert_int_equal(b.timers[0].slot_ns, 0);
	assert_true(uroce_wheel_next(&b.wheel) == UINT64_MAX);
}

/* A deadline beyond the wheel's span is sorted in again as often as necessary. */
static void
test_beyond_span(void **state)
{
	static struct bed b;
	unsigned int looks = 0;

	(void)state;
	bed_init(&b, 12345678);
	arm(&b, 0, 3 * SPAN_NS + SPAN_NS / 3);
	arm(&b, 1, UINT64_MAX);
	while (b.fired[0] == 0) {
		assert_true(looks++ < 100);
		b.now_ns = RTE_MAX(b.now_ns + UROCE_TICK_NS, uroce_wheel_next(&b.wheel));
		expire(&b);
	}
	assert_true(b.now_ns >= 3 * SPAN_NS + SPAN_NS / 3);
	assert_true(b.now_ns < 3 * SPAN_NS + SPAN_NS / 3 + UROCE_TICK_NS);
	b.now_ns = UINT64_MAX - 1;
	expire(&b);
	assert_int_equal(b.fired[1], 0);
	take_out(&b, 1);
	assert_true(uroce_wheel_next(&b.wheel) == UINT64_MAX);
}

/* Deadlines at each boundary of each level are exact to the tick, from just before and just after. */
static void
test_boundaries(void **state)
{
	static struct bed b;

	(void)state;
	for (unsigned int bit = 1; bit < UROCE_WHEEL_LEVELS * UROCE_WHEEL_LOG2_SLOTS + 2; bit++)
		for (int64_t from = -2; from <= 2; from++)
			for (int64_t to = RTE_MAX(from + 1, -1); to <= 3; to++) {
				uint64_t base = UINT64_C(4) << bit;
				uint64_t deadline_ns = (base + (uint64_t)to) * UROCE_TICK_NS;

				bed_init(&b, (base + (uint64_t)from) * UROCE_TICK_NS);
				arm(&b, 0, deadline_ns);
				b.now_ns = deadline_ns - 1;
				expire(&b);
				assert_int_equal(b.fired[0], 0);
				b.now_ns = deadline_ns;
				expire(&b);
				assert_int_equal(b.fired[0], 1);
			}
}

UROCE_TESTS(timer_wheel)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounds_up),
		cmocka_unit_test(test_past_fires_next),
		cmocka_unit_test(test_lazy),
		cmocka_unit_test(test_disarm),
		cmocka_unit_test(test_beyond_span),
		cmocka_unit_test(test_boundaries),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
