/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * --stats-period: prints the traffic, losses and retransmissions of this process's ends, and the load of their
 * workers, to standard error at intervals. A thread of its own, which only reads.
 */

#ifndef UROCE_PERF_STATS_H
#define UROCE_PERF_STATS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "host.h"

#define PERF_STATS_ENDS 2

/* A sample of one end. */
struct perf_stats_sample {
	uint64_t at_ns;
	unsigned int nb_devs;
	unsigned int nb_counters; /* per device; names are constant */
	const char *names[UROCE_APP_MAX_PORTS]; /* names of the devices */
	struct uroce_counter counters[UROCE_APP_MAX_PORTS][UROCE_PERF_COUNTERS];
	unsigned int nb_workers;  /* 0: the workers belong to the other end */
	struct uroce_worker_load loads[UROCE_MAX_WORKERS];
};

struct perf_stats_end {
	const char *name; /* "client" */
	const struct app_host *host;
	struct perf_stats_sample samples[2]; /* the previous and the current sample */
};

struct perf_stats {
	double period_s; /* 0: nothing is printed */
	unsigned int nb_ends;
	struct perf_stats_end ends[PERF_STATS_ENDS];
	uint64_t start_ns;
	unsigned int round;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop; /* protected by lock */
};

/**
 * Start printing every period_s seconds; 0: never.
 * @param hosts	the ends, with their names; NULL: the end is not in this process
 * @return 0 or -1, a message printed
 */
int uroce_perf_stats_start(struct perf_stats *s, double period_s, const char *const names[PERF_STATS_ENDS],
			   const struct app_host *const hosts[PERF_STATS_ENDS]);
/** Print the rest of the last period, and stop. The hosts can be closed afterward. */
void uroce_perf_stats_stop(struct perf_stats *s);

/** Print a line for the end, and one for each of its ports. */
void uroce_perf_stats_write(FILE *out, double second, const char *end, const struct perf_stats_sample *before,
			    const struct perf_stats_sample *after);

#endif /* UROCE_PERF_STATS_H */
