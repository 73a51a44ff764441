/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Memory and its shadow. A region begins and ends anywhere within its granules, so that bytes which must not change
 * surround it.
 */

#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "uroce.h"

#define GRANULE 64

#define ALL_RIGHTS                                                                   \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_MW_BIND)

#define WHOLE 6 /* index of the first MR that covers only a part, with any bounds */

static const int rights[MEMORY_MRS] = {
	ALL_RIGHTS,
	ALL_RIGHTS | UROCE_ACCESS_STABLE,
	0,
	IBV_ACCESS_LOCAL_WRITE,
	IBV_ACCESS_REMOTE_READ,
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	ALL_RIGHTS,
	ALL_RIGHTS | UROCE_ACCESS_STABLE,
};

static void
fill_random(struct sim_random *random, uint8_t *to, uint32_t bytes)
{
	while (bytes > 0) {
		uint64_t value = random_draw(random);
		uint32_t n = RTE_MIN(bytes, (uint32_t)sizeof(value));

		memcpy(to, &value, n);
		to += n;
		bytes -= n;
	}
}

void
memory_init(struct memory *m, struct sim_random *random, uint32_t bytes, bool dpdk)
{
	memset(m, 0, sizeof(*m));
	m->random = random;
	m->bytes = bytes;
	m->dpdk = dpdk;
	m->real = dpdk ? rte_malloc(NULL, bytes, GRANULE) : malloc(bytes);
	m->before = malloc(bytes);
	m->after = malloc(bytes);
	m->used = calloc(bytes / GRANULE / 64, sizeof(m->used[0]));
	SIM_CHECK(m->real != NULL && m->before != NULL && m->after != NULL && m->used != NULL,
		  "out of memory");
	fill_random(random, m->real, bytes);
	memcpy(m->before, m->real, bytes);
	memcpy(m->after, m->real, bytes);
}

/* The first part begins at a random place, the second ends at one. */
static size_t
draw_part(struct memory *m, unsigned int i, uint8_t **from)
{
	uint32_t cut = i < WHOLE ? 0 : random_below(m->random, m->bytes / 2);

	*from = i == WHOLE ? m->real + cut : m->real;
	return m->bytes - cut;
}

static void
reg(struct memory *m, unsigned int i, struct ibv_pd *pd)
{
	uint8_t *from;
	size_t bytes = draw_part(m, i, &from);

	m->mrs[i] = uroce_reg_mr(pd, from, bytes, rights[i]);
	SIM_CHECK(m->mrs[i] != NULL, "uroce_reg_mr: %s", strerror(errno));
}

void
memory_register(struct memory *m, struct ibv_pd *pd)
{
	for (unsigned int i = 0; i < MEMORY_MRS; i++)
		reg(m, i, pd);
}

void
memory_register_again(struct memory *m, unsigned int i, struct ibv_pd *pd)
{
	uint32_t key = m->mrs[i]->rkey;
	uint8_t *from;
	size_t bytes;

	if (random_once_in(m->random, 2)) {
		SIM_CHECK(uroce_dereg_mr(m->mrs[i]) == 0, "uroce_dereg_mr fails");
		reg(m, i, pd);
		SIM_CHECK(m->mrs[i]->rkey != key, "a key is used again at once");
		return;
	}
	bytes = draw_part(m, i, &from);
	SIM_CHECK(uroce_rereg_mr(m->mrs[i], IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS, NULL, from,
				 bytes, rights[i]) == 0,
		  "uroce_rereg_mr: %s", strerror(errno));
	SIM_CHECK(m->mrs[i]->rkey == key, "uroce_rereg_mr changes the key");
}

void
memory_fini(struct memory *m)
{
	for (unsigned int i = 0; i < MEMORY_MRS; i++)
		if (m->mrs[i] != NULL)
			SIM_CHECK(uroce_dereg_mr(m->mrs[i]) == 0, "uroce_dereg_mr fails");
	for (uint32_t i = 0; i < m->bytes / GRANULE / 64; i++)
		SIM_CHECK(m->used[i] == 0, "the simulation has lost a region");
	if (m->dpdk)
		rte_free(m->real);
	else
		free(m->real);
	free(m->before);
	free(m->after);
	free(m->used);
}

void
memory_sweep(const struct memory *m, unsigned int who)
{
	if (memcmp(m->real, m->before, m->bytes) == 0)
		return;
	for (uint32_t i = 0; i < m->bytes; i++)
		SIM_CHECK(m->real[i] == m->before[i] || m->real[i] == m->after[i],
			  "end %u: byte %u is 0x%02x, neither 0x%02x (before) nor 0x%02x (after)",
			  who, i, m->real[i], m->before[i], m->after[i]);
}

