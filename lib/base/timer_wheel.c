/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The timer wheel of an engine. A timer's level is the highest byte in which its tick differs from the wheel's tick.
 * On this level its slot is ahead of the wheel's slot, and all timers of a lower level fire earlier. The engine's
 * thread.
 */

#include "base/timer_wheel.h"

#include <string.h>

#include <rte_common.h>
#include <rte_debug.h>

#include "uroce_config.h"

#define SLOT_MASK (UROCE_WHEEL_SLOTS - 1)
#define SPAN_BITS (UROCE_WHEEL_LEVELS * UROCE_WHEEL_LOG2_SLOTS)
#define SPAN_MASK ((UINT64_C(1) << SPAN_BITS) - 1)

static uint64_t
tick_of_deadline(uint64_t deadline_ns)
{
	return deadline_ns / UROCE_TICK_NS + (deadline_ns % UROCE_TICK_NS != 0);
}

static unsigned int
level_of(const struct uroce_wheel *w, uint64_t tick)
{
	uint64_t differ = (tick ^ w->tick) & SPAN_MASK;

	return differ == 0 ? 0 : (63 - (unsigned int)__builtin_clzll(differ)) / UROCE_WHEEL_LOG2_SLOTS;
}

static unsigned int
slot_of(uint64_t tick, unsigned int level)
{
	return (tick >> (level * UROCE_WHEEL_LOG2_SLOTS)) & SLOT_MASK;
}

static void
place(struct uroce_wheel *w, struct uroce_timer *t)
{
	uint64_t tick = RTE_MAX(tick_of_deadline(t->deadline_ns), w->tick);
	unsigned int level, slot;

	if ((tick ^ w->tick) > SPAN_MASK)
		tick = w->tick | SPAN_MASK;	/* beyond the wheel: placed again when the span ends */
	level = level_of(w, tick);
	slot = slot_of(tick, level);
	t->slot_ns = tick * UROCE_TICK_NS;
	LIST_INSERT_HEAD(&w->slots[level][slot], t, link);
	w->occupied[level][slot / 64] |= UINT64_C(1) << (slot % 64);
}

static void
unlink_timer(struct uroce_wheel *w, struct uroce_timer *t)
{
	uint64_t tick = t->slot_ns / UROCE_TICK_NS;
	unsigned int level = level_of(w, tick);
	unsigned int slot = slot_of(tick, level);

	LIST_REMOVE(t, link);
	t->slot_ns = 0;
	/* An expire may have taken the timer out of this slot: the slot may hold other timers now. */
	if (LIST_EMPTY(&w->slots[level][slot]))
		w->occupied[level][slot / 64] &= ~(UINT64_C(1) << (slot % 64));
}

/* The first occupied slot of the level in from .. UROCE_WHEEL_SLOTS - 1, or UROCE_WHEEL_SLOTS. */
static unsigned int
next_occupied(const struct uroce_wheel *w, unsigned int level, unsigned int from)
{
	const uint64_t *words = w->occupied[level];
	uint64_t bits;

	if (from >= UROCE_WHEEL_SLOTS)
		return UROCE_WHEEL_SLOTS;
	bits = words[from / 64] & (~UINT64_C(0) << (from % 64));
	for (unsigned int i = from / 64;;) {
		if (bits != 0)
			return i * 64 + (unsigned int)__builtin_ctzll(bits);
		if (++i == UROCE_WHEEL_SLOTS / 64)
			return UROCE_WHEEL_SLOTS;
		bits = words[i];
	}
}

/* Move the slots from .. to of a level to the front of `taken`. */
static void
take_slots(struct uroce_wheel *w, unsigned int level, unsigned int from, unsigned int to,
	   struct uroce_timer_list *taken)
{
	struct uroce_timer *t;

	for (unsigned int s = next_occupied(w, level, from); s <= to; s = next_occupied(w, level, s + 1)) {
		if (s == UROCE_WHEEL_SLOTS)
			return;
		while ((t = LIST_FIRST(&w->slots[level][s])) != NULL) {
			LIST_REMOVE(t, link);
			LIST_INSERT_HEAD(taken, t, link);
		}
		w->occupied[level][s / 64] &= ~(UINT64_C(1) << (s % 64));
	}
}

void
uroce_wheel_init(struct uroce_wheel *w, uint64_t now_ns)
{
	memset(w->occupied, 0, sizeof(w->occupied));
	for (unsigned int level = 0; level < UROCE_WHEEL_LEVELS; level++)
		for (unsigned int slot = 0; slot < UROCE_WHEEL_SLOTS; slot++)
			LIST_INIT(&w->slots[level][slot]);
	w->tick = now_ns / UROCE_TICK_NS;
}

void
uroce_wheel_arm(struct uroce_wheel *w, struct uroce_timer *t, uint64_t deadline_ns)
{
	RTE_ASSERT(deadline_ns > 0);
	t->deadline_ns = deadline_ns;
	if (t->slot_ns != 0) {
		if (t->slot_ns <= deadline_ns)
			return;
		unlink_timer(w, t);
	}
	place(w, t);
}

void
uroce_wheel_disarm(struct uroce_timer *t)
{
	t->deadline_ns = 0;
}

void
uroce_wheel_remove(struct uroce_wheel *w, struct uroce_timer *t)
{
	t->deadline_ns = 0;
	if (t->slot_ns != 0)
		unlink_timer(w, t);
}

void
uroce_wheel_expire(struct uroce_wheel *w, uint64_t now_ns,
		   void (*fire)(struct uroce_timer *t, void *arg), void *arg)
{
	uint64_t old = w->tick, tick = now_ns / UROCE_TICK_NS;
	struct uroce_timer_list taken = LIST_HEAD_INITIALIZER(taken);
	struct uroce_timer *t;

	if (tick < old)
		return;
	/* fast path: most calls come within one tick */
	if (tick == old && (w->occupied[0][slot_of(tick, 0) / 64] >> (slot_of(tick, 0) % 64) & 1) == 0)
		return;
	/* Empty all slots that the wheel passes, then move the wheel: a timer that `fire` arms is placed relative to
	 * `now`. */
	for (unsigned int level = 0; level < UROCE_WHEEL_LEVELS; level++) {
		unsigned int shift = level * UROCE_WHEEL_LOG2_SLOTS;
		bool round = (old ^ tick) >> shift > SLOT_MASK;

		if (level > 0 && old >> shift == tick >> shift)
			break;
		take_slots(w, level, slot_of(old, level),
			   round ? SLOT_MASK : slot_of(tick, level), &taken);
	}
	w->tick = tick;

	while ((t = LIST_FIRST(&taken)) != NULL) {
		LIST_REMOVE(t, link);
		t->slot_ns = 0;
		if (t->deadline_ns == 0)
			continue;
		if (tick_of_deadline(t->deadline_ns) > tick) {
			place(w, t);
			continue;
		}
		t->deadline_ns = 0;
		fire(t, arg);
	}
}

uint64_t
uroce_wheel_next(const struct uroce_wheel *w)
{
	for (unsigned int level = 0; level < UROCE_WHEEL_LEVELS; level++) {
		unsigned int shift = level * UROCE_WHEEL_LOG2_SLOTS;
		unsigned int slot = next_occupied(w, level, slot_of(w->tick, level));

		if (slot < UROCE_WHEEL_SLOTS)
			return (((w->tick >> shift & ~(uint64_t)SLOT_MASK) | slot) << shift) * UROCE_TICK_NS;
	}
	return UINT64_MAX;
}
