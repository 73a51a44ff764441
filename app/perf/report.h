/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The results of a run, as a table for people and as JSON for programs.
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
	uint64_t buffers; /* bytes of a QP's messages in each direction */
	unsigned int lcores;
	double seconds;
	uint64_t ops;
	uint64_t bytes;
	uint64_t lost; /* messages of a lossy transport that did not arrive */
	uint64_t retransmits;
	uint64_t handed_over; /* frames that arrived at the queue of another worker than their QP's */
	uint64_t late_rounds; /* of workers: before each, peers may have sent probes */
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

/** Compute the latencies from a histogram; hz is the frequency of its cycles. */
void uroce_perf_row_latency(struct perf_row *row, const struct perf_histogram *h, uint64_t hz);

double uroce_perf_row_gbps(const struct perf_row *row);
double uroce_perf_row_mops(const struct perf_row *row);

/** Format one line, without a newline: ops in the last `interval` seconds. */
void uroce_perf_report_progress(char *line, size_t room, const struct perf_params *p, double second,
				uint64_t ops, double interval);

/** Print a table. Rows with a floor show the share of it that was reached. */
void uroce_perf_report_table(FILE *out, const struct perf_row *rows, unsigned int n);
/** Print JSON. @return 0; -1: it could not be written */
int uroce_perf_report_json(FILE *out, const struct perf_row *rows, unsigned int n);

#endif /* UROCE_PERF_REPORT_H */
