/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Lists of the parts of a run that are kept; without a list, all are. shrink.py reduces a failing run by leaving out
 * parts that the failure does not need. Each part has a number, and its random numbers depend only on the seed and this
 * number: leaving one out does not change the others.
 */

#ifndef UROCE_TEST_SIM_KEEP_H
#define UROCE_TEST_SIM_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "sim.h"

enum keep_what {
	KEEP_ACTIONS,	/* actions of the workload */
	KEEP_HARM,	/* harm by the link: numbers of frames, in the order of sending */
	KEEP_RECONNECTS, /* numbers of connections */
	KEEP_SCENARIOS, /* numbers of connections; KEEP_OVERRUN */
	KEEP_COUNT,
};

/* Each phase of the run numbers its actions from a multiple of this. */
#define KEEP_PHASE_ACTIONS (UINT64_C(1) << 20)
#define KEEP_OVERRUN	   64

extern const char *const keep_names[KEEP_COUNT];

/** Forget the parts that were done, not the lists. */
void keep_reset(void);

/** Keep only these: "none", or "1-5,8", ascending. @return false: not such a list */
bool keep_parse(enum keep_what what, const char *list);

/** Is the part kept? If so, note it as done. */
bool keep_do(enum keep_what what, uint64_t number);

/** Is the part kept? */
bool keep_has(enum keep_what what, uint64_t number);

/** Is any number in from .. below - 1 kept? Without a list: yes. */
bool keep_more(enum keep_what what, uint64_t from, uint64_t below);

/** Print the parts that were done, as lists. */
void keep_print(void);

/** Restart the random numbers for this number, independently of earlier draws. */
void keep_draw_anew(struct sim_random *r, uint64_t seed, uint64_t stream, uint64_t number);

#endif /* UROCE_TEST_SIM_KEEP_H */
