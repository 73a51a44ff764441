/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Kills an end in the middle of traffic, and restarts it with the same address.
 */

#ifndef UROCE_TEST_SIM_RESTART_H
#define UROCE_TEST_SIM_RESTART_H

#include "world.h"

/** Run in a world at rest, which is at rest again at the end. Its devices must have no objects. */
void restart_run(struct world *w, uint64_t seed);

#endif /* UROCE_TEST_SIM_RESTART_H */
