/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Prints results. One thread at a time: the main thread, or the prompt's thread between two tests.
 */

#include <string.h>

#include "report.h"
#include "floor/floor_ratio.h"

void
uroce_perf_row_latency(struct perf_row *row, const struct perf_histogram *h, uint64_t hz)
{
	const double us = 1e6 / (double)hz;

	memset(&row->lat_us, 0, sizeof(row->lat_us));
	if (h->count == 0)
		return;
	row->lat_us.min = (double)h->min * us;
	row->lat_us.p50 = (double)uroce_perf_histogram_quantile(h, 0.5) * us;
	row->lat_us.p99 = (double)uroce_perf_histogram_quantile(h, 0.99) * us;
	row->lat_us.p999 = (double)uroce_perf_histogram_quantile(h, 0.999) * us;
	row->lat_us.max = (double)h->max * us;
}

double
uroce_perf_row_gbps(const struct perf_row *row)
{
	return row->seconds > 0 ? (double)row->bytes * 8 / row->seconds / 1e9 : 0;
}

double
uroce_perf_row_mops(const struct perf_row *row)
{
	return row->seconds > 0 ? (double)row->ops / row->seconds / 1e6 : 0;
}

/* Format a size: "64K" if it is a whole number of K or M. */
static const char *
size_text(uint32_t bytes, char *text, size_t room)
{
	if (bytes >= 1 << 20 && bytes % (1 << 20) == 0)
		snprintf(text, room, "%uM", bytes >> 20);
	else if (bytes >= 1 << 10 && bytes % (1 << 10) == 0)
		snprintf(text, room, "%uK", bytes >> 10);
	else
		snprintf(text, room, "%u", bytes);
	return text;
}

void
uroce_perf_report_progress(char *line, size_t room, const struct perf_params *p, double second,
			   uint64_t ops, double interval)
{
	char size[16];

	snprintf(line, room, "%5.0f s  %s %s: %.2f Gb/s  %.3f Mops/s", second,
		 uroce_perf_ops[p->op].name, size_text(p->size, size, sizeof(size)),
		 (double)ops * p->size * 8 / interval / 1e9, (double)ops / interval / 1e6);
}

static bool
has_floor(const struct perf_row *r)
{
	return r->floor.cores > 0;
}

/* Print the measured floors, and the one that bounds the row. */
static void
floor_line(FILE *out, const struct perf_row *r)
{
	const struct perf_floor *f = &r->floor;
	enum perf_bound bound;
	double share = uroce_perf_floor_ratio(r, &bound);
	char size[16];

	if (f->gbps <= 0 && f->mops <= 0)
		return;
	fprintf(out, "floor %s:", size_text(r->params.size, size, sizeof(size)));
	if (f->gbps > 0)
		fprintf(out, " CRC and copy (%s) %.1f Gb/s a core", f->copy, f->gbps);
	if (f->pair_gbps > 0)
		fprintf(out, ", with the sender's CRC %.1f", f->pair_gbps);
	if (f->mops > 0)
		fprintf(out, "%s mbufs over a ring %.1f M/s, there and back %.0f ns, p99.9 %.0f",
			f->gbps > 0 ? ";" : "", f->mops, f->rtt_ns, f->rtt_p999_ns);
	if (f->span > 0)
		fprintf(out, ", %u in a row %.0f ns, p99.9 %.0f", f->span, f->span_ns, f->span_p999_ns);
	if (bound != PERF_BOUND_NONE)
		fprintf(out, "; %s: %.3f of what it allows", uroce_perf_bounds[bound], share);
	fprintf(out, "\n");
}

static void
share_column(FILE *out, const struct perf_row *r)
{
	enum perf_bound bound;
	double share = uroce_perf_floor_ratio(r, &bound);

	if (bound != PERF_BOUND_NONE)
		fprintf(out, " %6.3f", share);
	else if (has_floor(r))
		fprintf(out, "      -");
	fprintf(out, "\n");
}