static bool
granule_is_used(const struct memory *m, uint32_t g)
{
	return (m->used[g / 64] >> g % 64 & 1) != 0;
}

static void
granules_flip(struct memory *m, uint32_t from, uint32_t n)
{
	for (uint32_t g = from; g < from + n; g++)
		m->used[g / 64] ^= UINT64_C(1) << g % 64;
}

/* First fit from the cursor on, with one wrap. @return the first of n free granules, or UINT32_MAX */
static uint32_t
granules_find(struct memory *m, uint32_t n)
{
	uint32_t total = m->bytes / GRANULE, run = 0;

	for (uint32_t i = 0, g = m->cursor; i < total + n; i++, g++) {
		if (g == total)
			g = run = 0;
		run = granule_is_used(m, g) ? 0 : run + 1;
		if (run == n) {
			m->cursor = (g + 1) % total;
			return g + 1 - n;
		}
	}
	return UINT32_MAX;
}

static uint32_t
region_granules(const struct region *r)
{
	return (r->offset % GRANULE + r->bytes) / GRANULE + 1;
}

struct region *
region_get(struct memory *m, uint32_t bytes, unsigned int percent)
{
	uint32_t align = random_once_in(m->random, 3) ? 0 : random_below(m->random, GRANULE);
	struct region *r;
	uint32_t first;

	if (m->used_count + bytes / GRANULE > m->bytes / GRANULE / 100 * percent)
		return NULL;
	r = calloc(1, sizeof(*r));
	SIM_CHECK(r != NULL, "out of memory");
	r->memory = m;
	r->offset = align;
	r->bytes = bytes;
	r->refs = 1;
	first = granules_find(m, region_granules(r));
	if (first == UINT32_MAX) {
		free(r);
		return NULL;
	}
	granules_flip(m, first, region_granules(r));
	m->used_count += region_granules(r);
	r->offset += first * GRANULE;
	return r;
}

void
region_put(struct region *r)
{
	if (r == NULL || --r->refs > 0)
		return;
	granules_flip(r->memory, r->offset / GRANULE, region_granules(r));
	r->memory->used_count -= region_granules(r);
	free(r);
}

uint32_t
region_key(const struct region *r, int access)
{
	const struct memory *m = r->memory;
	const struct ibv_mr *fits[MEMORY_MRS];
	unsigned int n = 0;

	for (unsigned int i = 0; i < MEMORY_MRS; i++) {
		const struct ibv_mr *mr = m->mrs[i];
		const uint8_t *from = mr->addr, *at = m->real + r->offset;

		if ((rights[i] & access) == access && at >= from &&
		    at + r->bytes <= from + mr->length)
			fits[n++] = mr;
	}
	return fits[random_below(m->random, n)]->lkey;
}

void
region_fill(struct region *r)
{
	struct memory *m = r->memory;

	fill_random(m->random, m->real + r->offset, r->bytes);
	memcpy(m->before + r->offset, m->real + r->offset, r->bytes);
	memcpy(m->after + r->offset, m->real + r->offset, r->bytes);
}

void
region_expect(struct region *r, uint32_t offset, const uint8_t *data, uint32_t bytes)
{
	SIM_CHECK(offset + bytes <= r->bytes, "the simulation expects too much");
	memcpy(r->memory->after + r->offset + offset, data, bytes);
}

void
region_forbid(struct region *r)
{
	memcpy(r->memory->after + r->offset, r->memory->before + r->offset, r->bytes);
}

enum memory_placed
region_placed(const struct region *r)
{
	const uint8_t *real = region_real(r);

	if (memcmp(real, region_after(r), r->bytes) == 0)
		return MEMORY_ALL;
	if (memcmp(real, r->memory->before + r->offset, r->bytes) == 0)
		return MEMORY_NOTHING;
	return MEMORY_SOME;
}

void
region_settle(struct region *r, const char *what)
{
	uint8_t *real = region_real(r);
	const uint8_t *after = region_after(r);

	for (uint32_t i = 0; i < r->bytes; i++)
		SIM_CHECK(real[i] == after[i], "%s: byte %u of %u is 0x%02x instead of 0x%02x",
			  what, i, r->bytes, real[i], after[i]);
	memcpy(r->memory->before + r->offset, real, r->bytes);
}

void
region_adopt(struct region *r, bool anything)
{
	struct memory *m = r->memory;

	for (uint32_t i = r->offset; i < r->offset + r->bytes; i++) {
		SIM_CHECK(anything || m->real[i] == m->before[i] || m->real[i] == m->after[i],
			  "byte %u is 0x%02x, neither 0x%02x (before) nor 0x%02x (after)", i,
			  m->real[i], m->before[i], m->after[i]);
		m->before[i] = m->after[i] = m->real[i];
	}
}
