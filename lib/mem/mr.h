/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Memory regions and the key table: for each lkey and rkey its PD, bounds, rights and translation (R18, R20).
 * Control threads register and deregister under the table's lock; workers look keys up under uroce_rcu without it:
 * a key that a worker has read does not change until the worker leaves its poll.
 */

#ifndef UROCE_MEM_MR_H
#define UROCE_MEM_MR_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>
#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "uroce_verbs.h"
#include "mem/dma.h"
#include "base/slots.h"

struct uroce_mr;
struct uroce_mw;
struct uroce_mw_owner;
struct uroce_iova_map;

/* In a key's access, beside what it grants. Neither belongs to the PD that `pd` says. */
#define UROCE_KEY_NULL     (1u << 14) /* of a null MR */
#define UROCE_KEY_WINDOW   (1u << 15) /* of a window, bound or not; above it is its version */
#define UROCE_KEY_CHANGING (1u << 16) /* an odd version: the window is being bound */

/* One cache line of the hugepage-backed table; key k is in the slot of its uppermost log2 bits. */
struct uroce_mr_key {
	uint32_t key;    /* control: release; worker: acquire. 0: resolves to nothing */
	uint32_t access; /* enum ibv_access_flags, UROCE_KEY_* */
	union {
		const struct ibv_pd *pd; /* NULL: of a null MR */
		struct uroce_mw *mw;     /* UROCE_KEY_WINDOW: so it is no PD's */
	};
	uint64_t addr; /* of the first byte, as work requests and peers name it */
	uint64_t length;
	uint8_t *va; /* of the first byte, in this process */
	const struct uroce_iova_map *iova; /* NULL: not memory that DPDK knows: copied */
	struct uroce_mr *mr; /* that the mbufs hold: of a window the one that it is bound to */
	const void *owner;   /* whose packets may use a window or a null MR: a PD or a QP's windows */
} __rte_cache_aligned;

static_assert(sizeof(struct uroce_mr_key) == RTE_CACHE_LINE_SIZE, "one cache miss a look-up");

struct uroce_mr {
	struct ibv_mr ibv;
	unsigned int access;
	bool is_retired; /* its key is invalid; deregistration goes on */
	bool zero_based;
	uint64_t retired; /* token of the grace period, if is_retired */
	struct uroce_mrs *table;
	struct uroce_iova_map *iova;
	struct uroce_dma_map *dma; /* of its area of external memory; NULL: nothing to map */
	struct uroce_mr_key *slot;
	/* under table->lock */
	LIST_ENTRY(uroce_mr) link; /* table->of_dpdk, if is_of_dpdk */
	LIST_HEAD(, uroce_mw) windows; /* bound to it (R47) */
	bool is_of_dpdk;
	bool is_gone; /* DPDK has given the memory back: its key resolves to nothing any more */
	/* mbufs that lead into this memory: atomic, and where those who attach them and those who
	 * free them, on another core if it is a ring that they go through, do not meet */
	uint32_t attached __rte_cache_aligned;
	uint32_t released __rte_cache_aligned;
};

struct uroce_mrs {
	struct uroce_mr_key *keys; /* 1 << log2 */
	uint8_t log2;
	struct uroce_dma dma;
	/* Taken with or without EAL's memory lock held, by its callback too: so nothing that takes
	 * a lock of EAL (rte_malloc, rte_free, …) may be called under it. */
	pthread_mutex_t lock;
	/* control threads, under lock; posters renew identifiers without it */
	struct uroce_slots slots;
	LIST_HEAD(, uroce_mr) of_dpdk; /* regions in memory that DPDK may free */
	uint32_t count;
};

/**
 * @param log2		of the number of keys, 1 .. UROCE_LOG2_LIMIT_MR
 * @param numa_node	where the keys should be; -1: anywhere
 * @return 0, -EINVAL or -ENOMEM
 */
int uroce_mrs_init(struct uroce_mrs *t, unsigned int log2, int numa_node);
/**
 * DPDK is about to free memory: invalidate the keys of regions and windows in it, and wait until no
 * worker uses them. The caller holds EAL's memory lock for writing. This does not wait for workers in
 * a driver, which may wait for that lock; only if mbufs reference the memory, it waits for them for up
 * to UROCE_GIVE_BACK_LOOKS times UROCE_GIVE_BACK_PAUSE_NS.
 */
void uroce_mrs_give_back(struct uroce_mrs *t, const void *addr, size_t len);
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
 * ibv_alloc_null_mr(3): every address is within it; what is read there is zero, what is written is
 * lost. For local use only: its rkey resolves to nothing. @return NULL and errno: ENOMEM
 */
struct uroce_mr *uroce_mr_create_null(struct uroce_mrs *t, struct ibv_pd *pd);

/**
 * Deregister in three steps, none of which waits: invalidate the key; poll until no worker uses the memory and no mbuf
 * references it; free the region. The first step may be repeated. Not within a poll.
 * @return	uroce_mr_retire(): 0; -EBUSY: windows are bound to it (R47), nothing has changed
 */
int uroce_mr_retire(struct uroce_mr *mr);
bool uroce_mr_is_idle(const struct uroce_mr *mr);
void uroce_mr_free(struct uroce_mr *mr);

/**
 * Do all three steps.
 * @param progress	called while the memory is in use, so that workers make progress; returns false at the time
 *			limit. NULL: not called
 * @return	0; -EBUSY as uroce_mr_retire(); -ETIMEDOUT: the key is invalid, the region still exists
 */
int uroce_mr_destroy(struct uroce_mr *mr, bool (*progress)(void *), void *arg);

/* What a region is to become. */
struct uroce_mr_change {
	struct ibv_pd *pd;
	void *va;
	size_t length;
	uint64_t addr; /* what peers will use for the byte at va */
	unsigned int access;
};

