/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Unpredictable numbers for keys, QPNs and PSNs, from getrandom(2). Any thread.
 */

#ifndef UROCE_BASE_RANDOM_H
#define UROCE_BASE_RANDOM_H

#include <stdint.h>

uint64_t uroce_random(void);
/** A number below bound (> 0), without bias. */
uint32_t uroce_random_below(uint32_t bound);
/** Make later numbers reproducible, for simulations of one thread. @param seed	0: use getrandom(2) again */
void uroce_random_seed(uint64_t seed);

#endif /* UROCE_BASE_RANDOM_H */
