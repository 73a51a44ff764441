/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Memory regions and the key table. Control threads register and deregister under the table's lock;
 * workers look keys up under uroce_rcu without one: a key that has been read stays what it is until
 * the worker leaves its poll.
 */

#ifndef UROCE_MEM_MR_H
#define UROCE_MEM_MR_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>
#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_mbuf.h>

#include "mem/slots.h"

struct uroce_mr;
struct uroce_iova_map;

/* One cache line of the hugepage-backed table; key k is in the slot of its uppermost log2 bits. */
struct uroce_mr_key {
	uint32_t key;    /* control: release; worker: acquire. 0: resolves to nothing */
	uint32_t access; /* enum ibv_access_flags */
	const struct ibv_pd *pd;
	uint64_t addr; /* of the first byte, as work requests and peers name it */
	uint64_t length;
	uint8_t *va; /* of the first byte, in this process */
	const struct uroce_iova_map *iova; /* NULL: not memory that DPDK knows: copied */
	struct uroce_mr *mr;
	uint64_t reserved;
} __rte_cache_aligned;

struct uroce_mr {
	struct ibv_mr ibv;
	unsigned int access;
	int numa_node; /* of the first page; -1: not known */
	struct uroce_mrs *table;
	struct uroce_iova_map *iova;
	struct uroce_mr_key *slot;
	LIST_ENTRY(uroce_mr) link; /* table->of_dpdk, if is_of_dpdk; under table->lock */
	bool is_of_dpdk;
	uint32_t inflight __rte_cache_aligned; /* atomic: mbufs that lead into this memory */
};

struct uroce_mrs {
	struct uroce_mr_key *keys; /* 1 << log2 */
	uint8_t log2;
	/* Taken with or without EAL's memory lock held, by its callback too: so nothing that takes
	 * a lock of EAL (rte_malloc, rte_free, …) may be called under it. */
	pthread_mutex_t lock;
	/* control, under lock */
	struct uroce_slots slots;
	LIST_HEAD(, uroce_mr) of_dpdk; /* regions on memory that DPDK may give back */
	uint32_t count;
};

/**
 * @param log2		of the number of keys, 1 .. UROCE_LOG2_LIMIT_MR
 * @param numa_node	where the keys should be; -1: anywhere
 * @return 0, -EINVAL or -ENOMEM
 */
int uroce_mrs_init(struct uroce_mrs *t, unsigned int log2, int numa_node);
/** The table must be empty. */
void uroce_mrs_fini(struct uroce_mrs *t);

/**
 * ibv_reg_mr(3), ibv_reg_mr_iova(3): `addr` is what peers will use for the byte at `va`.
 *
 * When DPDK gives the memory back to the system, or takes it out of a heap, the region's keys stop
 * resolving; the region itself stays until it is destroyed. Memory of DPDK must not be given back,
 * nor external memory be unregistered, while work requests on it are under way.
 *
 * @param access	enum ibv_access_flags; IBV_ACCESS_HUGETLB and the optional ones: no effect
 * @return the region, or NULL and errno: EINVAL: length, flags, or remote write or atomic without
 *	local write (R46); EOPNOTSUPP: IBV_ACCESS_ON_DEMAND; EFAULT: not mapped, not readable, or not
 *	writable where local write is asked for; ENOMEM: the table is full; else why
 *	/proc/self/maps cannot be read
 */
struct uroce_mr *uroce_mr_create(struct uroce_mrs *t, struct ibv_pd *pd, void *va, size_t length,
				 uint64_t addr, unsigned int access);

/**
 * Make the keys invalid, wait until no worker looks at the memory and no mbuf leads into it, free.
 * @param progress	called while mbufs are in flight, so that whoever holds them gets on
 */
void uroce_mr_destroy(struct uroce_mr *mr, void (*progress)(void *), void *arg);

/**
 * Resolve a key for an access (R18, R20): known, of this PD, with every one of these rights, and
 * addr .. addr + length within it. Worker, within a poll. lkeys and rkeys are the same.
 * @param access	enum ibv_access_flags, 0 for local read
 * @return the key's slot, or NULL
 */
static inline const struct uroce_mr_key *
uroce_mr_lookup(const struct uroce_mrs *t, uint32_t key, const struct ibv_pd *pd, uint64_t addr,
		uint64_t length, uint32_t access)
{
	const struct uroce_mr_key *k = &t->keys[uroce_slots_index(t->log2, 32, key)];

	/* pairs with the release in uroce_mr_create() */
	if (unlikely(__atomic_load_n(&k->key, __ATOMIC_ACQUIRE) != key || key == 0))
		return NULL;
	if (unlikely(k->pd != pd || (k->access & access) != access))
		return NULL;
	/* nothing here can wrap: addr >= k->addr, then only differences */
	if (unlikely(addr < k->addr || length > k->length || addr - k->addr > k->length - length))
		return NULL;
	return k;
}

static inline uint8_t *
uroce_mr_va(const struct uroce_mr_key *k, uint64_t addr)
{
	return k->va + (addr - k->addr);
}

/** IOVA of length bytes at addr when they have one, contiguous; else RTE_BAD_IOVA: copy them. */
rte_iova_t uroce_mr_iova(const struct uroce_mr_key *k, uint64_t addr, uint32_t length);

/**
 * Attach length bytes at addr of the region to an mbuf as external data, and hold the region until
 * the mbuf is freed. The mbuf comes from a pool whose private area has room for struct
 * rte_mbuf_ext_shared_info, and is never cloned with rte_pktmbuf_clone(): that area is the
 * original's. Worker, within a poll.
 * @return 0, or -ENOTSUP when the bytes have no IOVA
 */
int uroce_mr_attach(const struct uroce_mr_key *k, uint64_t addr, uint16_t length,
		    struct rte_mbuf *m);

#endif /* UROCE_MEM_MR_H */