void
uroce_perf_report_table(FILE *out, const struct perf_row *rows, unsigned int n)
{
	bool with_share = false;
	char size[16];

	if (n == 0)
		return;
	for (unsigned int i = 0; i < n; i++)
		with_share |= has_floor(&rows[i]);
	fprintf(out, "\n%-9s %-9s %-4s %7s %5s %5s %6s %6s %9s %9s %9s %9s %9s %9s %7s %6s%s\n", "op", "transport",
		"mode", "size", "mtu", "qps", "depth", "lcores", "Gb/s", "Mops/s", "min us",
		"p50 us", "p99 us", "max us", "retrans", "errors", with_share ? "  share" : "");
	for (unsigned int i = 0; i < n; i++) {
		const struct perf_row *r = &rows[i];

		fprintf(out,
			"%-9s %-9s %-4s %7s %5u %5u %6u %6u %9.3f %9.4f %9.2f %9.2f %9.2f %9.2f %7llu %6llu",
			uroce_perf_ops[r->params.op].name,
			uroce_perf_transports[r->params.transport].name,
			uroce_perf_modes[r->params.mode],
			size_text(r->params.size, size, sizeof(size)), r->params.mtu, r->params.qps,
			r->params.depth, r->lcores, uroce_perf_row_gbps(r), uroce_perf_row_mops(r),
			r->lat_us.min, r->lat_us.p50, r->lat_us.p99, r->lat_us.max,
			(unsigned long long)r->retransmits, (unsigned long long)r->errors);
		share_column(out, r);
	}
	for (unsigned int i = 0; i < n; i++) {
		floor_line(out, &rows[i]);
		if (uroce_perf_is_lossy(&rows[i].params))
			fprintf(out, "lost %s: %llu messages\n",
				size_text(rows[i].params.size, size, sizeof(size)),
				(unsigned long long)rows[i].lost);
		if (rows[i].handed_over != 0)
			fprintf(out, "handed over %s: %llu frames\n", size_text(rows[i].params.size, size, sizeof(size)),
				(unsigned long long)rows[i].handed_over);
		if (rows[i].late_rounds != 0)
			fprintf(out, "late %s: %llu rounds, which began 200 us or more after the one before\n",
				size_text(rows[i].params.size, size, sizeof(size)),
				(unsigned long long)rows[i].late_rounds);
		if (rows[i].params.verify)
			fprintf(out, "verified %s: %llu of %llu bytes\n",
				size_text(rows[i].params.size, size, sizeof(size)),
				(unsigned long long)rows[i].verified_bytes,
				(unsigned long long)rows[i].bytes);
	}
	fflush(out);
}

/* Print the floor, if --floor was given. */
static void
json_floor(FILE *out, const struct perf_row *r)
{
	const struct perf_floor *f = &r->floor;
	enum perf_bound bound;
	double share = uroce_perf_floor_ratio(r, &bound);

	if (!has_floor(r))
		return;
	fprintf(out,
		",\n   \"floor\": {\"gbps\": %.3f, \"copy\": \"%s\", \"pair_gbps\": %.3f, \"cores\": %u, "
		"\"mops\": %.3f, \"rtt_ns\": %.1f, \"rtt_p999_ns\": %.1f, \"span\": %u, \"span_ns\": %.1f, "
		"\"span_p999_ns\": %.1f},\n",
		f->gbps, f->copy != NULL ? f->copy : "", f->pair_gbps, f->cores, f->mops, f->rtt_ns, f->rtt_p999_ns,
		f->span, f->span_ns, f->span_p999_ns);
	if (bound == PERF_BOUND_NONE)
		fprintf(out, "   \"bound\": null, \"share\": null");
	else
		fprintf(out, "   \"bound\": \"%s\", \"share\": %.4f", uroce_perf_bounds[bound], share);
}

static void
json_row(FILE *out, const struct perf_row *r)
{
	fprintf(out,
		"  {\"op\": \"%s\", \"transport\": \"%s\", \"mode\": \"%s\", \"size\": %u, "
		"\"mtu\": %u, \"qps\": %u, \"depth\": %u, \"buffers\": %llu, \"lcores\": %u,\n",
		uroce_perf_ops[r->params.op].name, uroce_perf_transports[r->params.transport].name,
		uroce_perf_modes[r->params.mode], r->params.size,
		r->params.mtu, r->params.qps, r->params.depth, (unsigned long long)r->buffers, r->lcores);
	fprintf(out,
		"   \"seconds\": %.9f, \"ops\": %llu, \"bytes\": %llu, \"gbps\": %.6f, "
		"\"mops\": %.6f,\n",
		r->seconds, (unsigned long long)r->ops, (unsigned long long)r->bytes,
		uroce_perf_row_gbps(r), uroce_perf_row_mops(r));
	fprintf(out,
		"   \"lat_us\": {\"min\": %.3f, \"p50\": %.3f, \"p99\": %.3f, \"p999\": %.3f, "
		"\"max\": %.3f},\n",
		r->lat_us.min, r->lat_us.p50, r->lat_us.p99, r->lat_us.p999, r->lat_us.max);
	fprintf(out, "   \"lost\": %llu, \"retransmits\": %llu, \"errors\": %llu, \"verified_bytes\": %llu, "
		"\"handed_over\": %llu, \"late_rounds\": %llu",
		(unsigned long long)r->lost, (unsigned long long)r->retransmits,
		(unsigned long long)r->errors, (unsigned long long)r->verified_bytes,
		(unsigned long long)r->handed_over, (unsigned long long)r->late_rounds);
	json_floor(out, r);
	fprintf(out, "}");
}

int
uroce_perf_report_json(FILE *out, const struct perf_row *rows, unsigned int n)
{
	fprintf(out, "[");
	for (unsigned int i = 0; i < n; i++) {
		fprintf(out, i == 0 ? "\n" : ",\n");
		json_row(out, &rows[i]);
	}
	fprintf(out, "%s]\n", n == 0 ? "" : "\n");
	return fflush(out) != 0 || ferror(out) ? -1 : 0;
}
