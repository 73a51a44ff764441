/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The network of a simulation: frames as flat bytes, each due at some virtual time at its
 * destination, or lost, doubled, held back or damaged on the way, all from the seed.
 */

#ifndef UROCE_TEST_SIM_LINK_H
#define UROCE_TEST_SIM_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "sim.h"

#define LINK_ENDS      4
#define LINK_DEAD_QPNS 64

/* Rates are per 2^16 frames. */
struct link_conf {
	uint32_t loss;
	uint32_t duplicate;
	uint32_t reorder; /* held back for up to reorder_ns */
	uint32_t corrupt; /* 1 to 3 bits: every CRC-32 sees that */
	uint32_t truncate;
	uint32_t delay_ns;
	uint32_t jitter_ns; /* reorders by itself when larger than the gaps */
	uint32_t reorder_ns;
	uint32_t quantum_ns; /* arrival times are rounded up to it, so that bursts form; > 0 */
};

struct link_frame {
	uint64_t due_ns;
	uint64_t order; /* among those due at once */
	uint32_t bytes;
	uint16_t from;
	bool damaged; /* where the ICRC covers it: must not be accepted */
	uint8_t data[];
};

/* What is on its way to one end: a binary heap. */
struct link_queue {
	struct link_frame **frames;
	uint32_t count;
	uint32_t room;
};

struct link {
	struct link_conf conf;
	struct sim_random random;
	uint64_t order;
	struct link_queue to[LINK_ENDS];
	uint32_t dead_qpns[LINK_DEAD_QPNS]; /* frames for these are lost */
	unsigned int dead_count;
	uint64_t sent;
	uint64_t lost;
};

void link_init(struct link *l, const struct link_conf *conf, uint64_t seed);
void link_fini(struct link *l);

/** Take a copy of a frame; the mbuf stays the caller's. */
void link_send(struct link *l, uint64_t now_ns, unsigned int from, unsigned int to,
	       const struct rte_mbuf *m);

/** From now on frames for this QPN are lost. */
void link_kill(struct link *l, uint32_t qpn);

static inline bool
link_does_harm(const struct link_conf *c)
{
	return c->loss + c->duplicate + c->corrupt + c->truncate + c->reorder + c->jitter_ns > 0;
}

/** The next frame that is due at `to`, for the caller to free; NULL: none by now. */
struct link_frame *link_receive(struct link *l, uint64_t now_ns, unsigned int to);

/** When the next frame is due anywhere; UINT64_MAX: the link is empty. */
uint64_t link_next(const struct link *l);

#endif /* UROCE_TEST_SIM_LINK_H */
