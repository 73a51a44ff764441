/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One run: a lane of the client's side of one row of the result. A loop posts, polls the lane's worker and takes
 * completions, all on one thread.
 */

#ifndef UROCE_PERF_MEASURE_RUN_H
#define UROCE_PERF_MEASURE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

#include "measure/endpoint.h"
#include "measure/histogram.h"
#include "measure/server.h"

struct perf_client;
struct perf_run;

/* The other end, in this process or another. */
struct perf_peer {
	/* Set up the other end for the run, and fill `remote` of this end's QPs. @return 0; -1 and the reason */
	int (*begin)(struct perf_peer *peer, struct perf_client *client, char *error, size_t room);
	/* Check the other end several times a second. @return 0; -1 and the reason: the other end is lost */
	int (*alive)(struct perf_peer *peer, char *error, size_t room);
	/* End the run. @return 0 and the verdict; -1 and the reason */
	int (*finish)(struct perf_peer *peer, const struct perf_client *client,
		      struct perf_verdict *verdict, char *error, size_t room);
	const struct app_host *host; /* the other end, if it is in this process; or NULL */
	uint32_t mtu;                /* the largest path MTU of its ports */
	uint32_t rd_atomic;          /* most READs and atomics in flight at the peer */
};

struct perf_run {
	struct perf_end end;
	struct perf_client *client;
	struct perf_peer *peer;
	struct perf_server *shared; /* the lane of a server on this thread; or NULL */
	const uint64_t *rounds;     /* rounds of a server's lane on another thread; or NULL */
	struct perf_histogram latency; /* in TSC cycles */
	double time_s;
	uint64_t iters; /* 0: time_s limits the run */
	void (*progress)(void *arg, const char *line); /* once a second; NULL: to standard error */
	void *progress_arg;
	/* results */
	uint64_t posted; /* messages, all QPs of the lane */
	uint64_t ops;    /* lane: rw, main thread: relaxed read */
	uint64_t lost; /* messages lost by a lossy transport */
	uint64_t verified_bytes;
	uint64_t errors;
	uint64_t retransmits;
	uint64_t handed_over; /* frames, at the ends in this process */
	uint64_t late_rounds; /* of workers, at the ends in this process */
	double seconds;
	bool failed;
	char error[PERF_TEXT_BYTES]; /* the first error, or empty */
	/* running */
	bool stopping; /* post no more */
	unsigned int seconds_shown;
	unsigned int stall_s; /* time without a completion after which the run fails */
	uint64_t hz;
	uint64_t start; /* TSC, like the fields below */
	uint64_t deadline;
	uint64_t next_tick;
	uint64_t last_progress;
	uint64_t ops_at_tick;
	uint64_t ops_shown;
	uint64_t end_tsc; /* of the last completion */
};

/** Record an error and end the run, on all lanes. */
void uroce_perf_run_fail(struct perf_run *r, const char *format, ...) __rte_format_printf(2, 3);

/** Record a completion with an error, and end the run. */
void uroce_perf_run_bad_completion(struct perf_run *r, const struct ibv_wc *wc);

/** Start the clock. */
void uroce_perf_run_start(struct perf_run *r);

/** Called several times a second: ends the run by time or signal, detects stalls; lane 0 reports progress, and checks the
 * peer. */
void uroce_perf_run_tick(struct perf_run *r, uint64_t now);

static inline void
uroce_perf_run_add_ops(struct perf_run *r, uint64_t n)
{
	__atomic_store_n(&r->ops, r->ops + n, __ATOMIC_RELAXED);
}

/** Poll the worker once, and run a round of the server if it shares the thread. */
static inline void
uroce_perf_run_poll(struct perf_run *r)
{
	uroce_worker_poll(r->end.worker);
	if (r->shared != NULL)
		uroce_perf_server_round(r->shared);
}

/** Run to the end; the result is in *r. */
void uroce_perf_run_bw(struct perf_run *r);
void uroce_perf_run_lat(struct perf_run *r);

#endif /* UROCE_PERF_MEASURE_RUN_H */
