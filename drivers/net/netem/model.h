/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Decides what a bad network does to each frame, from a seed. No I/O, no clock, no mbuf: a live port's and a
 * simulation's frames meet the same fate. One thread at a time.
 */

#ifndef UROCE_NETEM_MODEL_H
#define UROCE_NETEM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

/* Shares are thresholds for 32 random bits; UINT32_MAX stands for all. */
struct uroce_netem_conf {
	uint32_t loss;
	uint32_t burst;		/* mean length of a run of lost frames; 1: they are independent */
	uint32_t reorder;
	uint32_t dup;
	uint32_t corrupt;
	uint32_t ecn;
	uint32_t limit;		/* frames held back at a time */
	uint64_t delay_ns;
	uint64_t jitter_ns;
	uint64_t late_ns;	/* a frame that is overtaken comes so much later */
	uint64_t seed;
};

struct uroce_netem_model {
	struct uroce_netem_conf conf;
	uint64_t random;
	uint32_t begin_run;	/* threshold: a run of lost frames begins */
	uint32_t end_run;	/* … ends */
	bool losing;
};

struct uroce_netem_fate {
	bool lost;		/* then nothing else is */
	bool twice;
	bool marked;
	bool reordered;
	bool corrupted;
	uint32_t bit;		/* that is wrong, counted from the first of the frame */
	uint64_t delay_ns;	/* with that of reordering */
	uint64_t twin_delay_ns;	/* if twice: the other one has a way of its own */
};

/** Parse "loss=0.01,delay=10us,…": see uroce_netem.h. @return 0 or -EINVAL, and the reason in error */
int uroce_netem_conf_parse(struct uroce_netem_conf *conf, const char *text, char *error, unsigned int room);

/** @param stream	models of one seed and different streams are independent of each other */
void uroce_netem_model_init(struct uroce_netem_model *m, const struct uroce_netem_conf *conf, uint64_t stream);

/** The fate of the next frame, of so many bytes. */
void uroce_netem_decide(struct uroce_netem_model *m, uint32_t bytes, struct uroce_netem_fate *fate);

#endif /* UROCE_NETEM_MODEL_H */
