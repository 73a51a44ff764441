/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Lists of ranges of numbers: those that are kept, and those that were done.
 */

#include "keep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const keep_names[KEEP_COUNT] = {
	[KEEP_ACTIONS] = "actions",
	[KEEP_HARM] = "harm",
	[KEEP_RECONNECTS] = "reconnects",
	[KEEP_SCENARIOS] = "scenarios",
};

struct range {
	uint64_t first;
	uint64_t last;
};

/* Ranges in ascending order, with a gap between any two. */
struct ranges {
	struct range *of;
	uint32_t count;
	uint32_t room;
};

static struct ranges kept[KEEP_COUNT], done[KEEP_COUNT];
static bool limited[KEEP_COUNT];

static void
append(struct ranges *r, uint64_t first, uint64_t last)
{
	if (r->count > 0 && r->of[r->count - 1].last + 1 >= first) {
		if (last > r->of[r->count - 1].last)
			r->of[r->count - 1].last = last;
		return;
	}
	if (r->count == r->room) {
		r->room = r->room * 2 + 64;
		r->of = realloc(r->of, r->room * sizeof(r->of[0]));
		SIM_CHECK(r->of != NULL, "out of memory");
	}
	r->of[r->count++] = (struct range){ first, last };
}

/* @return index of the first range that does not end before the number, or count */
static uint32_t
find(const struct ranges *r, uint64_t number)
{
	uint32_t low = 0, high = r->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (r->of[middle].last < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void
keep_reset(void)
{
	for (unsigned int i = 0; i < KEEP_COUNT; i++)
		done[i].count = 0;
}

/* @return the text behind the number; NULL: not a number */
static const char *
parse_number(const char *text, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	*number = strtoull(text, &end, 10);
	return end;
}

bool
keep_parse(enum keep_what what, const char *list)
{
	uint64_t first, last, least = 0;

	limited[what] = true;
	kept[what].count = 0;
	if (strcmp(list, "none") == 0)
		return true;
	for (;; list++) {
		list = parse_number(list, &first);
		last = first;
		if (list != NULL && *list == '-')
			list = parse_number(list + 1, &last);
		if (list == NULL || first < least || last < first)
			return false;
		append(&kept[what], first, last);
		least = last + 1;
		if (*list != ',')
			return *list == '\0';
	}
}

bool
keep_has(enum keep_what what, uint64_t number)
{
	uint32_t i = find(&kept[what], number);

	return !limited[what] || (i < kept[what].count && kept[what].of[i].first <= number);
}

bool
keep_do(enum keep_what what, uint64_t number)
{
	if (!keep_has(what, number))
		return false;
	append(&done[what], number, number);
	return true;
}

bool
keep_more(enum keep_what what, uint64_t from, uint64_t below)
{
	uint32_t i = find(&kept[what], from);

	return !limited[what] || (i < kept[what].count && kept[what].of[i].first < below);
}

static void
print_list(const char *name, const struct ranges *r)
{
	printf("did: %s %s", name, r->count == 0 ? "none" : "");
	for (uint32_t i = 0; i < r->count; i++) {
		printf("%s%" PRIu64, i > 0 ? "," : "", r->of[i].first);
		if (r->of[i].last != r->of[i].first)
			printf("-%" PRIu64, r->of[i].last);
	}
	printf("\n");
}

void
keep_print(void)
{
	for (unsigned int what = 0; what < KEEP_COUNT; what++)
		print_list(keep_names[what], &done[what]);
}

void
keep_draw_anew(struct sim_random *r, uint64_t seed, uint64_t stream, uint64_t number)
{
	random_init(r, seed, stream);
	/* far from the beginning of any stream */
	r->state ^= (number + 1) * UINT64_C(0x9fb21c651e98df25);
}
