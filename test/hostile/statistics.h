/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Whether numbers look as if nobody could guess the next: what a sequence of them shows to who has
 * seen it. A sound generator fails any one check with a probability below 1e-13, so that all of
 * them together, in all the tests that use them, fail by chance less than once in 1e9 runs. One
 * thread.
 */

#ifndef UROCE_TEST_HOSTILE_STATISTICS_H
#define UROCE_TEST_HOSTILE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/**
 * @param values	in the order in which they were drawn, at least 1000
 * @param bits	that count, from the lowest on, 8 .. 32
 * @return	NULL, or what gives them away, which stays until the next call
 */
const char *statistics_check(const uint32_t *values, size_t n, unsigned int bits);

/** Only that values come again as seldom as they would by chance. */
const char *statistics_check_repeats(const uint32_t *values, size_t n, unsigned int bits);

#endif /* UROCE_TEST_HOSTILE_STATISTICS_H */
