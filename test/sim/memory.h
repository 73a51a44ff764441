/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An end's registered memory, and what every byte of it has to be: `before` what is posted is
 * executed, and `after`. A byte which nothing is posted for has one value, and a byte in flight one
 * of the two.
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
	uint32_t cursor;     /* granule to look for room from */
	uint32_t used_count; /* granules */
	bool dpdk;           /* from rte_malloc(): payloads may leave without a copy */
	struct sim_random *random;
	struct ibv_mr *mrs[MEMORY_MRS]; /* overlapping, with different rights */
};

/* Some bytes for a work request. Around it are bytes which nobody may touch. */
struct region {
	struct memory *memory;
	uint32_t offset;
	uint32_t bytes;
	uint32_t refs; /* work requests and receives that it is in use by */
};

enum memory_placed {
	MEMORY_NOTHING,
	MEMORY_SOME,
	MEMORY_ALL,
};

void memory_init(struct memory *m, struct sim_random *random, uint32_t bytes, bool dpdk);
void memory_register(struct memory *m, struct ibv_pd *pd);
/** One of the regions, which nobody names just now, gets another key, or other bounds. */
void memory_register_again(struct memory *m, unsigned int i, struct ibv_pd *pd);
/** Deregister and free; every region must have been put. */
void memory_fini(struct memory *m);

/** Compare every byte; `who` is for the message. */
void memory_sweep(const struct memory *m, unsigned int who);

/** @return a region at a random alignment; NULL: there is no room now without filling the memory to
 * more than `percent` */
struct region *region_get(struct memory *m, uint32_t bytes, unsigned int percent);
void region_put(struct region *r);

/** A key that gives all these rights (0: local read) to the whole region, drawn from those that do.
 */
uint32_t region_key(const struct region *r, int access);

/** Write random bytes, as the application. */
void region_fill(struct region *r);
/** Bytes from `offset` on will be these when what is posted has been executed. */
void region_expect(struct region *r, uint32_t offset, const uint8_t *data, uint32_t bytes);
/** Nothing that is posted may be executed any more: what is there stays. */
void region_forbid(struct region *r);
/** Does the region hold what was posted? */
enum memory_placed region_placed(const struct region *r);
/** It does, and nothing is in flight any more; else the simulation fails. */
void region_settle(struct region *r, const char *what);
/** Whatever is there now (each byte as before or as after, or anything at all) is right, and stays.
 */
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
