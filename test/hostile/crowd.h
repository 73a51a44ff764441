/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An engine with many connected queue pairs that always have something to WRITE, and whose peers
 * answer as they should; but for one, whose peer is the attacker. The work is counted in packets of
 * a worker's rounds, not in seconds: so what an attack costs the others is the same in each run.
 * One thread.
 */

#ifndef UROCE_TEST_HOSTILE_CROWD_H
#define UROCE_TEST_HOSTILE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "peer.h"

#define CROWD_INNOCENT 8
#define CROWD_BYTES    65536 /* of a message: a READ of all that is registered */
#define CROWD_STRIKES  96    /* frames of the attacker in a round: more than one receives */
#define CROWD_NS       10000 /* from a round to the next */

struct crowd;

/* What the attacker does, through the hostile queue pair or about it. */
struct attack {
	const char *name;
	const char *counter;   /* a verdict's or the engine's, that rises with it */
	struct peer_conf conf; /* of the hostile queue pair */
	bool posts;            /* our end WRITEs to the attacker, as to everybody */
	bool fatal;            /* the hostile queue pair ends in error, and is connected anew */
	/* once a round, before the engine sends: up to CROWD_STRIKES packets. NULL: silent */
	void (*strike)(struct crowd *c);
	/* the engine has sent a packet to the attacker. NULL: who does not care */
	void (*heard)(struct crowd *c, const struct uroce_packet *p);
};

struct crowd {
	struct peer peer;
	const struct attack *attack;
	struct ibv_qp *innocent[CROWD_INNOCENT];
	struct ibv_qp *hostile;
	uint32_t last_psn[CROWD_INNOCENT]; /* received by the peer */
	bool ack_due[CROWD_INNOCENT];
	uint64_t innocent_packets; /* sent in all rounds */
	uint64_t innocent_least;   /* by the one that has sent least */
	uint64_t per_qp[CROWD_INNOCENT];
	uint64_t hostile_packets; /* sent to the attacker */
	uint64_t strikes;         /* packets of the attacker */
	/* the attacker's */
	uint32_t next_psn;  /* of its requests */
	uint32_t heard_psn; /* of the last packet that it has heard */
	uint32_t first_psn; /* not acknowledged by it */
	uint64_t number;
};

/** @param attack	NULL: there is none, and the hostile queue pair is idle */
void crowd_start(struct crowd *c, const struct attack *attack);
/** Everything is destroyed; fails if a buffer is missing. */
void crowd_stop(struct crowd *c);
void crowd_run(struct crowd *c, unsigned int rounds);
/** A packet of the attacker; not for who strikes in bursts. */
enum uroce_verdict crowd_in(struct crowd *c, const struct peer_packet *in);
/** Any number of the same. */
void crowd_in_times(struct crowd *c, const struct peer_packet *in, unsigned int times);
/** A counter of the engine or of its verdicts. */
uint64_t crowd_counter(const struct crowd *c, const char *name);

/* attacks.c */
extern const struct attack attacks[];
extern const unsigned int attack_count;

#endif /* UROCE_TEST_HOSTILE_CROWD_H */
