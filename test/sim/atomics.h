/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Words for atomics. Some order of execution must explain all returned values: each atomic was executed exactly once,
 * and those of a QP in the order of posting.
 */

#ifndef UROCE_TEST_SIM_ATOMICS_H
#define UROCE_TEST_SIM_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "sim.h"

struct word_result {
	uint64_t owner; /* the QP; a renewed connection has another owner */
	enum ibv_wr_opcode opcode;
	uint64_t compare_add;
	uint64_t swap;
	uint64_t original; /* the returned value */
	bool unknown;      /* it failed: executed once or not at all */
	bool placed;       /* it has a place in the order */
};

struct word {
	volatile uint64_t guard_before;
	volatile uint64_t value;
	volatile uint64_t guard_after;
	uint64_t initial;
	uint64_t guess; /* a likely current value, so that some CMP_AND_SWPs succeed */
	struct word_result *results;
	uint32_t *order; /* the placed results */
	uint32_t ordered;
	uint32_t tries; /* remaining steps of the search */
	uint32_t count;
	uint32_t room;
};

void word_init(struct word *w, struct sim_random *r);
void word_fini(struct word *w);

/** Record the result of an atomic, in the order in which those of its QP complete. */
void word_note(struct word *w, const struct word_result *result);

/** Check that an order exists, when all atomics have completed. */
void word_check(struct word *w);

#endif /* UROCE_TEST_SIM_ATOMICS_H */
