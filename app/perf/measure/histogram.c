/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Computes quantiles of a histogram. Filling a histogram is inline, since measuring loops do so for each completion.
 */

#include <math.h>
#include <string.h>

#include <rte_common.h>

#include "measure/histogram.h"

void
uroce_perf_histogram_init(struct perf_histogram *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

uint64_t
uroce_perf_histogram_upper(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < PERF_HISTOGRAM_STEPS)
		return bucket;
	shift = bucket / PERF_HISTOGRAM_STEPS - 1;
	/* (steps + 1) << 58 of the last bucket wraps to 0: - 1 is UINT64_MAX, as it should be */
	return ((PERF_HISTOGRAM_STEPS + (uint64_t)(bucket % PERF_HISTOGRAM_STEPS) + 1) << shift) -
	       1;
}

void
uroce_perf_histogram_join(struct perf_histogram *h, const struct perf_histogram *other)
{
	h->count += other->count;
	h->min = RTE_MIN(h->min, other->min);
	h->max = RTE_MAX(h->max, other->max);
	for (unsigned int i = 0; i < PERF_HISTOGRAM_BUCKETS; i++)
		h->buckets[i] += other->buckets[i];
}

uint64_t
uroce_perf_histogram_quantile(const struct perf_histogram *h, double fraction)
{
	uint64_t rank = (uint64_t)ceil(fraction * (double)h->count);
	uint64_t seen = 0;

	if (h->count == 0)
		return 0;
	rank = RTE_MAX(rank, 1u);
	for (unsigned int i = 0; i < PERF_HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen >= rank)
			return RTE_MAX(h->min, RTE_MIN(h->max, uroce_perf_histogram_upper(i)));
	}
	return h->max;
}
