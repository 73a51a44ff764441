/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the histogram of latencies: its buckets cover each value once, and quantiles are right to within one bucket.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "measure/histogram.h"

/* Bucket i ends where i + 1 begins, from 0 to the largest value. */
static void
test_buckets_cover_all(void **state)
{
	assert_int_equal(uroce_perf_histogram_bucket(0), 0);
	for (unsigned int i = 0; i + 1 < PERF_HISTOGRAM_BUCKETS; i++) {
		uint64_t upper = uroce_perf_histogram_upper(i);

		assert_int_equal(uroce_perf_histogram_bucket(upper), i);
		assert_int_equal(uroce_perf_histogram_bucket(upper + 1), i + 1);
	}
	assert_int_equal(uroce_perf_histogram_bucket(UINT64_MAX), PERF_HISTOGRAM_BUCKETS - 1);
	assert_true(uroce_perf_histogram_upper(PERF_HISTOGRAM_BUCKETS - 1) == UINT64_MAX);
}

static void
test_buckets_are_narrow(void **state)
{
	for (unsigned int i = PERF_HISTOGRAM_STEPS; i < PERF_HISTOGRAM_BUCKETS; i++) {
		uint64_t low = uroce_perf_histogram_upper(i - 1) + 1;

		assert_true((uroce_perf_histogram_upper(i) - low) <= low / PERF_HISTOGRAM_STEPS);
	}
}

static void
test_empty(void **state)
{
	struct perf_histogram *h = malloc(sizeof(*h));

	assert_non_null(h);
	uroce_perf_histogram_init(h);
	assert_int_equal(h->count, 0);
	assert_int_equal(uroce_perf_histogram_quantile(h, 0.5), 0);
	free(h);
}

static void
test_one_value(void **state)
{
	struct perf_histogram *h = malloc(sizeof(*h));

	assert_non_null(h);
	uroce_perf_histogram_init(h);
	uroce_perf_histogram_add(h, 123456789);
	assert_int_equal(h->min, 123456789);
	assert_int_equal(h->max, 123456789);
	assert_int_equal(uroce_perf_histogram_quantile(h, 0.001), 123456789);
	assert_int_equal(uroce_perf_histogram_quantile(h, 1), 123456789);
	free(h);
}

static void
test_quantiles(void **state)
{
	static const double fractions[] = { 0.001, 0.5, 0.99, 0.999, 1 };
	const uint64_t n = 100000;
	struct perf_histogram *h = malloc(sizeof(*h));

	assert_non_null(h);
	uroce_perf_histogram_init(h);
	for (uint64_t i = n; i > 0; i--)
		uroce_perf_histogram_add(h, 10 * i);
	assert_int_equal(h->count, n);
	assert_int_equal(h->min, 10);
	assert_int_equal(h->max, 10 * n);
	for (unsigned int i = 0; i < RTE_DIM(fractions); i++) {
		double exact = fractions[i] * (double)n * 10;
		double got = (double)uroce_perf_histogram_quantile(h, fractions[i]);

		assert_true(got >= exact * 0.999 &&
			    got <= exact * (1 + 1.0 / PERF_HISTOGRAM_STEPS));
	}
	free(h);
}

/* Nine of ten values are fast: the median is fast, p99 is slow. */
static void
test_two_groups(void **state)
{
	struct perf_histogram *h = malloc(sizeof(*h));

	assert_non_null(h);
	uroce_perf_histogram_init(h);
	for (unsigned int i = 0; i < 1000; i++)
		uroce_perf_histogram_add(h, i % 10 == 0 ? 1000000 : 50);
	assert_int_equal(uroce_perf_histogram_quantile(h, 0.5), 50);
	assert_int_equal(uroce_perf_histogram_quantile(h, 0.9), 50);
	assert_int_equal(uroce_perf_histogram_quantile(h, 0.99), 1000000);
	free(h);
}

/* Two lanes have the same histogram together as one that has all values. */
static void
test_join(void **state)
{
	struct perf_histogram *h = calloc(3, sizeof(*h));

	assert_non_null(h);
	for (unsigned int i = 0; i < 3; i++)
		uroce_perf_histogram_init(&h[i]);
	for (uint64_t i = 1; i < 10000; i += 7) {
		uroce_perf_histogram_add(&h[i % 2], i);
		uroce_perf_histogram_add(&h[2], i);
	}
	uroce_perf_histogram_join(&h[0], &h[1]);
	assert_memory_equal(&h[0], &h[2], sizeof(h[0]));
	free(h);
}

UROCE_TESTS(perf_histogram)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets_cover_all),
		cmocka_unit_test(test_buckets_are_narrow),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_one_value),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_two_groups),
		cmocka_unit_test(test_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
