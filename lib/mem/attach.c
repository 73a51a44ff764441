/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Counts the mbufs that reference a region's memory, so that a deregistration can wait for them. Workers attach;
 * any thread that frees an mbuf detaches. Each worker of the device counts for itself.
 */

#include <errno.h>
#include <stdlib.h>

#include <rte_debug.h>

#include "mem/attach.h"
#include "mem/iova.h"

rte_iova_t
uroce_mr_iova(const struct uroce_mr_key *k, uint64_t addr, uint32_t length)
{
	if (k->iova == NULL || length == 0)
		return RTE_BAD_IOVA;
	return uroce_iova_map_lookup(k->iova, uroce_mr_va(k, addr), length);
}

void
uroce_mr_mbuf_freed(void *data, void *arg)
{
	struct uroce_mr *mr = arg;
	struct uroce_mr_count *own = uroce_mr_own_count(mr);

	RTE_SET_USED(data);
	/* Both pair with the acquire in uroce_mr_inflight(), after which the region may be freed. */
	if (likely(own != NULL))
		__atomic_store_n(&own->released, own->released + 1, __ATOMIC_RELEASE);
	else
		__atomic_add_fetch(&mr->released, 1, __ATOMIC_RELEASE);
}

/* @return a worker's count of the region's mbufs; NULL: it has none */
static const struct uroce_mr_count *
count_of(const struct uroce_mr *mr, unsigned int reader)
{
	const struct uroce_mr_count *counts = __atomic_load_n(&mr->table->counts[reader], __ATOMIC_RELAXED);

	return counts != NULL ? &counts[mr->ibv.handle] : NULL;
}

/* The counts of a slot's earlier regions cancel each other out: a region is freed once no mbuf references it. Read what
 * was released first, so that the difference is never negative. */
uint32_t
uroce_mr_inflight(const struct uroce_mr *mr)
{
	const struct uroce_mr_count *count;
	/* these acquires pair with the releases in uroce_mr_mbuf_freed() */
	uint32_t released = __atomic_load_n(&mr->released, __ATOMIC_ACQUIRE), attached;

	for (unsigned int i = 0; i < UROCE_RCU_READERS; i++) {
		count = count_of(mr, i);
		if (count != NULL)
			released += __atomic_load_n(&count->released, __ATOMIC_ACQUIRE);
	}
	attached = __atomic_load_n(&mr->attached, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < UROCE_RCU_READERS; i++) {
		count = count_of(mr, i);
		if (count != NULL)
			attached += __atomic_load_n(&count->attached, __ATOMIC_RELAXED);
	}
	return attached - released;
}

/* From the C library, which takes so many zeros from the kernel: only pages in use cost memory. A cache line before the
 * counts and one after them keep other objects of the heap off their lines. */
void
uroce_mrs_count_for(struct uroce_mrs *t, unsigned int reader)
{
	char *block;

	RTE_VERIFY(reader < UROCE_RCU_READERS);
	if (t->counts[reader] != NULL)
		return;
	block = calloc(1, (sizeof(struct uroce_mr_count) << t->log2) + 2 * RTE_CACHE_LINE_SIZE);
	if (block != NULL)
		__atomic_store_n(&t->counts[reader], (void *)(block + RTE_CACHE_LINE_SIZE), __ATOMIC_RELAXED);
}

void
uroce_mrs_counts_free(struct uroce_mrs *t)
{
	for (unsigned int i = 0; i < UROCE_RCU_READERS; i++) {
		if (t->counts[i] != NULL)
			free((char *)t->counts[i] - RTE_CACHE_LINE_SIZE);
		t->counts[i] = NULL;
	}
}

bool
uroce_mr_may_attach(const struct uroce_mr_key *k, uint64_t addr, uint32_t length, bool by_cpu, rte_iova_t *iova)
{
	if (!by_cpu) {
		*iova = uroce_mr_iova(k, addr, length);
		return *iova != RTE_BAD_IOVA;
	}
	*iova = 0;
	return length != 0 && k->mr != NULL; /* a null region has no memory */
}

int
uroce_mr_attach(const struct uroce_mr_key *k, uint64_t addr, uint16_t length, bool by_cpu, struct rte_mbuf *m)
{
	rte_iova_t iova;

	if (!uroce_mr_may_attach(k, addr, length, by_cpu, &iova))
		return -ENOTSUP;
	uroce_mr_hold(k, 1);
	uroce_mr_attach_held(k, uroce_mr_va(k, addr), iova, length, m);
	return 0;
}
