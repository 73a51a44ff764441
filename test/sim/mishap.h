/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Mishaps of wires and ends, drawn from the seed: one at a time, short enough for connections to survive.
 */

#ifndef UROCE_TEST_SIM_MISHAP_H
#define UROCE_TEST_SIM_MISHAP_H

#include <stdint.h>

#include "sim.h"

struct world;

struct mishaps {
	struct sim_random random;
	uint64_t next_ns; /* UINT64_MAX: none */
	uint64_t longest_ns;
	uint64_t count;
};

/** Prepare the mishaps; none, unless the world's link_conf has them. */
void mishaps_init(struct mishaps *m, const struct world *w, uint64_t seed);

/** Execute the next mishap, if it is due. */
void mishaps_happen(struct mishaps *m, struct world *w);

#endif /* UROCE_TEST_SIM_MISHAP_H */
