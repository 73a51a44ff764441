/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An end that dies in the middle of traffic, and is started anew with the same address.
 */

#ifndef UROCE_TEST_SIM_RESTART_H
#define UROCE_TEST_SIM_RESTART_H

#include "world.h"

/** In a world that is at rest, and is at rest again afterwards. Nothing may be left on its devices. */
void restart_run(struct world *w, uint64_t seed);

#endif /* UROCE_TEST_SIM_RESTART_H */
