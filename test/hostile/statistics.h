/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks whether the next number of a sequence is unpredictable for an observer of the numbers before it. A sound
 * generator fails each check with a probability below 1e-13: all checks in all tests together fail by chance in fewer
 * than one of 1e9 runs. For one thread.
 */

#ifndef UROCE_TEST_HOSTILE_STATISTICS_H
#define UROCE_TEST_HOSTILE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/**
 * @param values	in the order in which they were drawn, at least 1000
 * @param bits	number of significant bits, from the lowest on, 8 .. 32
 * @return	NULL, or a text about the weakness found, valid until the next call
 */
const char *statistics_check(const uint32_t *values, size_t n, unsigned int bits);

/** Check only that values repeat as rarely as by chance. */
const char *statistics_check_repeats(const uint32_t *values, size_t n, unsigned int bits);

#endif /* UROCE_TEST_HOSTILE_STATISTICS_H */
