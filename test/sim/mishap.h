/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What happens to wires and ends of a world now and then, drawn from the seed: one thing at a time, for a time that
 * a connection survives.
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

/** None, if the world's link_conf has no mishaps. */
void mishaps_init(struct mishaps *m, const struct world *w, uint64_t seed);

/** The next one, if it is due. */
void mishaps_happen(struct mishaps *m, struct world *w);

#endif /* UROCE_TEST_SIM_MISHAP_H */
