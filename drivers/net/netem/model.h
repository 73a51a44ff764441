/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Decides from a seed which impairments each frame gets. It has no I/O, no clock and no mbuf, so that a live port and a
 * simulation can use it. One thread at a time.
 */

#ifndef UROCE_NETEM_MODEL_H
#define UROCE_NETEM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

/* Shares (loss, reorder, dup, corrupt, ecn) are thresholds for 32 random bits; UINT32_MAX: every frame. */
struct uroce_netem_conf {
	uint32_t loss;
	uint32_t burst;		/* mean length of a run of lost frames; 1: losses are independent */
	uint32_t reorder;
	uint32_t dup;
	uint32_t corrupt;
	uint32_t ecn;
	uint32_t limit;		/* most delayed frames at a time */
	uint64_t delay_ns;
	uint64_t jitter_ns;	/* most random delay in addition */
	uint64_t late_ns;	/* additional delay of a reordered frame */
	uint64_t seed;
};

struct uroce_netem_model {
	struct uroce_netem_conf conf;
	uint64_t random;	/* state of the random numbers */
	uint32_t begin_run;	/* share of frames that begin a run of losses */
	uint32_t end_run;	/* share of frames that end a run; 0: losses are independent */
	bool losing;		/* within a run */
};

struct uroce_netem_fate {
	bool lost;		/* the other fields are 0 */
	bool twice;
	bool marked;
	bool reordered;
	bool corrupted;
	uint32_t bit;		/* corrupted: the number of the flipped bit, from 0 */
	uint64_t delay_ns;	/* includes late_ns, if reordered */
	uint64_t twin_delay_ns;	/* twice: delay of the duplicate */
};

/** Parse "loss=0.01,delay=10us,…": see uroce_netem.h. @return 0 or -EINVAL, and the reason in error */
int uroce_netem_conf_parse(struct uroce_netem_conf *conf, const char *text, char *error, unsigned int room);

/** @param stream	models with the same seed and different streams draw independent numbers */
void uroce_netem_model_init(struct uroce_netem_model *m, const struct uroce_netem_conf *conf, uint64_t stream);

/** Decide the fate of the next frame. @param bytes	its size */
void uroce_netem_decide(struct uroce_netem_model *m, uint32_t bytes, struct uroce_netem_fate *fate);

#endif /* UROCE_NETEM_MODEL_H */
