/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Common parts of the simulation: random numbers from the seed, and checks that end a run.
 */

#ifndef UROCE_TEST_SIM_SIM_H
#define UROCE_TEST_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

/* Streams are independent: numbers that the link draws do not change those of the workload. */
struct sim_random {
	uint64_t state;
};

enum sim_stream {
	LINK_STREAM = 1,
	WORLD_STREAM,
	SIM_STREAM,
	STEP_STREAM = 5,
	UNRELIABLE_STREAM = 7,
	SHARED_STREAM = 11,
	CHANGING_STREAM = 23,
	MOVE_STREAM = 29,
};

static inline void
random_init(struct sim_random *r, uint64_t seed, uint64_t stream)
{
	r->state = seed * UINT64_C(0x9e3779b97f4a7c15) + stream * UINT64_C(0xd1342543de82ef95);
}

static inline uint64_t
random_draw(struct sim_random *r) /* once in an argument list: C does not define the order of evaluation */
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* @return 0 .. bound - 1 */
static inline uint32_t
random_below(struct sim_random *r, uint32_t bound)
{
	return (uint32_t)((random_draw(r) >> 32) * bound >> 32);
}

/* @return low .. high */
static inline uint32_t
random_between(struct sim_random *r, uint32_t low, uint32_t high)
{
	return low + random_below(r, high - low + 1);
}

/* @return true with probability 1 / in */
static inline bool
random_once_in(struct sim_random *r, uint32_t in)
{
	return random_below(r, in) == 0;
}

/** Print the message, the seed and the last frames, and exit. */
void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#define SIM_CHECK(condition, ...)              \
	do {                                   \
		if (!(condition))              \
			sim_fail(__VA_ARGS__); \
	} while (0)

#endif /* UROCE_TEST_SIM_SIM_H */
