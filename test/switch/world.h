/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A switch whose ports are rings of the test, and frames for it.
 */

#ifndef UROCE_TEST_SWITCH_WORLD_H
#define UROCE_TEST_SWITCH_WORLD_H

#include "rings.h"
#include "switch.h"

#define WORLD_PORTS 4

struct world {
	struct uroce_switch s;
	struct test_rings rings[WORLD_PORTS];
	struct rte_mempool *pool;
};

void world_start(struct world *w);
void world_stop(struct world *w);

/** A frame of 60 bytes from one station to another (0xff: to a group), with this ECN field; tagged unless vlan is 0. */
struct rte_mbuf *world_frame(struct world *w, uint8_t from, uint8_t to, uint16_t vlan, uint8_t ecn);
/** The switch receives the frame at a port. */
void world_in(struct world *w, unsigned int port, struct rte_mbuf *frame);
/** @return the next frame that left by a port, or NULL */
struct rte_mbuf *world_out(struct world *w, unsigned int port);

#endif /* UROCE_TEST_SWITCH_WORLD_H */
