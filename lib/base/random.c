/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Fills a buffer of each thread with random numbers from the kernel, so that drawing a key rarely costs a system
 * call. With a seed, a generator whose numbers are the same in every run replaces the kernel.
 */

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_debug.h>

#include "uroce_config.h"
#include "base/random.h"

struct buffer {
	uint64_t words[UROCE_RANDOM_WORDS];
	unsigned int left; /* words[0 .. left - 1] are unused */
};

static __thread struct buffer buffer;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t seed_state; /* of the seeded generator: only the one thread of a simulation uses it */
static int seeded; /* atomic */

/* The child of a fork, which has only the forking thread, must not draw the parent's numbers. */
static void
forget(void)
{
	memset(&buffer, 0, sizeof(buffer));
}

static void
forget_on_fork(void)
{
	RTE_VERIFY(pthread_atfork(NULL, NULL, forget) == 0);
}

static void
refill(void)
{
	uint8_t *at = (uint8_t *)buffer.words;
	size_t missing = sizeof(buffer.words);

	pthread_once(&once, forget_on_fork);
	while (missing > 0) {
		ssize_t n = getrandom(at, missing, 0);

		if (n < 0 && errno == EINTR)
			continue;
		/* without entropy every key could be guessed */
		RTE_VERIFY(n > 0);
		at += n;
		missing -= (size_t)n;
	}
	buffer.left = RTE_DIM(buffer.words);
}

/* splitmix64: good for every seed */
static uint64_t
seeded_next(void)
{
	uint64_t z = seed_state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

uint64_t
uroce_random(void)
{
	uint64_t word;

	if (unlikely(__atomic_load_n(&seeded, __ATOMIC_RELAXED)))
		return seeded_next();
	if (buffer.left == 0)
		refill();
	buffer.left--;
	word = buffer.words[buffer.left];
	buffer.words[buffer.left] = 0;
	return word;
}

uint32_t
uroce_random_below(uint32_t bound)
{
	uint32_t reject;
	uint64_t product;

	RTE_VERIFY(bound > 0);
	/* The result is the high word of a 32 x 32 bit product. Rejecting the 2^32 mod bound smallest low words makes
	 * all results equally likely. */
	reject = -bound % bound;
	do {
		product = (uroce_random() >> 32) * bound;
	} while ((uint32_t)product < reject);
	return product >> 32;
}

void
uroce_random_seed(uint64_t seed)
{
	seed_state = seed;
	__atomic_store_n(&seeded, seed != 0, __ATOMIC_RELAXED);
}
