/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The network of a simulation: frames as flat bytes, each due at some virtual time at its destination, or lost,
 * doubled, held back or damaged on the way, all from the seed. What becomes of a frame is decided by the model of
 * drivers/net/netem, for each direction of each pair of ends on its own; truncation, chosen losses, wires that are
 * cut, rates and queues are the simulation's own. The ends are a full mesh, or on one switch.
 */

#ifndef UROCE_TEST_SIM_LINK_H
#define UROCE_TEST_SIM_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_mbuf.h>

#include "bottleneck.h"
#include "model.h"
#include "patience.h"
#include "sim.h"

#define LINK_ENDS      64
#define LINK_DEAD_QPNS 64
#define LINK_CHOSEN    16
#define LINK_LONG_BYTES (1 << 21) /* more is not in a queue for long */

struct link_conf {
	struct uroce_netem_conf netem; /* seed and limit are not used */
	uint32_t truncate;	       /* a share, as netem's */
	uint32_t longest_run;	       /* most frames that a path loses in a row; 0: any number */
	uint32_t most_harmed;	       /* most times that a packet and its retransmissions are harmed; 0: any */
	uint32_t quantum_ns;	       /* arrivals are rounded up to it, so that bursts form; > 0 */
	uint32_t rx_frames;	       /* that an end's port keeps until it is polled; 0: any number */
	/* the rates are those of an end's port, and of the switch's to it; without one nothing takes time */
	struct bottleneck_conf wire;
	bool mishaps;	   /* something happens to wires and ends now and then: mishap.h */
	bool switched;	   /* else every pair of ends has a wire of its own, without queue */
	uint32_t tx_bytes; /* that an end's port takes before it is busy */
};

struct link_frame {
	STAILQ_ENTRY(link_frame) next;
	uint64_t due_ns;
	uint64_t order; /* among those due at once */
	uint32_t bytes;
	uint16_t from;
	uint16_t to;
	bool touched; /* on the way, where it may well be dropped for it */
	bool harmed;  /* counted in struct patience */
	bool damaged; /* where the ICRC covers it: must not be accepted */
	_Alignas(uint64_t) uint8_t data[]; /* a frame: its headers are read in place */
};

/* A binary heap of what is on its way. */
struct link_queue {
	struct link_frame **frames;
	uint32_t count;
	uint32_t room;
};

/* What belongs to an end. */
struct link_port {
	struct bottleneck out;	     /* its own: never drops, but is busy */
	struct bottleneck in;	     /* the switch's */
	struct link_queue to_switch; /* what the switch will send to it */
	struct link_queue coming;
	STAILQ_HEAD(, link_frame) arrived;
	uint32_t arrived_count;
};

/* From one end to another. */
struct link_path {
	struct uroce_netem_model model;
	uint64_t down_until_ns;
	uint32_t run; /* frames lost in a row */
};

/* A loss that was asked for. */
struct link_chosen {
	uint16_t from;
	uint16_t to;
	uint8_t opcode;
	uint32_t nth; /* of those still to come; 0: none */
};

struct link {
	struct link_conf conf;
	unsigned int ends;
	uint64_t seed;
	struct sim_random random;
	uint64_t order;
	struct link_port *ports;
	struct link_path *paths;	    /* from * ends + to */
	uint32_t dead_qpns[LINK_DEAD_QPNS]; /* frames for these are lost */
	unsigned int dead_count;
	struct link_chosen chosen[LINK_CHOSEN];
	struct patience *patience; /* counts harm; NULL: no limit */
	uint64_t sent;
	uint64_t lost; /* with those that were dropped, and those for dead QPNs */
	uint64_t overrun; /* of these, because an end did not poll */
};

void link_init(struct link *l, const struct link_conf *conf, unsigned int ends, uint64_t seed);
void link_fini(struct link *l);

/** Take a copy of a frame; the mbuf stays the caller's. */
void link_send(struct link *l, uint64_t now_ns, unsigned int from, unsigned int to,
	       const struct rte_mbuf *m);

/** When the port of an end takes frames again; now_ns: it does. */
uint64_t link_ready(const struct link *l, uint64_t now_ns, unsigned int end);

/** Let frames go on as far as they come by now. Before link_receive(). */
void link_advance(struct link *l, uint64_t now_ns);

/** The next frame that has arrived at `to`, for the caller to free; NULL: none. */
struct link_frame *link_receive(struct link *l, unsigned int to);

/** When link_advance() has something to do; UINT64_MAX: nothing is on its way. */
uint64_t link_next(const struct link *l);

/** From now on frames for this QPN are lost. */
void link_kill(struct link *l, uint32_t qpn);

/** Lose the nth (from 1) packet of this opcode that is sent from one end to the other from now on, once. */
void link_choose(struct link *l, unsigned int from, unsigned int to, uint8_t opcode, uint32_t nth);

/** How many of these are still to be lost, at most LINK_CHOSEN. */
unsigned int link_choices(const struct link *l);

/** Until then nothing passes between two ends, nor arrives what was on its way. UINT64_MAX: until link_mend(). */
void link_cut(struct link *l, unsigned int a, unsigned int b, uint64_t until_ns);
/** The cable of an end is pulled: nothing passes between it and any other, or itself. */
void link_pull(struct link *l, unsigned int end, uint64_t until_ns);
/** Nothing passes between the ends in the group (bit per end) and the others. */
void link_partition(struct link *l, uint64_t group, uint64_t until_ns);
/** All that was cut is whole. */
void link_mend(struct link *l);

/** What was to come to an end is lost: it is not there any more. */
void link_forget(struct link *l, unsigned int end);

/* ---- what kind of network it is ---- */

/** Does it lose, double or reorder by itself? */
static inline bool
link_does_harm(const struct link_conf *c)
{
	const struct uroce_netem_conf *n = &c->netem;

	return c->mishaps || n->loss != 0 || n->dup != 0 || n->corrupt != 0 || n->reorder != 0 || n->jitter_ns != 0 ||
	       c->truncate != 0 || c->rx_frames != 0 || (c->wire.rate != 0 && c->wire.limit_bytes != 0);
}

/** Frames between two ends arrive in their order, and once. */
static inline bool
link_keeps_order(const struct link_conf *c)
{
	return c->netem.dup == 0 && c->netem.reorder == 0 && c->netem.jitter_ns == 0;
}

/** A round trip of those that are not held back: for timeouts to be above it. With a rate, what all that is on its way
 * takes is part of it. */
static inline uint64_t
link_round_trip_ns(const struct link_conf *c)
{
	uint64_t round_trip_ns = 2 * (c->netem.delay_ns + c->netem.jitter_ns + c->quantum_ns);

	if (c->wire.rate != 0)
		round_trip_ns += UINT64_C(8000000000) * LINK_LONG_BYTES / c->wire.rate;
	return round_trip_ns;
}

#endif /* UROCE_TEST_SIM_LINK_H */
