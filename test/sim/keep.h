/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What is kept of a run. All of it, unless a list says what alone is: so a failure that the seed has found is made
 * smaller, by leaving out what it does not need (shrink.py). Things have numbers, and what is drawn for each depends
 * on nothing but the seed and its number: leaving one out changes none of the others.
 */

#ifndef UROCE_TEST_SIM_KEEP_H
#define UROCE_TEST_SIM_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "sim.h"

enum keep_what {
	KEEP_ACTIONS,	/* of the workload */
	KEEP_HARM,	/* done by the link: numbers of frames, in the order in which they are sent */
	KEEP_RECONNECTS, /* numbers of connections */
	KEEP_SCENARIOS, /* numbers of connections; KEEP_OVERRUN */
	KEEP_COUNT,
};

/* The actions of a phase of the run have numbers of their own. */
#define KEEP_PHASE_ACTIONS (UINT64_C(1) << 20)
#define KEEP_OVERRUN	   64

extern const char *const keep_names[KEEP_COUNT];

/** Forget what was done, not the lists. */
void keep_reset(void);

/** Keep only these: "none", or "1-5,8", ascending. @return false: that is not such a list */
bool keep_parse(enum keep_what what, const char *list);

/** Is it kept? Then it is noted as done. */
bool keep_do(enum keep_what what, uint64_t number);

/** The same, without noting it. */
bool keep_has(enum keep_what what, uint64_t number);

/** Is anything to come from this number on, below that one? If there is no list: yes. */
bool keep_more(enum keep_what what, uint64_t from, uint64_t below);

/** Print what was done, as lists. */
void keep_print(void);

/** Go on as if from here nothing had been drawn. */
void keep_draw_anew(struct sim_random *r, uint64_t seed, uint64_t stream, uint64_t number);

#endif /* UROCE_TEST_SIM_KEEP_H */
