/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds an order of execution that explains the results of atomics. Operands are random 64-bit numbers, so no value
 * occurs twice, and each value leads to the next atomic. Only where a failed atomic may have been executed or not, the
 * order must be searched for.
 */

#include "atomics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GUARD	   UINT64_C(0xfeedc0dedeadbeef)
#define MOST_TRIES 20000 /* steps of a search: with many failed atomics it gives up */

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

/* Is result i the first of its QP that has not been placed? */
static bool
is_next_of_owner(const struct word *w, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (!w->results[j].placed && w->results[j].owner == w->results[i].owner)
			return false;
	return true;
}

static uint64_t
place(struct word *w, uint32_t i, uint64_t value)
{
	w->results[i].placed = true;
	w->order[w->ordered++] = i;
	return value_after(&w->results[i], value);
}

static void
take_back(struct word *w, uint32_t ordered)
{
	while (w->ordered > ordered)
		w->results[w->order[--w->ordered]].placed = false;
}

/* Place the results that returned `value`: first those that did not change the word, then the one that did. */
static bool
place_known(struct word *w, uint64_t *value)
{
	for (unsigned int changing = 0; changing < 2; changing++)
		for (uint32_t i = 0; i < w->count; i++) {
			const struct word_result *r = &w->results[i];

			if (r->placed || r->unknown || r->original != *value ||
			    (value_after(r, *value) != *value) != changing ||
			    !is_next_of_owner(w, i))
				continue;
			*value = place(w, i, *value);
			return true;
		}
	return false;
}

static uint32_t
known_left(const struct word *w)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < w->count; i++)
		left += !w->results[i].placed && !w->results[i].unknown;
	return left;
}

/* If no known result continues the order, a failed atomic was executed: try the next one of each QP. */
static bool
find_order(struct word *w, uint64_t value)
{
	while (place_known(w, &value))
		;
	if (known_left(w) == 0 && value == w->value)
		return true;
	for (uint32_t i = 0; i < w->count && w->tries > 0; i++) {
		uint32_t ordered = w->ordered;

		if (w->results[i].placed || !w->results[i].unknown || !is_next_of_owner(w, i))
			continue;
		w->tries--;
		if (find_order(w, place(w, i, value)))
			return true;
		take_back(w, ordered);
	}
	return false;
}

void
word_check(struct word *w)
{
	SIM_CHECK(w->guard_before == GUARD && w->guard_after == GUARD,
		  "an atomic has written beside its word");
	for (uint32_t i = 0; i < w->count; i++)
		w->results[i].placed = false;
	w->order = calloc(w->count + 1, sizeof(w->order[0]));
	SIM_CHECK(w->order != NULL, "out of memory");
	w->ordered = 0;
	w->tries = MOST_TRIES;
	SIM_CHECK(find_order(w, w->initial) || w->tries == 0,
		  "no order of %u atomics leads from 0x%016" PRIx64 " to 0x%016" PRIx64, w->count,
		  w->initial, w->value);
	free(w->order);
	w->order = NULL;
}
