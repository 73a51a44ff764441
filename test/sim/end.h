/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An end: a device with one engine, at one port of the network, and what its host does to it: it is polled or not,
 * its pools have mbufs or not, it is there or is started anew.
 */

#ifndef UROCE_TEST_SIM_END_H
#define UROCE_TEST_SIM_END_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/device.h"
#include "memory.h"
#include "transport/engine.h"

#define END_HELD_FRAMES 512
#define END_VLAN_TCI    0x6042

struct world;

/* Sent frames that the port has not given back yet. */
struct held_frames {
	struct rte_mbuf *mbufs[END_HELD_FRAMES];
	uint64_t until_ns[END_HELD_FRAMES];
	uint32_t head;
	uint32_t tail;
};

/* All that was left in a pool, taken by others for a while. */
struct hoard {
	struct rte_mbuf **mbufs; /* NULL: none are taken */
	unsigned int count;
};

struct end {
	struct harness_device host;
	struct uroce_engine engine;
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
	uint64_t deaf_until_ns; /* there are no mbufs to receive with */
	bool has_more;		/* the last round ended because the burst was full */
	bool starved;		/* it sent nothing, because a pool was empty */
	uint64_t unknown_qpn;	/* frames for QPs that are no more */
	uint64_t no_rx_mbuf;	/* frames that were lost for want of mbufs */
	void (*departing)(void *arg); /* called between the engine and the wire, where frames are ready; NULL: nothing */
	void *departing_arg;
};

struct end *end_create(struct world *w, unsigned int index);
/** Everything made on its device must have been destroyed. */
void end_destroy(struct end *e);

/** The process has died and is started anew, with the same address: nothing is sent any more, what was to come is
 * lost, memory and keys are others. Everything made on its device must have been destroyed, without a world_poll()
 * since, but for its own PD and MRs. @return the new end: the old one is freed */
struct end *end_restart(struct end *e);

/** One round: receive what has arrived, send. @return false if there was nothing to do */
bool end_poll(struct end *e, uint64_t now_ns);

/** When end_poll() has something to do again; UINT64_MAX: never, if nothing comes. */
uint64_t end_next(const struct end *e);

/** Give the frames back that are held no longer than that. */
void end_release(struct end *e, uint64_t now_ns);

/** Do not poll it until then: what comes waits, as much as the port keeps. */
void end_stop(struct end *e, uint64_t until_ns);

/** Its pools are empty until then: their mbufs are others'. */
void end_starve(struct end *e, uint64_t until_ns);

/** So is the pool that it receives with: what comes is lost. */
void end_deafen(struct end *e, uint64_t until_ns);

static inline struct ibv_context *
end_context(struct end *e)
{
	return e->host.context;
}

#endif /* UROCE_TEST_SIM_END_H */
