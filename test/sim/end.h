/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An end: a device with one engine, or two, at one port of the network. Its host may stop polling it, take the mbufs of
 * its pools, and restart it.
 */

#ifndef UROCE_TEST_SIM_END_H
#define UROCE_TEST_SIM_END_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/device.h"
#include "memory.h"
#include "move.h"
#include "transport/engine.h"

#define END_HELD_FRAMES 512
#define END_VLAN_TCI    0x6042

struct world;

/* Sent frames whose mbufs the port has not freed yet. */
struct held_frames {
	struct rte_mbuf *mbufs[END_HELD_FRAMES];
	uint64_t until_ns[END_HELD_FRAMES];
	uint32_t head;
	uint32_t tail;
};

/* All free mbufs of a pool, taken by the host for a while. */
struct hoard {
	struct rte_mbuf **mbufs; /* NULL: none is taken */
	unsigned int count;
};

struct end {
	struct harness_device host;
	struct uroce_engine engine;
	struct uroce_engine_limits limits; /* of the engines */
	struct moves *moves; /* with a second engine; NULL: there is one */
	struct world *world;
	unsigned int index;
	union ibv_gid gid;
	struct rte_mempool *header_pool;
	struct rte_mempool *payload_pool;
	struct ibv_pd *pd;
	struct memory memory;
	struct held_frames held;
	struct hoard hoards[2];
	uint64_t hoard_until_ns;
	uint64_t stopped_until_ns;
	uint64_t deaf_until_ns; /* no mbufs to receive with until then */
	bool has_more;		/* the last round ended because the burst was full */
	bool starved;		/* it sent nothing, because a pool was empty */
	uint64_t unknown_qpn;	/* frames for QPs that do not exist */
	uint64_t no_rx_mbuf;	/* frames lost because no mbuf was free */
	void (*departing)(void *arg); /* called for built frames before they are sent; NULL: none */
	void *departing_arg;
};

struct end *end_create(struct world *w, unsigned int index);
/** Destroy an end; all objects of its device must have been destroyed. */
void end_destroy(struct end *e);

/** The process is killed and restarted with the same address: it sends no more, frames in flight to it are lost, and it
 * has other memory and keys. All objects of its device except its own PD and MRs must have been destroyed, without a
 * world_poll() since. @return the new end; the old one is freed */
struct end *end_restart(struct end *e);

/** One round: receive the frames that have arrived, and send. @return false: nothing to do */
bool end_poll(struct end *e, uint64_t now_ns);

/** @return when end_poll() has something to do; UINT64_MAX: not before a frame arrives */
uint64_t end_next(const struct end *e);

/** Free the mbufs of sent frames that are due by now. */
void end_release(struct end *e, uint64_t now_ns);

/** Do not poll the end until then; its port keeps as many received frames as fit. */
void end_stop(struct end *e, uint64_t until_ns);

/** Take all mbufs of its pools until then. */
void end_starve(struct end *e, uint64_t until_ns);

/** Take all mbufs of its receive pool until then; frames to it are lost. */
void end_deafen(struct end *e, uint64_t until_ns);

/** @return the sum over the end's engines */
static inline uint64_t
end_counter(const struct end *e, enum uroce_engine_counter c)
{
	return e->engine.counters[c] + (e->moves != NULL ? e->moves->engine.counters[c] : 0);
}

static inline uint64_t
end_verdict(const struct end *e, enum uroce_verdict v)
{
	return e->engine.verdicts[v] + (e->moves != NULL ? e->moves->engine.verdicts[v] : 0);
}

static inline struct ibv_context *
end_context(struct end *e)
{
	return e->host.context;
}

#endif /* UROCE_TEST_SIM_END_H */
