/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Runs a test from its options: agrees on parameters with the peer, sets up both ends, measures, has the server
 * check, and destroys both ends. The client's main thread.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "measure/client.h"
#include "floor/floor.h"
#include "measure/ping.h"
#include "signals.h"

/* Choose the largest path MTU that all ports support. A given --mtu above that of this end's ports is an error; one
 * above that of the peer's ports is reduced. @return 0 or -1, a message printed */
static int
agree_mtu(const struct perf_bench *b, uint32_t *mtu)
{
	uint32_t ours = 4096;

	for (unsigned int d = 0; d < b->host->nb_devs; d++)
		ours = RTE_MIN(ours, b->host->devs[d].mtu);
	*mtu = RTE_MIN(b->options->mtu, RTE_MIN(ours, b->peer->mtu));
	if (b->options->mtu_given && b->options->mtu > ours) {
		fprintf(stderr,
			"uroce-perf: --mtu %u is more than the port's path MTU of %u: use --mtu %u, or raise the "
			"interface's MTU\n",
			b->options->mtu, ours, ours);
		return -1;
	}
	if (*mtu < b->options->mtu && b->nb_rows == 0)
		fprintf(stderr, "uroce-perf: path MTU %u: the %s port supports no more\n", *mtu,
			*mtu == ours ? "own" : "peer's");
	return 0;
}

static int
params_make(const struct perf_bench *b, uint32_t size, struct perf_params *p)
{
	const struct perf_options *o = b->options;
	uint32_t rd_atomic = RTE_MIN(o->depth, b->peer->rd_atomic);

	for (unsigned int d = 0; d < b->host->nb_devs; d++)
		rd_atomic = RTE_MIN(rd_atomic, (uint32_t)b->host->devs[d].attr.max_qp_rd_atom);
	*p = (struct perf_params){
		.op = o->op,
		.transport = o->transport,
		.mode = o->mode,
		.size = size,
		.qps = o->qps,
		.depth = o->mode == PERF_LAT ? 1 : o->depth,
		.buffers = o->buffers,
		.rd_atomic = RTE_MAX(rd_atomic, 1u),
		.verify = o->verify,
		.fault = o->fault,
	};
	if (agree_mtu(b, &p->mtu) != 0)
		return -1;
	if (o->transport != PERF_UD || p->size <= p->mtu)
		return 0;
	if (!o->size_given) { /* a UD message is at most one packet */
		p->size = p->mtu;
		return 0;
	}
	fprintf(stderr,
		"uroce-perf: --size %u: a UD message is one packet, at most the path MTU of %u bytes: lower --size\n",
		p->size, p->mtu);
	return -1;
}

static void
verdict_take(struct perf_run *r, const struct perf_verdict *v)
{
	const struct perf_params *p = &r->end.params;

	if (!uroce_perf_ops[p->op].fetches)
		r->verified_bytes += v->verified_bytes;
	/* only messages that the server has received count */
	if (uroce_perf_is_lossy(p) && uroce_perf_params_receives(p) && p->mode != PERF_LAT &&
	    !r->failed) {
		r->lost = r->ops - RTE_MIN(r->ops, v->received);
		r->ops = v->received;
	}
	r->errors += v->errors;
	r->retransmits += v->retransmits;
	if (v->errors != 0)
		uroce_perf_run_fail(r, "%s", v->text[0] != '\0' ? v->text : "errors at the server");
}

/* Wait for messages in flight before the server counts; if the server has exited, finish() reports it. */
static void
settle(struct perf_run *r)
{
	for (unsigned int i = 0; i < UROCE_PERF_STALL_S * 1000 / UROCE_PERF_LOST_MS; i++)
		if (r->failed || uroce_perf_is_settled(r) || uroce_app_stopped())
			return;
}

/* Measure, with both ends set up. */
static void
measure(struct perf_client *c)
{
	uroce_perf_client_run(c);
	if (uroce_perf_is_lossy(&c->runs[0]->end.params))
		settle(c->runs[0]);
	uroce_perf_client_count(c);
}

static void
connect_and_measure(struct perf_client *c)
{
	struct perf_run *r = c->runs[0];
	struct perf_verdict verdict = { 0 };
	char error[PERF_TEXT_BYTES];

	if (c->peer->begin(c->peer, c, error, sizeof(error)) != 0) {
		uroce_perf_run_fail(r, "%s", error);
		return;
	}
	if (uroce_perf_lanes_connect(&c->lanes, error, sizeof(error)) == 0)
		measure(c);
	else
		uroce_perf_run_fail(r, "%s", error);
	if (c->peer->finish(c->peer, c, &verdict, error, sizeof(error)) == 0)
		verdict_take(r, &verdict);
	else
		uroce_perf_run_fail(r, "%s", error);
}

/* Have all bytes been verified? If a reply was lost, the server has still verified the ping. */
static bool
verified_all(const struct perf_row *row)
{
	if (uroce_perf_is_lossy(&row->params) && row->params.mode == PERF_LAT)
		return row->verified_bytes >= row->bytes;
	return row->verified_bytes == row->bytes;
}

