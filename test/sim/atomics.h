/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Words for atomics: what every one of them returned must be explained by some order in which each
 * was executed exactly once, and in which those of one QP are as they were posted.
 */

#ifndef UROCE_TEST_SIM_ATOMICS_H
#define UROCE_TEST_SIM_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "sim.h"

struct word_result {
	uint64_t owner; /* the QP, from one connection to the next */
	enum ibv_wr_opcode opcode;
	uint64_t compare_add;
	uint64_t swap;
	uint64_t original; /* what it returned */
	bool unknown;      /* it failed: was executed once or not at all */
	bool placed;       /* in the order that is being found */
};

struct word {
	volatile uint64_t guard_before;
	volatile uint64_t value;
	volatile uint64_t guard_after;
	uint64_t initial;
	uint64_t guess; /* what it may be just now, so that some CMP_AND_SWPs hit */
	struct word_result *results;
	uint32_t *order; /* the results that have been placed */
	uint32_t ordered;
	uint32_t tries; /* to go */
	uint32_t count;
	uint32_t room;
};

void word_init(struct word *w, struct sim_random *r);
void word_fini(struct word *w);

/** An atomic has completed: in the order in which its QP's complete. */
void word_note(struct word *w, const struct word_result *result);

/** All have completed, and the word is at rest: is there an order? */
void word_check(struct word *w);

#endif /* UROCE_TEST_SIM_ATOMICS_H */
