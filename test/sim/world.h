/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A world: some ends, each a device with one engine, the link between them, and the virtual clock.
 * It is what lib/port is in a real process: receives, sends, runs timers; all in the one thread
 * that calls it.
 */

#ifndef UROCE_TEST_SIM_WORLD_H
#define UROCE_TEST_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "link.h"
#include "memory.h"
#include "sim.h"
#include "transport/engine.h"
#include "verbs/device.h"

#define WORLD_HELD_FRAMES 512

struct world_conf {
	unsigned int ends;
	bool ipv6;
	bool vlan;
	bool multi_seg;        /* ports take chains of mbufs */
	bool split;            /* received frames come as chains of mbufs */
	uint32_t memory_bytes; /* per end */
	uint32_t send_burst;   /* frames taken from the engine in a round, at most UROCE_BURST */
	uint32_t hold_ns;      /* a port keeps the mbufs of sent frames for so long */
	uint32_t pool_mbufs;   /* of each of an engine's pools */
	struct link_conf link;
};

/* Sent frames that the port has not given back yet. */
struct held_frames {
	struct rte_mbuf *mbufs[WORLD_HELD_FRAMES];
	uint64_t until_ns[WORLD_HELD_FRAMES];
	uint32_t head;
	uint32_t tail;
};

struct end {
	struct uroce_device device;
	struct uroce_engine engine;
	struct world *world;
	unsigned int index;
	union ibv_gid gid;
	struct rte_mempool *header_pool;
	struct rte_mempool *payload_pool;
	struct ibv_pd *pd;
	struct memory memory;
	struct held_frames held;
	bool has_more;        /* the last round ended because the burst was full */
	bool starved;         /* it sent nothing, because a pool was empty */
	uint64_t unknown_qpn; /* frames for QPs that are no more */
};

struct world {
	struct world_conf conf;
	struct sim_random random;
	uint64_t now_ns;
	struct link link;
	struct rte_mempool *rx_pool;
	struct end *ends[LINK_ENDS];
};

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

static inline struct ibv_context *
end_context(struct end *e)
{
	return &e->device.vctx.context;
}

#endif /* UROCE_TEST_SIM_WORLD_H */
