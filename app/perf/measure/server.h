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

/* Used by one thread at a time: the one that runs the rounds, then the one that finishes. */
struct perf_server {
	struct perf_end end;
	struct perf_verdict verdict;
	uint64_t retransmits_before;
	uint32_t next_qp; /* lat: the QP of the next message */
	uint64_t rounds;	/* atomic: rounds on an lcore of its own */
	uint64_t next_reminder; /* TSC of the next repetition of credits */
	bool passive;     /* the server only polls its worker */
};

/** Initialize the server; its end is created and connected. */
void uroce_perf_server_init(struct perf_server *s);

/** Handle arrived messages and completions. @return their number */
unsigned int uroce_perf_server_round(struct perf_server *s);

/**
 * The client is done: take the remaining messages, and check the counts.
 * @param ops	messages that the client has sent
 * @param counts	atomics: operations on each QP; else NULL
 * @param idle	polls the workers of this thread
 */
void uroce_perf_server_finish(struct perf_server *s, uint64_t ops, const uint64_t *counts,
			      unsigned int (*idle)(void *arg), void *arg);

#endif /* UROCE_PERF_MEASURE_SERVER_H */