static void
row_fill(const struct perf_bench *b, struct perf_run *r, struct perf_row *row)
{
	row->params = r->end.params;
	row->buffers = (uint64_t)r->end.slots * r->end.stride;
	row->lcores = r->end.lanes * b->lane_lcores;
	row->seconds = r->seconds;
	row->ops = r->ops;
	row->bytes = r->ops * r->end.params.size;
	row->lost = r->lost;
	row->retransmits = r->retransmits;
	row->handed_over = r->handed_over;
	row->late_rounds = r->late_rounds;
	row->verified_bytes = r->verified_bytes;
	if (r->failed && r->errors == 0)
		r->errors = 1;
	row->errors = r->errors;
	uroce_perf_row_latency(row, &r->latency, rte_get_tsc_hz());
	if (r->failed)
		return;
	if (row->params.verify && !verified_all(row)) {
		uroce_perf_run_fail(r, "only %llu of %llu bytes have been verified",
				    (unsigned long long)row->verified_bytes,
				    (unsigned long long)row->bytes);
		row->errors++;
	}
}

/* Measure the floor before and after a run: disturbances of the machine are temporary. */
static void
floor_take(const struct perf_bench *b, struct perf_row *row)
{
	const double rtt_ns = row->params.mode == PERF_LAT ? row->lat_us.p50 * 1e3 : 0;

	if (!b->options->floor || uroce_app_stopped())
		return;
	if (uroce_perf_floor_take(&row->floor, &row->params, &b->place, rtt_ns) != 0)
		fprintf(stderr, "uroce-perf: --floor: EAL has too little memory for it: reserve more hugepages, or "
				"raise -m\n");
}

/* Give each lane its share of the messages. */
static void
runs_init(const struct perf_bench *b, struct perf_client *c, unsigned int lanes)
{
	const uint64_t iters = b->options->iters;

	for (unsigned int i = 0; i < lanes; i++) {
		struct perf_run *r = c->runs[i];

		r->time_s = b->options->time_s;
		r->iters = iters / lanes + (i < iters % lanes);
		r->progress = b->progress;
		r->progress_arg = b->progress_arg;
	}
}

/* Run one row on lanes of the client. */
static int
client_run(struct perf_bench *b, struct perf_client *c, struct perf_row *row)
{
	struct perf_run *r = c->runs[0];
	char error[PERF_TEXT_BYTES];

	if (uroce_perf_lanes_create(&c->lanes, b->host, &row->params, false, &b->options->peer, NULL, error,
				    sizeof(error)) != 0) {
		fprintf(stderr, "uroce-perf: %s\n", error);
		return -1;
	}
	connect_and_measure(c);
	row_fill(b, r, row);
	uroce_perf_lanes_destroy(&c->lanes);
	if (!r->failed)
		floor_take(b, row);
	b->nb_rows++;
	if (r->failed)
		fprintf(stderr, "uroce-perf: %s\n", r->error);
	return r->failed ? -1 : 0;
}

static int
row_run(struct perf_bench *b, uint32_t size)
{
	struct perf_row *row = &b->rows[b->nb_rows];
	struct perf_client *c;
	struct perf_params params;
	unsigned int lanes;
	int ret;

	if (params_make(b, size, &params) != 0)
		return -1;
	row->params = params;
	floor_take(b, row);
	lanes = uroce_perf_lanes_count(&params, b->host);
	if (b->options->iters != 0)
		lanes = (unsigned int)RTE_MIN(lanes, b->options->iters);
	c = uroce_perf_client_alloc(b->peer, lanes);
	if (c == NULL) {
		fprintf(stderr, "uroce-perf: out of memory\n");
		return -1;
	}
	runs_init(b, c, lanes);
	ret = client_run(b, c, row);
	uroce_perf_client_free(c, lanes);
	return ret;
}

int
uroce_perf_bench_run(struct perf_bench *b)
{
	const struct perf_options *o = b->options;
	int ret = 0;

	if (!o->all_sizes)
		return row_run(b, o->size);
	for (unsigned int i = 0; i <= UROCE_PERF_ALL_SIZES_LOG2 && ret == 0; i++) {
		if (uroce_app_stopped() || (o->transport == PERF_UD && 1u << i > o->mtu))
			break;
		ret = row_run(b, 1u << i);
	}
	return ret;
}

/* Print the congestion counters that are not 0. */
static void
congestion_write(FILE *out, const struct app_host *host)
{
	static const char *const names[] = { "np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled",
					     "rp_cnp_ignored" };

	for (unsigned int i = 0; i < RTE_DIM(names); i++) {
		uint64_t value = uroce_app_host_counter(host, names[i]);

		if (value != 0)
			fprintf(out, "%s: %" PRIu64 "\n", names[i], value);
	}
}

void
uroce_perf_bench_report(FILE *out, const struct perf_bench *b)
{
	uroce_perf_report_table(out, b->rows, b->nb_rows);
	congestion_write(out, b->host);
	fflush(out);
}
