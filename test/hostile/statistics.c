/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include "statistics.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

/* Standard deviations; a sample beyond them has a probability of 6e-14. */
#define FAR  7.5
#define BINS 256

static char complaint[160];

__attribute__((format(printf, 1, 2))) static const char *
complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(complaint, sizeof(complaint), format, arguments);
	va_end(arguments);
	return complaint;
}

static uint32_t
mask_of(unsigned int bits)
{
	return UINT32_MAX >> (32 - bits);
}

/* Can a fair coin show this many heads in n throws? */
static bool
is_fair(size_t heads, size_t n)
{
	return fabs((double)heads - (double)n / 2) <= FAR * sqrt((double)n) / 2;
}

/* Are the bins as even as chance makes them? By the approximation of Wilson and Hilferty. */
static bool
is_even(const uint32_t bins[BINS], size_t n)
{
	const double expected = (double)n / BINS, degrees = BINS - 1;
	double chi2 = 0;

	for (unsigned int i = 0; i < BINS; i++)
		chi2 += ((double)bins[i] - expected) * ((double)bins[i] - expected) / expected;
	return (cbrt(chi2 / degrees) - (1 - 2 / (9 * degrees))) / sqrt(2 / (9 * degrees)) <= FAR;
}

/* Can an event with this mean have happened this often by chance? */
static bool
is_chance(size_t count, double mean)
{
	return (double)count <= mean + 10 * sqrt(mean) + 10;
}

/* Each bit is 1 in half of the values, and differs in half of all pairs at any distance. */
static const char *
check_bits(const uint32_t *values, size_t n, unsigned int bits)
{
	static const unsigned int lags[] = { 1, 2, 3, 4, 8, 16, 32, 64, 256 };

	for (unsigned int bit = 0; bit < bits; bit++) {
		size_t ones = 0;

		for (size_t i = 0; i < n; i++)
			ones += values[i] >> bit & 1;
		if (!is_fair(ones, n))
			return complain("bit %u is 1 %zu times of %zu", bit, ones, n);
		for (unsigned int l = 0; l < RTE_DIM(lags); l++) {
			size_t changes = 0;

			for (size_t i = lags[l]; i < n; i++)
				changes += (values[i] ^ values[i - lags[l]]) >> bit & 1;
			if (!is_fair(changes, n - lags[l]))
				return complain("bit %u changes %zu times of %zu, %u apart", bit,
						changes, n - lags[l], lags[l]);
		}
	}
	return NULL;
}

/* No two bits of a value are correlated. */
static const char *
check_pairs(const uint32_t *values, size_t n, unsigned int bits)
{
	for (unsigned int a = 1; a < bits; a++) {
		for (unsigned int b = 0; b < a; b++) {
			size_t unlike = 0;

			for (size_t i = 0; i < n; i++)
				unlike += (values[i] >> a ^ values[i] >> b) & 1;
			if (!is_fair(unlike, n))
				return complain("bits %u and %u are correlated", a, b);
		}
	}
	return NULL;
}

/* Selects a bin from the i-th value and the value before it. */
typedef uint32_t (*bin_fn)(uint32_t value, uint32_t before, unsigned int bits);

static uint32_t
high_difference(uint32_t value, uint32_t before, unsigned int bits)
{
	return (value - before) >> (bits - 8);
}

static uint32_t
low_difference(uint32_t value, uint32_t before, unsigned int bits)
{
	(void)bits;
	return value - before;
}

static uint32_t
high_xor(uint32_t value, uint32_t before, unsigned int bits)
{
	return (value ^ before) >> (bits - 8);
}

static uint32_t
low_xor(uint32_t value, uint32_t before, unsigned int bits)
{
	(void)bits;
	return value ^ before;
}

static uint32_t
low_after_low(uint32_t value, uint32_t before, unsigned int bits)
{
	(void)bits;
	return (before & 15) << 4 | (value & 15);
}

static uint32_t
high_after_high(uint32_t value, uint32_t before, unsigned int bits)
{
	return (before >> (bits - 4) & 15) << 4 | (value >> (bits - 4) & 15);
}

static uint32_t
high_after_low(uint32_t value, uint32_t before, unsigned int bits)
{
	return (before & 15) << 4 | (value >> (bits - 4) & 15);
}

