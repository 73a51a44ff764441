/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Measures a worker's round while many timers are pending, and the cost to re-arm a timer, to expire it, and to move a
 * re-armed one in the wheel. The wheel's time is virtual, so a timeout of half a second passes at once.
 */

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "scale.h"
#include "base/timer_wheel.h"

#define TIMEOUT_NS (4096ull << 17) /* 537 ms (R36) */
#define ROUNDS_NS  1000 /* a round of a busy worker */

struct fired {
	struct uroce_wheel *wheel;
	uint64_t count;
	uint64_t again_ns; /* re-arm an expired timer for this long from now; 0: no */
	uint64_t now_ns;
};

static void
fire(struct uroce_timer *t, void *arg)
{
	struct fired *f = arg;

	f->count++;
	if (f->again_ns != 0)
		uroce_wheel_arm(f->wheel, t, f->now_ns + f->again_ns);
}

/* Advance the wheel. @return ns of one round */
static double
turn(struct fired *f, uint64_t for_ns, uint64_t step_ns)
{
	const uint64_t end_ns = f->now_ns + for_ns;
	double start = scale_now();

	while (f->now_ns < end_ns) {
		f->now_ns += step_ns;
		uroce_wheel_expire(f->wheel, f->now_ns, fire, f);
	}
	return (scale_now() - start) / ((double)for_ns / (double)step_ns);
}

/* Arm timers with deadlines spread over the length of a timeout. */
static double
arm_all(struct fired *f, struct uroce_timer *timers, const uint32_t *order, uint32_t n)
{
	double start = scale_now();

	for (uint32_t i = 0; i < n; i++)
		uroce_wheel_arm(f->wheel, &timers[order[i]],
				f->now_ns + TIMEOUT_NS + (uint64_t)i * TIMEOUT_NS / n);
	return (scale_now() - start) / n;
}

static void
measure(struct scale_report *report, uint32_t n)
{
	struct uroce_timer *timers = calloc(RTE_MAX(n, 1u), sizeof(*timers));
	struct uroce_wheel *wheel = malloc(sizeof(*wheel));
	struct fired f = { .wheel = wheel, .now_ns = 1000000000 };
	uint32_t *order = scale_shuffle(RTE_MAX(n, 1u));
	double arm_ns, move_ns, idle_ns, looked_ns, expire_ns;
	struct scale_row *row;

	scale_check(timers != NULL && wheel != NULL, "memory");
	uroce_wheel_init(wheel, f.now_ns);
	arm_ns = n == 0 ? 0 : arm_all(&f, timers, order, n);
	/* rounds in which no timer is due: time hardly advances */
	idle_ns = turn(&f, 0x100000, 1);
	/* progress, as in each round of busy queue pairs: a store */
	move_ns = n == 0 ? 0 : arm_all(&f, timers, order, n);
	/* all timers are re-armed before they are due: the wheel moves each once */
	for (uint64_t half = 0; n != 0 && half < 2; half++) {
		arm_all(&f, timers, order, n);
		looked_ns = turn(&f, TIMEOUT_NS / 2, ROUNDS_NS);
	}
	if (n == 0)
		looked_ns = turn(&f, TIMEOUT_NS, ROUNDS_NS);
	scale_check(f.count == 0, "no timer is due");
	/* all timers expire, and are armed again */
	f.again_ns = 2 * TIMEOUT_NS;
	expire_ns = turn(&f, 2 * TIMEOUT_NS, ROUNDS_NS);
	scale_check(f.count == n, "every timer expires once");

	row = scale_row_add(report, "timers");
	scale_row_set(row, "timers", n);
	scale_row_set(row, "arm_ns", arm_ns);
	scale_row_set(row, "move_ns", move_ns);
	scale_row_set(row, "round_ns", idle_ns);
	scale_row_set(row, "round_moved_ns", looked_ns);
	scale_row_set(row, "round_expiring_ns", expire_ns);
	scale_row_set(row, "timer_bytes", sizeof(struct uroce_timer));
	scale_row_set(row, "wheel_bytes", sizeof(struct uroce_wheel));
	free(order);
	free(wheel);
	free(timers);
}

void
scale_timers(const struct scale_options *o, struct scale_report *report)
{
	for (unsigned int i = 0; i < o->timers.count; i++)
		measure(report, o->timers.n[i]);
}
