/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A world: some ends, each a device with one engine, the network between them, and the virtual clock.
 * It is what lib/port is in a real process: receives, sends, runs timers; all in the one thread
 * that calls it.
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
	bool multi_seg;        /* ports take chains of mbufs */
	bool split;            /* received frames come as chains of mbufs */
	uint64_t plain_ends;   /* bit per end: it keeps nothing that comes early, and goes back N, as rxe */
	bool unstable;	       /* memory changes that was said to be stable: frames may have a wrong ICRC */
	uint32_t memory_bytes; /* per end; 0: none */
	uint32_t least_mbps;   /* that congestion control leaves a QP; 0: the default */
	uint32_t send_burst;   /* frames taken from the engine in a round, at most UROCE_BURST */
	uint32_t hold_ns;      /* a port keeps the mbufs of sent frames for so long */
	uint32_t pool_mbufs;   /* of each of an engine's pools */
	uint32_t rx_mbufs;     /* that all ends receive with, and engines may keep; 0: a lot */
	struct link_conf link;
};

struct world {
	struct world_conf conf;
	struct sim_random random;
	uint64_t now_ns;
	struct link link;
	struct mishaps mishaps;
	struct rte_mempool *rx_pool;
	struct end *ends[LINK_ENDS];
};

/** Any kind of world. */
void world_draw(struct sim_random *r, struct world_conf *conf);

void world_init(struct world *w, const struct world_conf *conf, uint64_t seed);
/** Everything made on its devices must have been destroyed. Checks that no mbuf is lost. */
void world_fini(struct world *w);

/** One round at each end: receive what is due by now, send. @return false if there was nothing to
 * do */
bool world_poll(struct world *w);

/** When there is something to do again; UINT64_MAX: the world is at rest. */
uint64_t world_next(const struct world *w);

/** Give every end's held frames back. */
void world_release(struct world *w);

/** Sum over the ends. */
uint64_t world_verdicts(const struct world *w, enum uroce_verdict v);
uint64_t world_counters(const struct world *w, enum uroce_engine_counter c);

/** Of mbufs as an engine wants them. */
struct rte_mempool *world_pool_create(const char *name, unsigned int end, unsigned int mbufs,
				      uint32_t room_bytes);
/** Checks that no mbuf is lost. */
void world_pool_destroy(struct rte_mempool *pool);

#endif /* UROCE_TEST_SIM_WORLD_H */