static const struct {
	const char *name;
	bin_fn bin;
} steps[] = {
	{ "differences, upper bits", high_difference },
	{ "differences, lower bits", low_difference },
	{ "xor, upper bits", high_xor },
	{ "xor, lower bits", low_xor },
	{ "lower bits and the lower bits before them", low_after_low },
	{ "upper bits and the upper bits before them", high_after_high },
	{ "upper bits and the lower bits before them", high_after_low },
};

/* Each step from one value to the next is equally frequent. */
static const char *
check_steps(const uint32_t *values, size_t n, unsigned int bits)
{
	const uint32_t mask = mask_of(bits);

	for (unsigned int s = 0; s < RTE_DIM(steps); s++) {
		uint32_t bins[BINS] = { 0 };

		for (size_t i = 1; i < n; i++)
			bins[steps[s].bin(values[i] & mask, values[i - 1] & mask, bits) % BINS]++;
		if (!is_even(bins, n - 1))
			return complain("%s are not evenly distributed", steps[s].name);
	}
	return NULL;
}

/* The inverse of an odd number modulo 2^32, by Newton: each step doubles the number of right bits. */
static uint32_t
inverse(uint32_t odd)
{
	uint32_t x = odd;

	for (unsigned int i = 0; i < 5; i++)
		x *= 2 - odd * x;
	return x;
}

/* Predictions of the value after v[0 .. 3]. */
static uint32_t
guess_same_step(const uint32_t v[4])
{
	return v[3] + (v[3] - v[2]);
}

static uint32_t
guess_same_again(const uint32_t v[4])
{
	return v[3];
}

static uint32_t
guess_xor_of_two(const uint32_t v[4])
{
	return v[3] ^ v[2];
}

static uint32_t
guess_next(const uint32_t v[4])
{
	return v[3] + 1;
}

static uint32_t
guess_before(const uint32_t v[4])
{
	return v[3] - 1;
}

static uint32_t
guess_two_back(const uint32_t v[4])
{
	return v[2];
}

/* A linear congruential generator: three steps reveal its factor. */
static uint32_t
guess_linear(const uint32_t v[4])
{
	return v[3] + (v[3] - v[2]) * (v[2] - v[1]) * inverse((v[1] - v[0]) | 1);
}

static const struct {
	const char *name;
	uint32_t (*guess)(const uint32_t v[4]);
} guesses[] = {
	{ "the last step repeated", guess_same_step },
	{ "the last value", guess_same_again },
	{ "xor of the last two values", guess_xor_of_two },
	{ "the last value + 1", guess_next },
	{ "the last value - 1", guess_before },
	{ "the value before the last", guess_two_back },
	{ "a linear congruence", guess_linear },
};

static const char *
check_guesses(const uint32_t *values, size_t n, unsigned int bits)
{
	const uint32_t mask = mask_of(bits);

	for (unsigned int g = 0; g < RTE_DIM(guesses); g++) {
		size_t right = 0;

		for (size_t i = 4; i < n; i++)
			right += ((guesses[g].guess(&values[i - 4]) ^ values[i]) & mask) == 0;
		if (!is_chance(right, ldexp((double)n, -(int)bits)))
			return complain("%s predicts the next value %zu times", guesses[g].name, right);
	}
	return NULL;
}

static int
compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

const char *
statistics_check_repeats(const uint32_t *values, size_t n, unsigned int bits)
{
	uint32_t *sorted = malloc(n * sizeof(*sorted));
	size_t repeats = 0;

	if (sorted == NULL)
		return "no memory";
	for (size_t i = 0; i < n; i++)
		sorted[i] = values[i] & mask_of(bits);
	qsort(sorted, n, sizeof(*sorted), compare);
	for (size_t i = 1; i < n; i++)
		repeats += sorted[i] == sorted[i - 1];
	free(sorted);
	if (!is_chance(repeats, ldexp((double)n * (double)n / 2, -(int)bits)))
		return complain("%zu of %zu values repeat", repeats, n);
	return NULL;
}

const char *
statistics_check(const uint32_t *values, size_t n, unsigned int bits)
{
	static const char *(*const checks[])(const uint32_t *, size_t, unsigned int) = {
		check_bits, check_pairs, check_steps, check_guesses, statistics_check_repeats,
	};

	for (unsigned int i = 0; i < RTE_DIM(checks); i++) {
		const char *wrong = checks[i](values, n, bits);

		if (wrong != NULL)
			return wrong;
	}
	return NULL;
}
