/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An engine with many connected queue pairs that always have WRITEs to send. The peers of all but one behave correctly;
 * the peer of one is the attacker. The test counts work in packets per worker round, not in seconds: thus the cost of
 * an attack for the others is the same in each run. For one thread.
 */

#ifndef UROCE_TEST_HOSTILE_CROWD_H
#define UROCE_TEST_HOSTILE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "peer.h"

#define CROWD_INNOCENT 8
#define CROWD_BYTES    65536 /* of a message: a READ of all registered memory */
#define CROWD_STRIKES  96    /* frames of the attacker per round: more than a burst */
#define CROWD_NS       10000 /* from one round to the next */

struct crowd;

/* An attack through the hostile queue pair, or on it. */
struct attack {
	const char *name;
	const char *counter;   /* a verdict or engine counter that rises with the attack */
	struct peer_conf conf; /* of the hostile queue pair */
	bool posts;            /* the engine WRITEs to the attacker, as to all peers */
	bool fatal;            /* the hostile queue pair goes to error, and is reconnected */
	/* Called once a round, before the engine sends: up to CROWD_STRIKES packets. NULL: silent. */
	void (*strike)(struct crowd *c);
	/* Called for each packet that the engine sends to the attacker, or NULL. */
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
	uint64_t innocent_least;   /* by the QP that sent least */
	uint64_t per_qp[CROWD_INNOCENT];
	uint64_t hostile_packets; /* sent to the attacker */
	uint64_t strikes;         /* sent by the attacker */
	/* state of the attacker */
	uint32_t next_psn;  /* of its next request */
	uint32_t heard_psn; /* of the last packet received */
	uint32_t first_psn; /* of the first packet that it has not acknowledged */
	uint64_t number;
};

/** @param attack	NULL: no attack, and the hostile queue pair is idle */
void crowd_start(struct crowd *c, const struct attack *attack);
/** Destroy all objects; fails if a buffer leaks. */
void crowd_stop(struct crowd *c);
void crowd_run(struct crowd *c, unsigned int rounds);
/** Deliver one packet of the attacker; not for attacks in bursts. */
enum uroce_verdict crowd_in(struct crowd *c, const struct peer_packet *in);
/** Deliver the same packet several times. */
void crowd_in_times(struct crowd *c, const struct peer_packet *in, unsigned int times);
/** A counter of the engine, or the count of a verdict. */
uint64_t crowd_counter(const struct crowd *c, const char *name);

/* attacks.c */
extern const struct attack attacks[];
extern const unsigned int attack_count;

#endif /* UROCE_TEST_HOSTILE_CROWD_H */