/**
 * ibv_rereg_mr(3), all or nothing. The keys stay, but resolve to nothing in between: nobody may be
 * using them meanwhile.
 * @param progress	as for uroce_mr_destroy()
 * @return	0; -EBUSY: windows are bound to it; -ETIMEDOUT; -EINVAL: it is retired; or -errno as
 *		uroce_mr_create(). After an error it is unchanged
 */
int uroce_mr_change(struct uroce_mr *mr, const struct uroce_mr_change *to, bool (*progress)(void *),
		    void *arg);

/** How many mbufs lead into the memory; once none can be attached, 0 stays 0. */
static inline uint32_t
uroce_mr_inflight(const struct uroce_mr *mr)
{
	/* First, so that what has been attached and freed meanwhile does not count as less than none. Pairs with the
	 * release in uroce_mr_mbuf_freed(). */
	uint32_t released = __atomic_load_n(&mr->released, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&mr->attached, __ATOMIC_RELAXED) - released;
}

/**
 * Of the first page; -1: not known, or it is not there. Asked for when somebody wants to know, for
 * the kernel's answer takes longer than all else that registration does.
 */
int uroce_mr_numa_node(const struct uroce_mr *mr);

static inline bool
uroce_mr_is_null(const struct uroce_mr *mr)
{
	return (mr->slot->access & UROCE_KEY_NULL) != 0;
}

/** The address that peers use for the region's first byte. */
static inline uint64_t
uroce_mr_addr(const struct uroce_mr *mr)
{
	return mr->slot->addr;
}

/**
 * The rest of uroce_key_lookup(), for keys that are not of a region of this PD: windows, null MRs.
 * @return a copy of the key, valid until the calling thread's next look-up; or NULL
 */
const struct uroce_mr_key *uroce_key_resolve(const struct uroce_mr_key *k, uint32_t key,
					     const struct ibv_pd *pd,
					     const struct uroce_mw_owner *qp, uint64_t addr,
					     uint64_t length, uint32_t access) __rte_cold;

/* Known, with every one of these rights, and addr .. addr + length within it (R18, R20)? */
static inline bool
uroce_key_grants(const struct uroce_mr_key *k, uint64_t addr, uint64_t length, uint32_t access)
{
	/* nothing here can wrap: addr >= k->addr, then only differences */
	return (k->access & access) == access && addr >= k->addr &&
	       length <= k->length && addr - k->addr <= k->length - length;
}

/** May a READ response reference the memory? A window's version shares the bits of UROCE_ACCESS_STABLE. */
static inline bool
uroce_key_is_stable(const struct uroce_mr_key *k)
{
	return (k->access & (UROCE_ACCESS_STABLE | UROCE_KEY_WINDOW)) == UROCE_ACCESS_STABLE;
}

/** Have brought near what a look-up of the key reads. */
static inline void
uroce_key_prefetch(const struct uroce_mrs *t, uint32_t key)
{
	rte_prefetch0(&t->keys[uroce_slots_index(t->log2, 32, key)]);
}

/** ... and what uroce_mr_attach() needs beside that. Worker, within a poll. */
static inline void
uroce_key_prefetch_region(const struct uroce_mrs *t, uint32_t key)
{
	const struct uroce_mr_key *k = &t->keys[uroce_slots_index(t->log2, 32, key)];

	/* as for a look-up: what has been published stays what it is during the poll; 0 is a free slot's */
	if (__atomic_load_n(&k->key, __ATOMIC_ACQUIRE) != key || key == 0 ||
	    (k->access & (UROCE_KEY_WINDOW | UROCE_KEY_NULL)) != 0)
		return;
	rte_prefetch0(k->iova);
	rte_prefetch0(&k->mr->attached);
}

/**
 * Resolve a key for an access (R18, R20): of a region of this PD, or of a window that packets of
 * this QP may use. Worker, within a poll. lkeys and rkeys are the same.
 * @param qp		the QP's windows; NULL: of no QP
 * @param access	enum ibv_access_flags, 0 for local read
 * @return what the key stands for, until the thread's next look-up; or NULL
 */
static inline const struct uroce_mr_key *
uroce_key_lookup(const struct uroce_mrs *t, uint32_t key, const struct ibv_pd *pd,
		 const struct uroce_mw_owner *qp, uint64_t addr, uint64_t length, uint32_t access)
{
	const struct uroce_mr_key *k = &t->keys[uroce_slots_index(t->log2, 32, key)];

	/* pairs with the releases where keys are published */
	if (unlikely(__atomic_load_n(&k->key, __ATOMIC_ACQUIRE) != key || key == 0))
		return NULL;
	if (unlikely(k->pd != pd))
		return uroce_key_resolve(k, key, pd, qp, addr, length, access);
	if (unlikely(!uroce_key_grants(k, addr, length, access)))
		return NULL;
	return k;
}

/** The same for all that the key stands for, which is what it returns. */
static inline const struct uroce_mr_key *
uroce_key_lookup_whole(const struct uroce_mrs *t, uint32_t key, const struct ibv_pd *pd,
		       const struct uroce_mw_owner *qp, uint32_t access)
{
	const struct uroce_mr_key *k = &t->keys[uroce_slots_index(t->log2, 32, key)];

	return uroce_key_lookup(t, key, pd, qp, __atomic_load_n(&k->addr, __ATOMIC_RELAXED), 0,
				access);
}

/** The same for who has no QP. */
static inline const struct uroce_mr_key *
uroce_mr_lookup(const struct uroce_mrs *t, uint32_t key, const struct ibv_pd *pd, uint64_t addr,
		uint64_t length, uint32_t access)
{
	return uroce_key_lookup(t, key, pd, NULL, addr, length, access);
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
