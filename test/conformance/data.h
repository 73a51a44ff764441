/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The bytes of payloads and memory: "pattern 256" (the test pattern from its byte 256 on), "fill 0", "hex 0011…", "u64
 * 5" (in host byte order). For one thread.
 */

#ifndef UROCE_TEST_DATA_H
#define UROCE_TEST_DATA_H

#include <stdbool.h>

#include "lexer.h"

/** Write n bytes by the next words of the statement; if these are optional and missing, by "pattern 0". */
void data_parse(struct lexer *l, uint8_t *bytes, uint32_t n, bool optional);
/** Fail the script unless both are the same: "what: expected …, got …, from byte …". */
void data_check(struct lexer *l, const char *what, const uint8_t *expected, const uint8_t *got, uint32_t n);

#endif /* UROCE_TEST_DATA_H */
