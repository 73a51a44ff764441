/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Runs the lanes of a client side by side: they start together, and each polls its worker until all are done, since
 * frames for another worker may arrive at its queue. Between start and end a lane writes only its own memory.
 */

#include <stdlib.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_launch.h>

#include "measure/client.h"
#include "measure/ping.h"
#include "signals.h"

struct perf_client *
uroce_perf_client_alloc(struct perf_peer *peer, unsigned int n)
{
	struct perf_client *c = uroce_perf_lines_alloc(sizeof(*c));

	if (c == NULL)
		return NULL;
	c->peer = peer;
	c->lanes.n = n;
	for (unsigned int i = 0; i < n; i++) {
		struct perf_run *r = uroce_perf_lines_alloc(sizeof(*r));

		if (r == NULL) {
			uroce_perf_client_free(c, n);
			return NULL;
		}
		uroce_perf_histogram_init(&r->latency);
		r->client = c;
		r->peer = peer;
		c->runs[i] = r;
		c->lanes.ends[i] = &r->end;
	}
	return c;
}

void
uroce_perf_client_free(struct perf_client *c, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		free(c->runs[i]);
	free(c);
}

static uint64_t
handed_over(const struct perf_client *c)
{
	return uroce_app_host_handed_over(c->runs[0]->end.host) +
	       (c->peer->host != NULL ? uroce_app_host_handed_over(c->peer->host) : 0);
}

static uint64_t
late_rounds(const struct perf_client *c)
{
	return uroce_app_host_late_rounds(c->runs[0]->end.host) +
	       (c->peer->host != NULL ? uroce_app_host_late_rounds(c->peer->host) : 0);
}

static void
counters_note(struct perf_client *c)
{
	c->retransmits = uroce_app_host_retransmits(c->runs[0]->end.host);
	c->handed_over = handed_over(c);
	c->late_rounds = late_rounds(c);
}

void
uroce_perf_client_count(struct perf_client *c)
{
	struct perf_run *r = c->runs[0];

	r->retransmits = uroce_app_host_retransmits(r->end.host) - c->retransmits;
	r->handed_over = handed_over(c) - c->handed_over;
	r->late_rounds = late_rounds(c) - c->late_rounds;
}

/* Probe the lane's peers, and wait for the other lanes. @return false: a lane has failed */
static bool
start_together(struct perf_client *c, struct perf_run *r)
{
	uroce_perf_probe(r);
	/* pairs with the acquire below: a failure comes before */
	__atomic_add_fetch(&c->ready, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&c->ready, __ATOMIC_ACQUIRE) != c->lanes.n)
		uroce_perf_run_poll(r);
	/* Not before the probes: those that waited for a neighbor's address have left by the queue that received it. */
	if (r->end.lane == 0)
		counters_note(c);
	return !__atomic_load_n(&c->stop, __ATOMIC_RELAXED) && !uroce_app_stopped();
}

/* Poll until no lane has messages in flight. */
static void
end_together(struct perf_client *c, struct perf_run *r)
{
	/* pairs with the acquire below: the other lanes need no frames any more */
	__atomic_sub_fetch(&c->running, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&c->running, __ATOMIC_ACQUIRE) != 0) {
		uint64_t now;

		uroce_perf_run_poll(r);
		now = rte_rdtsc();
		r->last_progress = now; /* of the lanes that still run */
		if (r->end.lane == 0 && r->hz != 0 && now >= r->next_tick)
			uroce_perf_run_tick(r, now);
	}
}

static int
lane_run(void *run)
{
	struct perf_run *r = run;
	struct perf_client *c = r->client;

	uroce_perf_poster_init(&r->end);
	if (!start_together(c, r))
		r->stopping = true;
	else if (r->end.params.mode == PERF_LAT)
		uroce_perf_run_lat(r);
	else
		uroce_perf_run_bw(r);
	end_together(c, r);
	return 0;
}

/* The clock runs from the first start to the last completion. A lane that saw the stop has not started. */
static void
clock_join(struct perf_run *sum, const struct perf_run *r)
{
	if (r->hz == 0)
		return;
	sum->start = sum->hz != 0 ? RTE_MIN(sum->start, r->start) : r->start;
	sum->end_tsc = RTE_MAX(sum->end_tsc, r->end_tsc);
	sum->hz = r->hz;
}

/* Add up the results of all lanes. */
static void
results_join(struct perf_client *c)
{
	struct perf_run *sum = c->runs[0];

	for (unsigned int i = 1; i < c->lanes.n; i++) {
		const struct perf_run *r = c->runs[i];

		sum->posted += r->posted;
		sum->ops += r->ops;
		sum->verified_bytes += r->verified_bytes;
		sum->errors += r->errors;
		uroce_perf_histogram_join(&sum->latency, &r->latency);
		clock_join(sum, r);
		if (r->failed)
			uroce_perf_run_fail(sum, "%s", r->error);
	}
	sum->seconds = sum->hz != 0 ? (double)(sum->end_tsc - sum->start) / (double)sum->hz : 0;
}

void
uroce_perf_client_run(struct perf_client *c)
{
	struct app_host *host = c->runs[0]->end.host;

	counters_note(c);
	c->ready = 0;
	c->running = c->lanes.n;
	uroce_app_host_pause(host, c->lanes.n);
	for (unsigned int i = 1; i < c->lanes.n; i++)
		RTE_VERIFY(rte_eal_remote_launch(lane_run, c->runs[i], host->lcores[i]) == 0);
	lane_run(c->runs[0]);
	for (unsigned int i = 1; i < c->lanes.n; i++)
		rte_eal_wait_lcore(host->lcores[i]);
	uroce_app_host_resume(host, c->lanes.n);
	results_join(c);
}
