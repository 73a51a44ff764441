/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The bytes of payloads and memory. For one thread.
 */

#include <stdio.h>
#include <string.h>

#include "data.h"
#include "object.h"

#define SHOWN_BYTES 16

/* Never 0, the initial value of memory, and without a period of 256 bytes or a power of two. */
static uint8_t
pattern(uint64_t i)
{
	return (uint8_t)((i % 251) + (i / 251) % 3 + 1);
}

void
data_parse(struct lexer *l, uint8_t *bytes, uint32_t n, bool optional)
{
	if (lexer_take(l, "fill")) {
		memset(bytes, (int)object_value(l), n);
	} else if (lexer_take(l, "hex")) {
		uint32_t got = lexer_hex(l, bytes, n);

		if (got != n)
			lexer_fail(l, "%u bytes where there should be %u", got, n);
	} else if (lexer_take(l, "u64")) {
		uint64_t value = object_value(l);

		if (n != sizeof(value))
			lexer_fail(l, "a u64 has 8 bytes, not %u", n);
		memcpy(bytes, &value, sizeof(value));
	} else if (lexer_take(l, "pattern") || optional) {
		uint64_t from = 0;

		/* "pattern" without a number is "pattern 0" */
		if (lexer_is_number(l))
			from = lexer_number(l);
		for (uint32_t i = 0; i < n; i++)
			bytes[i] = pattern(from + i);
	} else {
		lexer_fail(l, "expected pattern, fill, hex or u64 before '%s'", l->at);
	}
}

static const char *
show(const uint8_t *bytes, uint32_t n, char text[3 * SHOWN_BYTES + 4])
{
	char *to = text;

	for (uint32_t i = 0; i < n && i < SHOWN_BYTES; i++)
		to += sprintf(to, "%02x ", bytes[i]);
	sprintf(to, "%s", n > SHOWN_BYTES ? "..." : "");
	return text;
}

void
data_check(struct lexer *l, const char *what, const uint8_t *expected, const uint8_t *got, uint32_t n)
{
	char e[3 * SHOWN_BYTES + 4], g[3 * SHOWN_BYTES + 4];

	for (uint32_t i = 0; i < n; i++)
		if (expected[i] != got[i])
			lexer_fail(l, "%s: from byte %u: expected %s, got %s", what, i,
				   show(expected + i, n - i, e), show(got + i, n - i, g));
}
