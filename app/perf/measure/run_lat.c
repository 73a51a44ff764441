/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Measures latency: one message at a time, on each QP in turn. If the peer replies to the message, it is the
 * round-trip time, else the time to the completion. The client's loop, on the thread that polls its worker.
 */

#include <string.h>

#include "measure/ping.h"
#include "measure/run.h"
#include "signals.h"
#include "measure/verify.h"

struct lat {
	struct perf_run *run;
	enum perf_lat_kind kind;
	uint64_t patience;     /* TSC cycles after which a message may be lost; UINT64_MAX: never */
	bool over;             /* the current round trip has ended */
	bool lost;             /* it has ended without a reply */
	unsigned int unreaped; /* completions of sends that were not taken yet */
};

static void
completions_take(struct lat *l)
{
	struct perf_run *r = l->run;
	struct ibv_wc wcs[UROCE_BURST];
	int n = uroce_perf_end_completions(&r->end, wcs, RTE_DIM(wcs));

	if (unlikely(n < 0))
		uroce_perf_run_fail(r, "cannot poll the completion queue");
	for (int i = 0; i < n; i++) {
		if (unlikely(wcs[i].status != IBV_WC_SUCCESS))
			uroce_perf_run_bad_completion(r, &wcs[i]);
		else if ((wcs[i].opcode & IBV_WC_RECV) != 0)
			l->over = true;
		else
			l->unreaped--;
	}
}

/* Has the reply arrived? */
static inline bool
is_answered(struct lat *l, const struct perf_qp *q)
{
	if (l->kind == PERF_LAT_MEMORY) {
		if (l->unreaped >= PERF_SHORT_QUEUE / 2)
			completions_take(l);
		return uroce_perf_lat_arrived(&l->run->end, q, q->done) == 0;
	}
	completions_take(l);
	return l->kind == PERF_LAT_COMPLETION ? l->unreaped == 0 : l->over;
}

/* Is the reply lost? A late reply must not count for the next message. */
static bool
is_lost(struct lat *l, const struct perf_qp *q)
{
	const bool settled = uroce_perf_is_settled(l->run);

	return !is_answered(l, q) && settled;
}

/* Run one round trip. A send queue holds at most PERF_SHORT_QUEUE unreaped messages. */
static bool
one_round_trip(struct lat *l, struct perf_qp *q)
{
	struct perf_run *r = l->run;
	uint64_t start = rte_rdtsc(), now;
	int ret = uroce_perf_post(&r->end, q, 1);

	if (unlikely(ret != 0)) {
		uroce_perf_run_fail(r, "cannot post to queue pair %u: %s", q->index,
				    strerror(ret));
		return false;
	}
	r->posted++;
	l->unreaped++;
	l->over = l->lost = false;
	for (;;) {
		uroce_perf_run_poll(r);
		now = rte_rdtsc();
		if (is_answered(l, q) && l->unreaped < PERF_SHORT_QUEUE)
			break;
		if (unlikely(now - start > l->patience) && l->unreaped < PERF_SHORT_QUEUE) {
			l->lost = is_lost(l, q);
			if (l->lost)
				return true;
		}
		if (unlikely(now >= r->next_tick))
			uroce_perf_run_tick(r, now);
		if (unlikely(r->failed))
			return false;
	}
	now = rte_rdtsc();
	uroce_perf_histogram_add(&r->latency, now - start);
	r->end_tsc = now;
	return true;
}

/* Outside the measured time: check the reply, and make room for the next one. */
static void
account(struct lat *l, struct perf_qp *q)
{
	struct perf_run *r = l->run;

	if (r->end.params.verify && r->end.has_in) {
		size_t wrong = uroce_perf_check_message(&r->end, q, q->done, q->done);

		if (wrong != PERF_VERIFIED) {
			r->errors++;
			uroce_perf_run_fail(r, "queue pair %u, reply %llu: byte %zu is wrong",
					    q->index, (unsigned long long)q->done, wrong);
		} else if (l->kind == PERF_LAT_COMPLETION) {
			r->verified_bytes += r->end.params.size;
		}
	}
	q->done++;
	uroce_perf_run_add_ops(r, 1);
	if (r->end.recv_depth > 0) {
		q->received++;
		if (uroce_perf_end_receive(&r->end, q) != 0)
			uroce_perf_run_fail(r, "cannot post receives to queue pair %u", q->index);
	}
}

/* Reap the remaining sends: the last ones may not be acknowledged yet. */
static void
reap(struct lat *l)
{
	const uint64_t deadline = rte_rdtsc() + l->run->hz;

	while (l->unreaped > 0 && !l->run->failed && rte_rdtsc() < deadline) {
		uroce_perf_run_poll(l->run);
		completions_take(l);
	}
}

void
uroce_perf_run_lat(struct perf_run *r)
{
	struct lat l = { .run = r, .kind = uroce_perf_lat_kind(&r->end.params) };
	uint32_t next = 0;

	uroce_perf_run_start(r);
	l.patience = uroce_perf_is_lossy(&r->end.params) ? r->hz / 1000 * UROCE_PERF_LOST_MS
							  : UINT64_MAX;
	while (!r->stopping) {
		struct perf_qp *q = &r->end.qps[next];

		if (r->iters != 0 && r->posted == r->iters)
			break;
		if (!one_round_trip(&l, q))
			break;
		if (unlikely(l.lost)) { /* the message or its reply is lost: the next message uses the same QP */
			r->lost++;
			q->done++;
		} else {
			account(&l, q);
			next = next + 1 < r->end.nb_qps ? next + 1 : 0;
		}
		if (unlikely(r->end_tsc >= r->next_tick))
			uroce_perf_run_tick(r, r->end_tsc);
	}
	reap(&l);
}
