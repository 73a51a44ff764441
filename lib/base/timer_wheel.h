/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A hierarchical timer wheel, driven by the `now` it is given. Re-arming a timer for later is a store: the
 * wheel looks at it when its old slot comes round, and moves it. One thread at a time.
 */

#ifndef UROCE_BASE_TIMER_WHEEL_H
#define UROCE_BASE_TIMER_WHEEL_H

#include <stdint.h>
#include <sys/queue.h>

#define UROCE_WHEEL_LOG2_SLOTS 8
#define UROCE_WHEEL_SLOTS (1 << UROCE_WHEEL_LOG2_SLOTS)
#define UROCE_WHEEL_LEVELS 5		/* 2^40 ticks of 4.096 us: 52 days */

/* A timer: a doubly linked entry of a wheel. */
struct uroce_timer {
	LIST_ENTRY(uroce_timer) link;
	uint64_t deadline_ns;		/* 0: not armed. May be later than the wheel's slot */
	uint64_t slot_ns;		/* when the wheel will look at it; 0: not in the wheel */
};

LIST_HEAD(uroce_timer_list, uroce_timer);

struct uroce_wheel {
	uint64_t tick;			/* all before it has been expired */
	uint64_t occupied[UROCE_WHEEL_LEVELS][UROCE_WHEEL_SLOTS / 64];
	struct uroce_timer_list slots[UROCE_WHEEL_LEVELS][UROCE_WHEEL_SLOTS];
};

void uroce_wheel_init(struct uroce_wheel *w, uint64_t now_ns);
/** Arm, or move: fires at the first uroce_wheel_expire() whose `now` has reached deadline_ns (> 0),
 * rounded up to a whole tick: never early, and late by less than UROCE_TICK_NS. */
void uroce_wheel_arm(struct uroce_wheel *w, struct uroce_timer *t, uint64_t deadline_ns);
void uroce_wheel_disarm(struct uroce_timer *t);
/** Take the timer out of the wheel altogether, before it is freed. */
void uroce_wheel_remove(struct uroce_wheel *w, struct uroce_timer *t);
/** Call fire for every timer that is due, in no particular order; it is out of the wheel then and may
 * be armed again, or freed, in fire; other timers may be armed and removed there, too. What fire arms
 * for the past fires in this call or the next. */
void uroce_wheel_expire(struct uroce_wheel *w, uint64_t now_ns,
			void (*fire)(struct uroce_timer *t, void *arg), void *arg);
/** When uroce_wheel_expire() has something to look at next: a lower bound of the next deadline, rounded
 * up to a tick; beyond the last `now` unless a timer was armed for the past since. UINT64_MAX when no
 * timer is in the wheel. */
uint64_t uroce_wheel_next(const struct uroce_wheel *w);

#endif /* UROCE_BASE_TIMER_WHEEL_H */
