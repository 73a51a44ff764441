/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The second engine of an end, with --moves: QPs move between both at random, as between two workers of a port.
 */

#ifndef UROCE_TEST_SIM_MOVE_H
#define UROCE_TEST_SIM_MOVE_H

#include <stdint.h>

#include "sim.h"
#include "transport/engine.h"

struct end;

struct moves {
	struct uroce_engine engine;
	struct sim_random random;
	uint64_t count;
};

/** Create the second engine of an end. */
void moves_init(struct end *e);
void moves_fini(struct end *e);

/** Move some QPs, or none. */
void moves_happen(struct end *e, uint64_t now_ns);

/** Deliver packets to the engines of their QPs, in order. */
void moves_receive(struct uroce_qp *const *qps, const struct uroce_packet *packets, unsigned int n, uint64_t now_ns);

#endif /* UROCE_TEST_SIM_MOVE_H */
