/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Operands are random 64-bit numbers, so no value comes twice and the order can be followed from
 * each value to the next.
 */

#include "atomics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GUARD UINT64_C(0xfeedc0dedeadbeef)

void
word_init(struct word *w, struct sim_random *r)
{
	memset(w, 0, sizeof(*w));
	w->guard_before = w->guard_after = GUARD;
	w->initial = w->guess = random_draw(r);
	w->value = w->initial;
}

void
word_fini(struct word *w)
{
	free(w->results);
	w->results = NULL;
}

void
word_note(struct word *w, const struct word_result *result)
{
	if (w->count == w->room) {
		w->room = w->room * 2 + 16;
		w->results = realloc(w->results, w->room * sizeof(w->results[0]));
		SIM_CHECK(w->results != NULL, "out of memory");
	}
	w->results[w->count++] = *result;
	if (result->unknown)
		return;
	if (result->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		w->guess = result->original + result->compare_add;
	else if (result->original == result->compare_add)
		w->guess = result->swap;
	else
		w->guess = result->original;
}

static uint64_t
value_after(const struct word_result *r, uint64_t value)
{
	if (r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return value + r->compare_add;
	return value == r->compare_add ? r->swap : value;
}

/* Is the i-th the next of its QP's that has not been placed? */
static bool
is_next_of_owner(const struct word *w, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (!w->results[j].placed && w->results[j].owner == w->results[i].owner)
			return false;
	return true;
}

/* Place what found `value` there: first all that left it alone, then the one that did not. */
static bool
place_known(struct word *w, uint64_t *value, uint32_t *left)
{
	for (unsigned int changing = 0; changing < 2; changing++)
		for (uint32_t i = 0; i < w->count; i++) {
			struct word_result *r = &w->results[i];

			if (r->placed || r->unknown || r->original != *value ||
			    !is_next_of_owner(w, i) ||
			    (value_after(r, *value) != *value) != changing)
				continue;
			r->placed = true;
			*value = value_after(r, *value);
			(*left)--;
			return true;
		}
	return false;
}

/* Nothing known goes on from `value`: then one that failed must have been executed here. Only the
 * next of a QP can be; with more than one QP the first that leads on is taken. */
static bool
place_unknown(struct word *w, uint64_t *value)
{
	for (uint32_t i = 0; i < w->count; i++) {
		struct word_result *r = &w->results[i];

		if (r->placed || !r->unknown || !is_next_of_owner(w, i))
			continue;
		r->placed = true;
		*value = value_after(r, *value);
		return true;
	}
	return false;
}

void
word_check(struct word *w)
{
	uint64_t value = w->initial;
	uint32_t left = 0;

	SIM_CHECK(w->guard_before == GUARD && w->guard_after == GUARD,
		  "an atomic has written beside its word");
	for (uint32_t i = 0; i < w->count; i++) {
		w->results[i].placed = false;
		left += !w->results[i].unknown;
	}
	for (;;) {
		if (place_known(w, &value, &left))
			continue;
		if (left == 0 && value == w->value)
			return;
		if (!place_unknown(w, &value))
			break;
	}
	sim_fail("no order of %u atomics leads from 0x%016" PRIx64 " to 0x%016" PRIx64
		 ": %u are left at 0x%016" PRIx64,
		 w->count, w->initial, w->value, left, value);
}
