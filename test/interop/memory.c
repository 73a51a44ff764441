/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The memory of an end: patterns, and words for atomics.
 */

#include <inttypes.h>
#include <string.h>

#include "end.h"
#include "line.h"

/* Do all n items of len bytes, stride apart, lie within the memory? */
bool
in_memory(uint64_t at, uint64_t len, uint64_t n, uint64_t stride)
{
	return n <= MAX_WR && at <= self.size && len <= self.size && stride <= self.size &&
	       at + (n > 0 ? (n - 1) * stride : 0) + len <= self.size;
}

/* The pattern differs between seeds and between any two places, so that misplaced data is detected. */
static uint8_t
pattern(uint64_t seed, uint64_t i)
{
	uint64_t x = (seed << 32 | i) * 0x9e3779b97f4a7c15;

	return (uint8_t)((x ^ x >> 29) >> 32);
}

void
do_fill(const char *line)
{
	uint64_t at = line_number(line, "at", 0), len = line_number(line, "len", 0),
		 seed = line_number(line, "seed", 0);

	if (!in_memory(at, len, 1, 0)) {
		puts("error outside the memory");
		return;
	}
	for (uint64_t i = 0; i < len; i++)
		self.memory[at + i] = pattern(seed, i);
	puts("ok");
}

void
do_check(const char *line)
{
	uint64_t at = line_number(line, "at", 0), len = line_number(line, "len", 0),
		 seed = line_number(line, "seed", 0);

	if (!in_memory(at, len, 1, 0)) {
		puts("error outside the memory");
		return;
	}
	for (uint64_t i = 0; i < len; i++) {
		if (self.memory[at + i] != pattern(seed, i)) {
			printf("error byte %" PRIu64 " of %" PRIu64 " is %02x, not %02x\n", i, len,
			       self.memory[at + i], pattern(seed, i));
			return;
		}
	}
	puts("ok");
}

void
do_word(const char *line, bool put)
{
	uint64_t at = line_number(line, "at", 0), value = line_number(line, "value", 0);

	if (!in_memory(at, sizeof(value), 1, 0)) {
		puts("error outside the memory");
		return;
	}
	if (put)
		memcpy(self.memory + at, &value, sizeof(value));
	else
		memcpy(&value, self.memory + at, sizeof(value));
	printf("ok value=%" PRIu64 "\n", value);
}
