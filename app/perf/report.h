/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The results of a run, and their two forms: a table for people, JSON for programs.
 */

#ifndef UROCE_PERF_REPORT_H
#define UROCE_PERF_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "measure/endpoint.h"
#include "floor/floor.h"
#include "measure/histogram.h"

struct perf_row {
	struct perf_params params;
	unsigned int lcores;
	double seconds;
	uint64_t ops;
	uint64_t bytes;
	uint64_t lost; /* messages of a lossy transport that have not arrived */
	uint64_t retransmits;
	uint64_t errors;
	uint64_t verified_bytes;
	struct {
		double min;
		double p50;
		double p99;
		double p999;
		double max;
	} lat_us;
	struct perf_floor floor; /* all 0: not measured */
};

/** Derive the latencies from a histogram in cycles of hz. */
void uroce_perf_row_latency(struct perf_row *row, const struct perf_histogram *h, uint64_t hz);

double uroce_perf_row_gbps(const struct perf_row *row);
double uroce_perf_row_mops(const struct perf_row *row);

/** One line, without its end: ops in the last `interval` seconds. */
void uroce_perf_report_progress(char *line, size_t room, const struct perf_params *p, double second,
				uint64_t ops, double interval);

/** With the share of the floor and what that is, for rows that have one. */
void uroce_perf_report_table(FILE *out, const struct perf_row *rows, unsigned int n);
/** @return 0, or -1 when it could not be written */
int uroce_perf_report_json(FILE *out, const struct perf_row *rows, unsigned int n);

#endif /* UROCE_PERF_REPORT_H */
