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
	uint64_t received; /* messages that it knows of; of a lossy transport fewer than were sent */
	uint64_t verified_bytes;
	uint64_t errors;
	uint64_t retransmits;
	char text[PERF_TEXT_BYTES]; /* the first error, or empty */
};

/* Touched by one thread at a time: the one that runs the rounds, then the one that finishes. */
struct perf_server {
	struct perf_end end;
	struct perf_verdict verdict;
	uint64_t retransmits_before;
	uint32_t next_qp; /* lat: whose message comes next */
	uint64_t rounds;	/* on an lcore of its own; atomic */
	uint64_t next_reminder; /* TSC: lost credits are given again */
	bool passive;     /* only polls the worker */
};

/** The end has been created and connected. */
void uroce_perf_server_init(struct perf_server *s);

/** Take what has arrived. @return how much that was */
unsigned int uroce_perf_server_round(struct perf_server *s);

/**
 * The client is done: take what is still there, and judge.
 * @param ops		messages that the client has sent
 * @param counts	atomics: operations on each QP; else NULL
 * @param idle		polls the workers of this thread
 */
void uroce_perf_server_finish(struct perf_server *s, uint64_t ops, const uint64_t *counts,
			      unsigned int (*idle)(void *arg), void *arg);

#endif /* UROCE_PERF_MEASURE_SERVER_H */
