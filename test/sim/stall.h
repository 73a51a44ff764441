/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An end that stalls while answers wait for it.
 */

#ifndef UROCE_TEST_SIM_STALL_H
#define UROCE_TEST_SIM_STALL_H

#include "world.h"

/** In some of the worlds that do no harm, and are at rest. Draws from a stream of its own. */
void stall_run(struct world *w, uint64_t seed);

#endif /* UROCE_TEST_SIM_STALL_H */
