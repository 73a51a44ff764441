/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A histogram of latencies: 64 linear steps in each power of two, so a value is exact to 1.6 %.
 */

#ifndef UROCE_PERF_MEASURE_HISTOGRAM_H
#define UROCE_PERF_MEASURE_HISTOGRAM_H

#include <stdint.h>

#include <rte_branch_prediction.h>

#define PERF_HISTOGRAM_LOG2_STEPS 6
#define PERF_HISTOGRAM_STEPS      (1u << PERF_HISTOGRAM_LOG2_STEPS)
#define PERF_HISTOGRAM_BUCKETS    ((64 - PERF_HISTOGRAM_LOG2_STEPS + 1) * PERF_HISTOGRAM_STEPS)

struct perf_histogram {
	uint64_t count;
	uint64_t min; /* exact */
	uint64_t max; /* exact */
	uint64_t buckets[PERF_HISTOGRAM_BUCKETS];
};

/* Values below STEPS have a bucket each; larger values share the STEPS buckets of their power of two. */
static inline unsigned int
uroce_perf_histogram_bucket(uint64_t value)
{
	unsigned int shift;

	if (value < PERF_HISTOGRAM_STEPS)
		return (unsigned int)value;
	shift = 63 - (unsigned int)__builtin_clzll(value) - PERF_HISTOGRAM_LOG2_STEPS;
	return (shift + 1) * PERF_HISTOGRAM_STEPS +
	       (unsigned int)((value >> shift) - PERF_HISTOGRAM_STEPS);
}

/** Get the largest value of a bucket. */
uint64_t uroce_perf_histogram_upper(unsigned int bucket);

void uroce_perf_histogram_init(struct perf_histogram *h);

static inline void
uroce_perf_histogram_add(struct perf_histogram *h, uint64_t value)
{
	h->count++;
	if (unlikely(value < h->min))
		h->min = value;
	if (unlikely(value > h->max))
		h->max = value;
	h->buckets[uroce_perf_histogram_bucket(value)]++;
}

/** Add the values of `other`. */
void uroce_perf_histogram_join(struct perf_histogram *h, const struct perf_histogram *other);

/**
 * Get the value that `fraction` of all values do not exceed, 0 < fraction <= 1: the upper end of its bucket, within
 * min and max; 0 for an empty histogram.
 */
uint64_t uroce_perf_histogram_quantile(const struct perf_histogram *h, double fraction);

#endif /* UROCE_PERF_MEASURE_HISTOGRAM_H */
