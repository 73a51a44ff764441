/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Shared by the measuring loops: the clock, progress output, and failures. The lane's thread.
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report.h"
#include "measure/client.h"
#include "signals.h"

#define TICKS_PER_SECOND 20

void
uroce_perf_run_fail(struct perf_run *r, const char *format, ...)
{
	va_list args;

	r->failed = true;
	r->stopping = true;
	__atomic_store_n(&r->client->stop, true, __ATOMIC_RELAXED);
	if (r->error[0] != '\0')
		return;
	va_start(args, format);
	vsnprintf(r->error, sizeof(r->error), format, args);
	va_end(args);
}

void
uroce_perf_run_bad_completion(struct perf_run *r, const struct ibv_wc *wc)
{
	const struct perf_qp *q = uroce_perf_wr_qp(&r->end, wc->wr_id);

	if (wc->status == IBV_WC_WR_FLUSH_ERR && r->failed)
		return;
	r->errors++;
	uroce_perf_run_fail(r, "queue pair %u, message %llu: %s (work completion status %d)",
			    q->index, (unsigned long long)q->done, uroce_wc_status_str(wc->status),
			    (int)wc->status);
}

void
uroce_perf_run_start(struct perf_run *r)
{
	r->hz = rte_get_tsc_hz();
	r->start = rte_rdtsc();
	r->end_tsc = r->start;
	r->last_progress = r->start;
	/* a large message takes long on a slow link, which all queue pairs share */
	r->stall_s = UROCE_PERF_STALL_S +
		     (unsigned int)((uint64_t)r->end.params.size * r->end.params.qps /
				    UROCE_PERF_SLOW_BYTES_S);
	r->deadline = r->start + (uint64_t)(r->time_s * (double)r->hz);
	r->next_tick = r->iters != 0 ? r->start + r->hz / TICKS_PER_SECOND
				     : RTE_MIN(r->deadline, r->start + r->hz / TICKS_PER_SECOND);
}

static void
progress(struct perf_run *r, double second)
{
	const uint64_t ops = uroce_perf_client_ops(r->client);
	char line[PERF_TEXT_BYTES];

	uroce_perf_report_progress(line, sizeof(line), &r->end.params, second, ops - r->ops_shown,
				   second - r->seconds_shown);
	if (r->progress != NULL)
		r->progress(r->progress_arg, line);
	else
		fprintf(stderr, "%s\n", line);
	r->seconds_shown = (unsigned int)second;
	r->ops_shown = ops;
}

/* For all lanes: show progress, and check the peer. */
static void
main_tick(struct perf_run *r, uint64_t now)
{
	const double second = (double)(now - r->start) / (double)r->hz;
	char error[PERF_TEXT_BYTES];

	if (second >= r->seconds_shown + 1)
		progress(r, second);
	if (!r->failed && r->peer->alive(r->peer, error, sizeof(error)) != 0)
		uroce_perf_run_fail(r, "%s", error);
}

void
uroce_perf_run_tick(struct perf_run *r, uint64_t now)
{
	if (uroce_app_stopped() || (r->iters == 0 && now >= r->deadline) ||
	    __atomic_load_n(&r->client->stop, __ATOMIC_RELAXED))
		r->stopping = true;
	if (r->ops != r->ops_at_tick)
		r->last_progress = now;
	else if (now - r->last_progress > r->stall_s * r->hz)
		uroce_perf_run_fail(r, "no work request has completed for %u seconds", r->stall_s);
	r->ops_at_tick = r->ops;
	if (r->end.lane == 0)
		main_tick(r, now);
	r->next_tick = now + r->hz / TICKS_PER_SECOND;
	if (r->iters == 0 && !r->stopping)
		r->next_tick = RTE_MIN(r->next_tick, r->deadline);
}
