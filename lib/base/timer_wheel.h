/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A hierarchical timer wheel, driven by the `now` that its owner passes in. Re-arming a timer for later is a store:
 * the wheel moves the timer when its old slot expires. One thread at a time.
 */

#ifndef UROCE_BASE_TIMER_WHEEL_H
#define UROCE_BASE_TIMER_WHEEL_H

#include <stdint.h>
#include <sys/queue.h>

#define UROCE_WHEEL_LOG2_SLOTS 8
#define UROCE_WHEEL_SLOTS (1 << UROCE_WHEEL_LOG2_SLOTS)
#define UROCE_WHEEL_LEVELS 5		/* 2^40 ticks of 4.096 us: 52 days */

struct uroce_timer {
	LIST_ENTRY(uroce_timer) link;
	uint64_t deadline_ns;		/* 0: not armed. May be later than slot_ns */
	uint64_t slot_ns;		/* time of its slot; 0: not in the wheel */
};

LIST_HEAD(uroce_timer_list, uroce_timer);

struct uroce_wheel {
	uint64_t tick;			/* all earlier ticks have expired */
	uint64_t occupied[UROCE_WHEEL_LEVELS][UROCE_WHEEL_SLOTS / 64];
	struct uroce_timer_list slots[UROCE_WHEEL_LEVELS][UROCE_WHEEL_SLOTS];
};

void uroce_wheel_init(struct uroce_wheel *w, uint64_t now_ns);
/** Arm or re-arm a timer. It fires in the first uroce_wheel_expire() whose `now` has reached deadline_ns (> 0), rounded
 * up to a whole tick: never early, and late by less than UROCE_TICK_NS. */
void uroce_wheel_arm(struct uroce_wheel *w, struct uroce_timer *t, uint64_t deadline_ns);
void uroce_wheel_disarm(struct uroce_timer *t);
/** Take the timer out of the wheel, so that it can be freed. */
void uroce_wheel_remove(struct uroce_wheel *w, struct uroce_timer *t);
/** Call fire for each timer that is due, in no particular order. The timer has left the wheel by then: fire may arm it
 * again or free it, and may arm or remove other timers. A timer that fire arms for the past fires in this call or the
 * next. */
void uroce_wheel_expire(struct uroce_wheel *w, uint64_t now_ns,
			void (*fire)(struct uroce_timer *t, void *arg), void *arg);
/** @return when to call uroce_wheel_expire() next: a lower bound of the next deadline, rounded up to a tick. This is
 * later than the last `now`, unless a timer was armed for the past since then. UINT64_MAX: no timer is in the wheel */
uint64_t uroce_wheel_next(const struct uroce_wheel *w);

#endif /* UROCE_BASE_TIMER_WHEEL_H */
