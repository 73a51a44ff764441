/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A test: one run for each message size, and their results.
 */

#ifndef UROCE_PERF_BENCH_H
#define UROCE_PERF_BENCH_H

#include "report.h"
#include "measure/run.h"

struct perf_bench {
	const struct perf_options *options;
	struct app_host *host;
	struct perf_peer *peer;
	unsigned int lane_lcores; /* lcores of a lane in this process: of one end, or of both */
	struct perf_floor_place place; /* lcores, for --floor */
	void (*progress)(void *arg, const char *line); /* as in struct perf_run */
	void *progress_arg;
	unsigned int nb_rows;
	struct perf_row rows[UROCE_PERF_ALL_SIZES_LOG2 + 1];
};

/** Run all rows, until one fails or the user stops the test. @return 0 or -1, messages printed */
int uroce_perf_bench_run(struct perf_bench *b);

/** Print the results for the user. */
void uroce_perf_bench_report(FILE *out, const struct perf_bench *b);

#endif /* UROCE_PERF_BENCH_H */
