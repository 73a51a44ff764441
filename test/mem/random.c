/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce_random: bounds, bias, seeds, threads and forks.
 */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_common.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "uroce_config.h"
#include "base/random.h"

static int
compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a;
	const uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void
assert_all_different(uint64_t *words, size_t n)
{
	qsort(words, n, sizeof(*words), compare);
	for (size_t i = 1; i < n; i++)
		assert_int_not_equal(words[i - 1], words[i]);
}

/* Across several refills; a repeat among so few 64-bit numbers means that a buffer was used twice. */
static void
test_no_repeats(void **state)
{
	static uint64_t words[UROCE_RANDOM_WORDS * 100 + 1];

	for (size_t i = 0; i < RTE_DIM(words); i++)
		words[i] = uroce_random();
	assert_all_different(words, RTE_DIM(words));
}

static void
test_every_bit_moves(void **state)
{
	uint64_t ones = 0, zeros = 0;

	for (unsigned int i = 0; i < 1000; i++) {
		const uint64_t word = uroce_random();

		ones |= word;
		zeros |= ~word;
	}
	assert_int_equal(ones, UINT64_MAX);
	assert_int_equal(zeros, UINT64_MAX);
}

static void
test_below_stays_below(void **state)
{
	static const uint32_t bounds[] = { 1, 2, 3, 7, 1000, 0x7fffffff, 0x80000001, UINT32_MAX };

	for (unsigned int i = 0; i < RTE_DIM(bounds); i++) {
		for (unsigned int n = 0; n < 1000; n++)
			assert_true(uroce_random_below(bounds[i]) < bounds[i]);
	}
}

static void
test_below_takes_every_value(void **state)
{
	unsigned int seen[6] = { 0 };

	uroce_random_seed(1);
	for (unsigned int i = 0; i < 60000; i++)
		seen[uroce_random_below(6)]++;
	uroce_random_seed(0);
	for (unsigned int i = 0; i < 6; i++)
		assert_uint_in_range(seen[i], 9500, 10500);
}

/* 2^32 is no multiple of 3 * 2^30: a plain remainder would return a third of the values twice as often. */
static void
test_below_has_no_bias(void **state)
{
	unsigned int low = 0, multiples = 0;

	uroce_random_seed(2);
	for (unsigned int i = 0; i < 30000; i++) {
		const uint32_t n = uroce_random_below(3u << 30);

		low += n < 1u << 30;
		multiples += n % 3 == 0;
	}
	uroce_random_seed(0);
	assert_uint_in_range(low, 9500, 10500);
	assert_uint_in_range(multiples, 9500, 10500);
}

static void
test_seed_repeats(void **state)
{
	uint64_t first[100], other[100];

	uroce_random_seed(42);
	for (unsigned int i = 0; i < 100; i++)
		first[i] = uroce_random();
	uroce_random_seed(42);
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(uroce_random(), first[i]);
	uroce_random_seed(43);
	for (unsigned int i = 0; i < 100; i++)
		other[i] = uroce_random();
	assert_memory_not_equal(first, other, sizeof(first));
}

static void
test_seed_zero_is_the_kernels_again(void **state)
{
	uint64_t seeded[4];

	uroce_random_seed(42);
	for (unsigned int i = 0; i < 4; i++)
		seeded[i] = uroce_random();
	uroce_random_seed(42);
	uroce_random_seed(0);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_not_equal(uroce_random(), seeded[i]);
}

static void *
draw(void *arg)
{
	uint64_t *words = arg;

	for (unsigned int i = 0; i < 1000; i++)
		words[i] = uroce_random();
	return NULL;
}

static void
test_threads_share_nothing(void **state)
{
	static uint64_t words[4][1000];
	pthread_t threads[4];

	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, draw, words[i]), 0);
	for (unsigned int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_all_different(words[0], RTE_DIM(words) * RTE_DIM(words[0]));
}

static void
test_child_of_fork_draws_others(void **state)
{
	uint64_t words[2 * UROCE_RANDOM_WORDS];
	int fds[2];
	int status;
	pid_t child;

	(void)uroce_random(); /* the buffer is not empty */
	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	for (unsigned int i = 0; i < UROCE_RANDOM_WORDS; i++)
		words[i] = uroce_random();
	if (child == 0)
		_exit(write(fds[1], words, sizeof(words) / 2) == sizeof(words) / 2 ? 0 : 1);
	assert_int_equal(read(fds[0], words + UROCE_RANDOM_WORDS, sizeof(words) / 2),
			 sizeof(words) / 2);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(fds[0]);
	close(fds[1]);
	assert_all_different(words, RTE_DIM(words));
}

UROCE_TESTS(random)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_repeats),
		cmocka_unit_test(test_every_bit_moves),
		cmocka_unit_test(test_below_stays_below),
		cmocka_unit_test(test_below_takes_every_value),
		cmocka_unit_test(test_below_has_no_bias),
		cmocka_unit_test(test_seed_repeats),
		cmocka_unit_test(test_seed_zero_is_the_kernels_again),
		cmocka_unit_test(test_threads_share_nothing),
		cmocka_unit_test(test_child_of_fork_draws_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
