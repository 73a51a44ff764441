/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The network of a simulation: frames are flat bytes, each due at its destination at some virtual time, or lost,
 * duplicated, delayed or corrupted, all from the seed. The model of drivers/net/netem decides what happens to a frame,
 * separately for each direction of each pair of ends. The simulation adds truncation, requested losses, cut wires,
 * rates and queues. The ends are a full mesh, or are connected to one switch.
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
#define LINK_LONG_BYTES (1 << 21) /* longest queue for some time */

struct link_conf {
	struct uroce_netem_conf netem; /* seed and limit are not used */
	uint32_t truncate;	       /* a share, as in netem */
	uint32_t longest_run;	       /* most frames that a path loses in a row; 0: any number */
	uint32_t most_harmed;	       /* most times that a packet and its retransmissions are harmed; 0: any */
	uint32_t quantum_ns;	       /* arrivals are rounded up to it, so that bursts form; > 0 */
	uint32_t rx_frames;	       /* frames that an end's port keeps until it is polled; 0: any number */
	/* the rates are those of an end's port, and of the switch's to it; without one nothing takes time */
	struct bottleneck_conf wire;
	bool mishaps;	   /* wires and ends fail now and then: mishap.h */
	bool switched;	   /* else each pair of ends has its own wire, without a queue */
	uint32_t tx_bytes; /* bytes that an end's port accepts before it is busy */
};

struct link_frame {
	STAILQ_ENTRY(link_frame) next;
	uint64_t due_ns;
	uint64_t order; /* among frames due at the same time */
	uint32_t bytes;
	uint16_t from;
	uint16_t to;
	bool touched; /* the network has changed it: the receiver may drop it */
	bool harmed;  /* counted in struct patience */
	bool damaged; /* a covered bit is wrong: the receiver must not accept it */
	_Alignas(uint64_t) uint8_t data[]; /* a frame: its headers are read in place */
};

/* A binary heap of frames in flight. */
struct link_queue {
	struct link_frame **frames;
	uint32_t count;
	uint32_t room;
};

/* The port of an end. */
struct link_port {
	struct bottleneck out;	     /* output of the end: never drops, but may be busy */
	struct bottleneck in;	     /* output of the switch to the end */
	struct link_queue to_switch; /* frames in flight to the switch, for this end */
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

/* A requested loss. */
struct link_chosen {
	uint16_t from;
	uint16_t to;
	uint8_t opcode;
	uint32_t nth; /* of the matching packets from now on; 0: none */
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
	uint64_t lost; /* includes drops, and frames for dead QPNs */
	uint64_t overrun; /* of these, lost because an end did not poll */
};

void link_init(struct link *l, const struct link_conf *conf, unsigned int ends, uint64_t seed);
void link_fini(struct link *l);

/** Send a copy of a frame; the caller keeps the mbuf. */
void link_send(struct link *l, uint64_t now_ns, unsigned int from, unsigned int to,
	       const struct rte_mbuf *m);

/** @return when the port of an end accepts frames; now_ns: now */
uint64_t link_ready(const struct link *l, uint64_t now_ns, unsigned int end);

/** Move frames as far as they get by now. Call it before link_receive(). */
void link_advance(struct link *l, uint64_t now_ns);

/** @return the next frame that has arrived at `to`, which the caller frees; NULL: none */
struct link_frame *link_receive(struct link *l, unsigned int to);

/** @return when link_advance() has something to do; UINT64_MAX: no frame is in flight */
uint64_t link_next(const struct link *l);

/** Lose all frames for this QPN from now on. */
void link_kill(struct link *l, uint32_t qpn);

/** Lose once the nth (from 1) packet of this opcode that one end sends to the other from now on. */
void link_choose(struct link *l, unsigned int from, unsigned int to, uint8_t opcode, uint32_t nth);

/** @return number of pending requested losses, at most LINK_CHOSEN */
unsigned int link_choices(const struct link *l);

/** Lose all frames between two ends until then, also those in flight. UINT64_MAX: until link_mend(). */
void link_cut(struct link *l, unsigned int a, unsigned int b, uint64_t until_ns);
/** Unplug an end: lose all frames between it and any end, itself included. */
void link_pull(struct link *l, unsigned int end, uint64_t until_ns);
/** Lose all frames between the ends of the group (bit per end) and the others. */
void link_partition(struct link *l, uint64_t group, uint64_t until_ns);
/** Undo all cuts. */
void link_mend(struct link *l);

/** Lose all frames in flight to an end, which has been killed. */
void link_forget(struct link *l, unsigned int end);

/* ---- properties of the network ---- */

/** Does the network lose, duplicate or reorder frames by itself? */
static inline bool
link_does_harm(const struct link_conf *c)
{
	const struct uroce_netem_conf *n = &c->netem;

	return c->mishaps || n->loss != 0 || n->dup != 0 || n->corrupt != 0 || n->reorder != 0 || n->jitter_ns != 0 ||
	       c->truncate != 0 || c->rx_frames != 0 || (c->wire.rate != 0 && c->wire.limit_bytes != 0);
}

/** Do frames between two ends arrive in order, and once? */
static inline bool
link_keeps_order(const struct link_conf *c)
{
	return c->netem.dup == 0 && c->netem.reorder == 0 && c->netem.jitter_ns == 0;
}

/** @return the round trip of frames that are not delayed, for timeouts. With a rate, it includes the transmission of
 * all packets in flight. */
static inline uint64_t
link_round_trip_ns(const struct link_conf *c)
{
	uint64_t round_trip_ns = 2 * (c->netem.delay_ns + c->netem.jitter_ns + c->quantum_ns);

	if (c->wire.rate != 0)
		round_trip_ns += UINT64_C(8000000000) * LINK_LONG_BYTES / c->wire.rate;
	return round_trip_ns;
}

#endif /* UROCE_TEST_SIM_LINK_H */
