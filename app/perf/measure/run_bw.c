/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Measures throughput and message rate: every QP keeps `depth` messages in flight. The loop of a client's lane, on the
 * thread that polls its worker; a measured hot loop.
 */

#include <string.h>

#include "measure/ping.h"
#include "measure/run.h"
#include "signals.h"
#include "measure/verify.h"

/* The state of the loop. */
struct bw {
	struct perf_run *run;
	uint32_t depth;
	uint32_t batch; /* messages posted at once */
	bool credits;   /* the server credits slots for reuse */
	bool fetches;
	bool verify;
	uint32_t cursor; /* the next QP to check for credits */
	uint64_t credit_sum;
	uint64_t credit_tsc; /* time of the last increase */
};

/* Get the number of messages that the QP may post now. */
static inline uint64_t
qp_room(const struct bw *b, const struct perf_qp *q)
{
	const struct perf_end *end = &b->run->end;
	uint64_t room = b->depth - (q->posted - q->done);
	uint64_t unchecked;

	if (b->credits) {
		/* pairs with the release in uroce_place(): the server WRITEs the credits */
		unchecked = q->posted - __atomic_load_n(q->credit, __ATOMIC_ACQUIRE);
		room = RTE_MIN(room, unchecked < end->window ? end->window - unchecked : 0);
	} else if (b->verify) {
		room = RTE_MIN(room, end->slots - (q->posted - q->done));
	}
	return room;
}

/* Post up to `batches` batches, as far as there is room. */
static inline void
qp_post(struct bw *b, struct perf_qp *q, uint32_t batches)
{
	struct perf_run *r = b->run;
	uint64_t room = qp_room(b, q);

	for (; batches > 0 && !r->stopping; batches--) {
		uint64_t n = b->batch;
		int ret;

		if (r->iters != 0)
			n = RTE_MIN(n, r->iters - r->posted);
		if (n == 0) {
			r->stopping = true;
			return;
		}
		if (room < n)
			return;
		q->stamps[(q->posted + n - 1) & r->end.stamp_mask] = rte_rdtsc();
		ret = uroce_perf_post(&r->end, q, (unsigned int)n);
		if (unlikely(ret != 0)) {
			uroce_perf_run_fail(r, "cannot post to queue pair %u: %s", q->index,
					    strerror(ret));
			return;
		}
		r->posted += n;
		room -= n;
	}
}

static void
fetched_check(struct bw *b, const struct perf_qp *q, uint64_t n)
{
	struct perf_run *r = b->run;

	for (uint64_t seq = q->done; seq < q->done + n; seq++) {
		size_t wrong = uroce_perf_check_message(&r->end, q, seq, seq);

		if (wrong == PERF_VERIFIED) {
			r->verified_bytes += r->end.params.size;
			continue;
		}
		r->errors++;
		uroce_perf_run_fail(r, "queue pair %u, message %llu: byte %zu is wrong", q->index,
				    (unsigned long long)seq, wrong);
	}
}

/* A completion covers its message and all earlier ones of the QP. */
static inline void
complete(struct bw *b, const struct ibv_wc *wc, uint64_t now)
{
	struct perf_run *r = b->run;
	struct perf_qp *q = uroce_perf_wr_qp(&r->end, wc->wr_id);
	uint64_t n;

	if (unlikely(wc->status != IBV_WC_SUCCESS)) {
		uroce_perf_run_bad_completion(r, wc);
		return;
	}
	n = (uint32_t)((uint32_t)wc->wr_id - (uint32_t)q->done) + 1;
	uroce_perf_histogram_add(&r->latency,
				 now - q->stamps[(q->done + n - 1) & r->end.stamp_mask]);
	if (b->verify && b->fetches)
		fetched_check(b, q, n);
	q->done += n;
	uroce_perf_run_add_ops(r, n);
	r->end_tsc = now;
	qp_post(b, q, UINT32_MAX);
}

/* Credits arrive without a completion: check some QPs in each round. */
static void
credits_take(struct bw *b)
{
	struct perf_end *end = &b->run->end;

	for (uint32_t i = 0; i < RTE_MIN(end->nb_qps, 64u); i++) {
		qp_post(b, &end->qps[b->cursor], UINT32_MAX);
		b->cursor = b->cursor + 1 < end->nb_qps ? b->cursor + 1 : 0;
	}
}

