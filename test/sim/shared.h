/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Several queue pairs that receive from a few shared queues: RC's from one, XRC's from the one that each request
 * names. Every message arrives once, whole, in its queue pair's order, whatever the link does.
 */

#ifndef UROCE_TEST_SIM_SHARED_H
#define UROCE_TEST_SIM_SHARED_H

#include "world.h"

/** In a world that is at rest, and is at rest again afterwards. */
void shared_run(struct world *w, uint64_t seed);

#endif /* UROCE_TEST_SIM_SHARED_H */
