/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Samples counters and prints their changes. A thread of its own, which the main thread starts and stops.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>
#include <rte_lcore.h>

#include "base/dpdk_compat.h"
#include "program.h"
#include "stats.h"

#define NS_PER_SECOND UINT64_C(1000000000)

static uint64_t
clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static void
sample_take(struct perf_stats_sample *s, const struct app_host *host)
{
	s->nb_devs = host->nb_devs;
	for (unsigned int d = 0; d < host->nb_devs; d++) {
		unsigned int n = uroce_query_counters(host->devs[d].ctx, s->counters[d], UROCE_PERF_COUNTERS);

		s->nb_counters = RTE_MIN(n, (unsigned int)UROCE_PERF_COUNTERS);
		s->names[d] = host->devs[d].ctx->device->name;
	}
	s->nb_workers = host->borrowed ? 0 : host->nb_workers;
	for (unsigned int i = 0; i < s->nb_workers; i++) {
		s->loads[i].size = sizeof(s->loads[i]);
		uroce_query_worker(host->workers[i], &s->loads[i]);
	}
	s->at_ns = clock_ns();
}

/* Get the change of a counter between two samples. */
static uint64_t
change(const struct perf_stats_sample *before, const struct perf_stats_sample *after, unsigned int dev,
       const char *name)
{
	for (unsigned int i = 0; i < after->nb_counters; i++)
		if (strcmp(after->counters[dev][i].name, name) == 0)
			return after->counters[dev][i].value - before->counters[dev][i].value;
	return 0;
}

/* Counters that hint at a problem. */
static bool
is_trouble(const char *name)
{
	static const char *const others[] = { "duplicate", "early",	"response_gap", "bad_response",
					      "timeouts",  "no_mbuf", "cq_overruns" };

	if (strncmp(name, "drop_", 5) == 0 || strncmp(name, "tx_drop_", 8) == 0 || strncmp(name, "nak_", 4) == 0)
		return true;
	for (unsigned int i = 0; i < RTE_DIM(others); i++)
		if (strcmp(name, others[i]) == 0)
			return true;
	return false;
}

/* Print the load of each worker: the share of its time in which it had work. */
static void
write_workers(FILE *out, const struct perf_stats_sample *before, const struct perf_stats_sample *after)
{
	for (unsigned int i = 0; i < after->nb_workers; i++) {
		uint64_t busy = after->loads[i].busy_ns - before->loads[i].busy_ns;
		uint64_t total = after->loads[i].total_ns - before->loads[i].total_ns;

		fprintf(out, "%s %.1f", i == 0 ? ", busy" : ",",
			total != 0 ? 100.0 * (double)RTE_MIN(busy, total) / (double)total : 0);
	}
	fprintf(out, " %%\n");
}

void
uroce_perf_stats_write(FILE *out, double second, const char *end, const struct perf_stats_sample *before,
		       const struct perf_stats_sample *after)
{
	double seconds = (double)(after->at_ns - before->at_ns) / (double)NS_PER_SECOND;

	if (seconds <= 0 || after->nb_devs == 0)
		return;
	/* all devices of an end share its workers' transport counters: those of one device are enough */
	if (after->nb_workers != 0) {
		fprintf(out, "stats %.1f s  %s: %.2f Gb/s sent, %.2f Gb/s received, %" PRIu64 " retransmitted",
			second, end, (double)change(before, after, 0, "sent_bytes") * 8 / seconds / 1e9,
			(double)change(before, after, 0, "received_bytes") * 8 / seconds / 1e9,
			change(before, after, 0, "retransmitted_packets"));
		write_workers(out, before, after);
	}
	for (unsigned int d = 0; d < after->nb_devs; d++) {
		fprintf(out, "stats %.1f s  %s %s: rx %.3f Mpps, tx %.3f Mpps", second, end, after->names[d],
			(double)change(before, after, d, "rx_frames") / seconds / 1e6,
			(double)change(before, after, d, "tx_frames") / seconds / 1e6);
		for (unsigned int i = 0; i < after->nb_counters; i++) {
			uint64_t more = after->counters[d][i].value - before->counters[d][i].value;

			if (more != 0 && is_trouble(after->counters[d][i].name))
				fprintf(out, ", %s %" PRIu64, after->counters[d][i].name, more);
		}
		fprintf(out, "\n");
	}
}

static void
show(struct perf_stats *s)
{
	unsigned int now = s->round++ & 1;

	for (unsigned int i = 0; i < s->nb_ends; i++) {
		struct perf_stats_end *e = &s->ends[i];

		sample_take(&e->samples[now], e->host);
		uroce_perf_stats_write(stderr, (double)(e->samples[now].at_ns - s->start_ns) / (double)NS_PER_SECOND,
				       e->name, &e->samples[1 - now], &e->samples[now]);
	}
	fflush(stderr);
}

/* Lock held. @return false: stop */
static bool
wait_until(struct perf_stats *s, uint64_t ns)
{
	const struct timespec at = { .tv_sec = (time_t)(ns / NS_PER_SECOND), .tv_nsec = (long)(ns % NS_PER_SECOND) };

	while (!s->stop && pthread_cond_timedwait(&s->changed, &s->lock, &at) == 0)
		;
	return !s->stop;
}

static void *
stats_main(void *arg)
{
	struct perf_stats *s = arg;
	const uint64_t period_ns = (uint64_t)(s->period_s * (double)NS_PER_SECOND);
	uint64_t next_ns = s->start_ns;
	bool go_on;

	do {
		next_ns += period_ns;
		pthread_mutex_lock(&s->lock);
		go_on = wait_until(s, next_ns);
		pthread_mutex_unlock(&s->lock);
		show(s);
	} while (go_on);
	return NULL;
}

static void
cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

int
uroce_perf_stats_start(struct perf_stats *s, double period_s, const char *const names[PERF_STATS_ENDS],
		       const struct app_host *const hosts[PERF_STATS_ENDS])
{
	int ret;

	memset(s, 0, sizeof(*s));
	if (period_s <= 0)
		return 0;
	for (unsigned int i = 0; i < PERF_STATS_ENDS; i++) {
		struct perf_stats_end *e = &s->ends[s->nb_ends];

		if (hosts[i] == NULL)
			continue;
		e->name = names[i];
		e->host = hosts[i];
		sample_take(&e->samples[1], e->host);
		s->nb_ends++;
	}
	s->period_s = period_s;
	s->start_ns = clock_ns();
	pthread_mutex_init(&s->lock, NULL);
	cond_init(&s->changed);
	ret = uroce_ctrl_thread_create(&s->thread, "uroce-stats", stats_main, s);
	if (ret == 0)
		return 0;
	fprintf(stderr, "%s: --stats-period: cannot start a thread: %s\n", uroce_app_name, strerror(-ret));
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	s->period_s = 0;
	return -1;
}

void
uroce_perf_stats_stop(struct perf_stats *s)
{
	if (s->period_s <= 0)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	s->period_s = 0;
}