static bool
all_credited(const struct bw *b)
{
	const struct perf_end *end = &b->run->end;

	for (uint32_t i = 0; b->credits && i < end->nb_qps; i++) {
		/* pairs as in qp_room() */
		if (__atomic_load_n(end->qps[i].credit, __ATOMIC_ACQUIRE) != end->qps[i].posted)
			return false;
	}
	return true;
}

/* Has the server given more credit, or was more posted? */
static bool
credits_moved(struct bw *b, uint64_t now)
{
	struct perf_run *r = b->run;
	uint64_t sum = r->posted;

	for (uint32_t i = 0; i < r->end.nb_qps; i++) /* pairs as in qp_room() */
		sum += __atomic_load_n(r->end.qps[i].credit, __ATOMIC_ACQUIRE);
	if (sum == b->credit_sum)
		return false;
	b->credit_sum = sum;
	b->credit_tsc = now;
	return true;
}

/* Stop waiting for lost messages of a lossy transport: all frames have arrived, but the server has granted no credit
 * for them. Before that, their slots must not be overwritten. Ctrl-C does not skip this: a slow server is no loss. */
static void
write_off(struct bw *b, uint64_t now)
{
	struct perf_run *r = b->run;

	if (credits_moved(b, now) || now - b->credit_tsc < r->hz / 1000 * UROCE_PERF_LOST_MS)
		return;
	if (!uroce_perf_is_settled(r) || credits_moved(b, now))
		return;
	for (uint32_t i = 0; i < r->end.nb_qps; i++)
		__atomic_store_n(r->end.qps[i].credit, r->end.qps[i].posted, __ATOMIC_RELAXED);
}

static bool
is_over(const struct bw *b)
{
	const struct perf_run *r = b->run;

	return r->failed || (r->stopping && r->ops == r->posted && all_credited(b));
}

static void
bw_init(struct bw *b, struct perf_run *r)
{
	const struct perf_params *p = &r->end.params;

	*b = (struct bw){
		.run = r,
		.depth = p->depth,
		.batch = 1,
		.fetches = uroce_perf_ops[p->op].fetches,
		.verify = p->verify,
	};
	b->credits = uroce_perf_has_credits(p);
	if (p->size < UROCE_PERF_BATCH_BYTES)
		b->batch = RTE_MAX(RTE_MIN(p->depth / 4, (uint32_t)UROCE_PERF_BATCH), 1u);
	if (p->verify)
		b->batch = RTE_MIN(b->batch, r->end.slots);
}

/* Take all completions. @return time of the last poll */
static inline uint64_t
completions_take(struct bw *b)
{
	struct perf_run *r = b->run;
	struct ibv_wc wcs[UROCE_BURST];
	uint64_t now;
	int n;

	do {
		n = uroce_perf_end_completions(&r->end, wcs, RTE_DIM(wcs));
		now = rte_rdtsc();
		if (unlikely(n < 0))
			uroce_perf_run_fail(r, "cannot poll the completion queue");
		for (int i = 0; i < n; i++)
			complete(b, &wcs[i], now);
	} while (n == (int)RTE_DIM(wcs));
	return now;
}

static void
tick(struct bw *b, uint64_t now)
{
	uroce_perf_run_tick(b->run, now);
	if (b->credits && uroce_perf_is_lossy(&b->run->end.params))
		write_off(b, now);
}

void
uroce_perf_run_bw(struct perf_run *r)
{
	struct bw b;
	uint64_t now;

	bw_init(&b, r);
	uroce_perf_run_start(r);
	for (uint32_t posted = 0; posted < b.depth; posted += b.batch) {
		for (uint32_t i = 0; i < r->end.nb_qps; i++)
			qp_post(&b, &r->end.qps[i], 1);
	}
	while (!is_over(&b)) {
		uroce_perf_run_poll(r);
		now = completions_take(&b);
		if (b.credits)
			credits_take(&b);
		if (unlikely(now >= r->next_tick))
			tick(&b, now);
	}
}
