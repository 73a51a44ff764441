/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The client's side of one row of the result: a run on each lane.
 */

#ifndef UROCE_PERF_MEASURE_CLIENT_H
#define UROCE_PERF_MEASURE_CLIENT_H

#include "measure/lanes.h"
#include "measure/run.h"

struct perf_client {
	struct perf_peer *peer;
	struct perf_lanes lanes; /* the ends of the runs */
	struct perf_run *runs[UROCE_MAX_WORKERS];
	/* counts of the ends in this process before the measured time */
	uint64_t retransmits; /* of the client's end */
	uint64_t handed_over;
	uint64_t late_rounds;
	/* atomics of all lanes, before and after the measured time; its lines are read only meanwhile */
	uint32_t ready;	  /* lanes that have probed their peers */
	uint32_t running; /* lanes that still have messages in flight */
	bool stop;	  /* a lane has failed: all end */
};

/** Allocate the runs of n lanes; their ends are not created. @return NULL: out of memory */
struct perf_client *uroce_perf_client_alloc(struct perf_peer *peer, unsigned int n);
void uroce_perf_client_free(struct perf_client *c, unsigned int n);

/** Run the connected lanes to the end, lane 0 on the calling main thread, the others on the lcores of their workers. The
 * results of all lanes are in runs[0] afterward. */
void uroce_perf_client_run(struct perf_client *c);

/** Set the counts of runs[0], after uroce_perf_client_run() and once all frames have arrived. */
void uroce_perf_client_count(struct perf_client *c);

/** Get the messages completed so far, on all lanes. */
static inline uint64_t
uroce_perf_client_ops(const struct perf_client *c)
{
	uint64_t ops = 0;

	for (unsigned int i = 0; i < c->lanes.n; i++)
		ops += __atomic_load_n(&c->runs[i]->ops, __ATOMIC_RELAXED);
	return ops;
}

#endif /* UROCE_PERF_MEASURE_CLIENT_H */
