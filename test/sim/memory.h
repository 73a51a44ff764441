/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An end's registered memory, and the expected value of every byte `before` and `after` the outstanding requests are
 * executed. Both are equal for a byte that no request writes; a byte in flight has either value.
 */

#ifndef UROCE_TEST_SIM_MEMORY_H
#define UROCE_TEST_SIM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "sim.h"

#define MEMORY_MRS 8

struct memory {
	uint8_t *real;
	uint8_t *before;
	uint8_t *after;
	uint64_t *used; /* bitmap of granules */
	uint32_t bytes;
	uint32_t cursor;     /* granule at which the next search begins */
	uint32_t used_count; /* granules */
	bool dpdk;           /* from rte_malloc(): payloads may be sent without a copy */
	struct sim_random *random;
	struct ibv_mr *mrs[MEMORY_MRS]; /* overlapping, with different rights */
};

/* Bytes of a work request, between bytes that must not change. */
struct region {
	struct memory *memory;
	uint32_t offset;
	uint32_t bytes;
	uint32_t refs; /* work requests and receives that use it */
};

enum memory_placed {
	MEMORY_NOTHING,
	MEMORY_SOME,
	MEMORY_ALL,
};

void memory_init(struct memory *m, struct sim_random *random, uint32_t bytes, bool dpdk);
void memory_register(struct memory *m, struct ibv_pd *pd);
/** Give an MR that no request names another key, or other bounds. */
void memory_register_again(struct memory *m, unsigned int i, struct ibv_pd *pd);
/** Deregister and free; every region must have been put. */
void memory_fini(struct memory *m);

/** Compare every byte. @param who	number of the end, for the message */
void memory_sweep(const struct memory *m, unsigned int who);

/** @return a region at a random alignment; NULL: it would fill the memory to more than `percent` */
struct region *region_get(struct memory *m, uint32_t bytes, unsigned int percent);
void region_put(struct region *r);

/** @return a random one of the keys that grant all these rights (0: local read) to the whole region */
uint32_t region_key(const struct region *r, int access);

/** Fill the region with random bytes, as the application. */
void region_fill(struct region *r);
/** Expect these bytes from `offset` on when the outstanding requests have been executed. */
void region_expect(struct region *r, uint32_t offset, const uint8_t *data, uint32_t bytes);
/** Expect that no outstanding request writes the region any more. */
void region_forbid(struct region *r);
/** Does the region contain the expected bytes? */
enum memory_placed region_placed(const struct region *r);
/** Fail the simulation unless the region contains the expected bytes; then nothing is in flight any more. */
void region_settle(struct region *r, const char *what);
/** Accept the current bytes as expected. @param anything	else each must have its value before or after */
void region_adopt(struct region *r, bool anything);

static inline uint8_t *
region_real(const struct region *r)
{
	return r->memory->real + r->offset;
}

static inline const uint8_t *
region_before(const struct region *r)
{
	return r->memory->before + r->offset;
}

static inline const uint8_t *
region_after(const struct region *r)
{
	return r->memory->after + r->offset;
}

#endif /* UROCE_TEST_SIM_MEMORY_H */
