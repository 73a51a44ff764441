/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A world: some ends, each a device, the network between them, and the virtual clock. It has the role of
 * lib/port in a process: it receives, sends and runs timers, all in the calling thread.
 */

#ifndef UROCE_TEST_SIM_WORLD_H
#define UROCE_TEST_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "end.h"
#include "link.h"
#include "mishap.h"
#include "sim.h"

#define LARGEST_MTU 4096

struct world_conf {
	unsigned int ends;
	bool ipv6;
	bool vlan;
	bool multi_seg;        /* ports send chains of mbufs */
	bool split;            /* received frames are chains of mbufs */
	uint64_t plain_ends;   /* bit per end: it keeps no out-of-order packets, and goes back N, as rxe */
	bool unstable;	       /* stable memory changes nevertheless: frames may have a wrong ICRC */
	uint32_t memory_bytes; /* per end; 0: none */
	uint32_t least_mbps;   /* least rate of a QP under congestion control; 0: the default */
	uint32_t send_burst;   /* frames taken from the engine in a round, at most UROCE_BURST */
	uint32_t hold_ns;      /* time that a port keeps the mbufs of sent frames */
	uint32_t pool_mbufs;   /* mbufs of each of an engine's pools */
	bool moves;	       /* each end has two engines, between which its QPs move */
	unsigned int log2_window; /* of all devices; 0: the default */
	uint32_t rx_mbufs;     /* mbufs of the receive pool of all ends, of which engines keep some; 0: many */
	struct link_conf link;
};

struct world {
	struct world_conf conf;
	uint64_t seed;
	struct sim_random random;
	uint64_t now_ns;
	struct link link;
	struct mishaps mishaps;
	struct rte_mempool *rx_pool;
	struct end *ends[LINK_ENDS];
};

/** Draw a random configuration. */
void world_draw(struct sim_random *r, struct world_conf *conf);

void world_init(struct world *w, const struct world_conf *conf, uint64_t seed);
/** Destroy a world, whose devices must have no objects. Checks that no mbuf is leaked. */
void world_fini(struct world *w);

/** Run one round of each end: receive frames that are due by now, and send. @return false: nothing to do */
bool world_poll(struct world *w);

/** @return when there is something to do; UINT64_MAX: the world is at rest */
uint64_t world_next(const struct world *w);

/** Free the held frames of all ends. */
void world_release(struct world *w);

/** Sum over the ends. */
uint64_t world_verdicts(const struct world *w, enum uroce_verdict v);
uint64_t world_counters(const struct world *w, enum uroce_engine_counter c);

/** Create a pool of mbufs for an engine. */
struct rte_mempool *world_pool_create(const char *name, unsigned int end, unsigned int mbufs,
				      uint32_t room_bytes);
/** Destroy a pool. Checks that no mbuf is leaked. */
void world_pool_destroy(struct rte_mempool *pool);

#endif /* UROCE_TEST_SIM_WORLD_H */
