/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The command line.
 */

#ifndef UROCE_TEST_SIM_OPTIONS_H
#define UROCE_TEST_SIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct options {
	uint64_t first_seed;
	uint64_t last_seed;
	unsigned int steps;
	unsigned int conns; /* at most; 0: as drawn */
	bool verbose;
	bool digests;	    /* print each seed's */
	const char *expect; /* the file that they have to be in; NULL: no file */
	bool unspared; /* harm packets any number of times: QPs may run out of retries */
	bool account; /* if it fails, say what the run has consisted of */
};

/** Exits, with a word about it, unless they can be understood. */
void options_parse(struct options *o, int argc, char **argv);

#endif /* UROCE_TEST_SIM_OPTIONS_H */
