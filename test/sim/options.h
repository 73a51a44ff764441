/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The command line of the simulation.
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
	unsigned int log2_window; /* of all devices; 0: the default */
	bool verbose;
	bool digests;	    /* print the digest of each seed */
	const char *expect; /* file of the expected digests; NULL: none */
	bool moves; /* QPs move between two engines of each end */
	bool unspared; /* harm packets any number of times: QPs may run out of retries */
	bool account; /* on failure, print the parts of the run */
};

/** Parse the options. Exits with a message on error. */
void options_parse(struct options *o, int argc, char **argv);

#endif /* UROCE_TEST_SIM_OPTIONS_H */
