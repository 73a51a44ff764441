/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The receiving end: receives and checks messages, gives credit, and replies in lat mode.
 */

#ifndef UROCE_PERF_MEASURE_SERVER_H
#define UROCE_PERF_MEASURE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/endpoint.h"

#define PERF_TEXT_BYTES 256

/* The server's counts of a run. */
struct perf_verdict {
	uint64_t received; /* messages received; fewer than sent if a lossy transport lost some */
	uint64_t verified_bytes;
	uint64_t errors;
	uint64_t retransmits;
	char text[PERF_TEXT_BYTES]; /* the first error, or empty */
};

/* A lane of the server. Used by one thread at a time: the one that runs the rounds, then the one that finishes. */
struct perf_server {
	struct perf_end end;
	struct perf_verdict verdict; /* of the lane; without retransmits */
	uint32_t next_qp; /* lat: the QP of the next message */
	uint64_t rounds;	/* atomic: rounds on an lcore of its own */
	uint64_t next_reminder; /* TSC of the next repetition of credits */
	bool passive;     /* the server only polls its worker */
	const bool *stop; /* atomic: end the rounds on this lcore */
};

/** Initialize the lane; its end is created. */
void uroce_perf_server_init(struct perf_server *s);

/** Handle arrived messages and completions. @return their number */
unsigned int uroce_perf_server_round(struct perf_server *s);

/** Poll the lane's worker and run rounds until *stop, on an lcore. @param server	the lane. @return 0 */
int uroce_perf_server_lcore(void *server);

/** Record an error. */
void uroce_perf_server_note(struct perf_server *s, const char *format, ...) __rte_format_printf(2, 3);

#endif /* UROCE_PERF_MEASURE_SERVER_H */
