/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Stalls an end while responses wait for it.
 */

#ifndef UROCE_TEST_SIM_STALL_H
#define UROCE_TEST_SIM_STALL_H

#include "world.h"

/** Run in some of the worlds without harm, at rest. Draws from its own stream of random numbers. */
void stall_run(struct world *w, uint64_t seed);

#endif /* UROCE_TEST_SIM_STALL_H */
