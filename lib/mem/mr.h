/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Memory regions and the key table: for each lkey and rkey its PD, bounds, rights and translation (R18, R20).
 * Control threads register and deregister under the table's lock. Workers look keys up under uroce_rcu, without the
 * lock: a key that a worker has looked up does not change until the worker leaves its poll.
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
#include "base/rcu.h"
#include "mem/dma.h"
#include "base/slots.h"

struct uroce_mr;
struct uroce_mw;
struct uroce_mw_owner;
struct uroce_iova_map;

/* Flags in a key's access. The `pd` of such a key never equals a PD, so that a look-up takes the slow path. */
#define UROCE_KEY_NULL     (1u << 14) /* the key of a null MR */
#define UROCE_KEY_WINDOW   (1u << 15) /* the key of a window, bound or not; the bits above are its version */
#define UROCE_KEY_CHANGING (1u << 16) /* lowest bit of the version: a worker is binding the window */

/* One slot of the hugepage-backed table, whose index is the uppermost log2 bits of the key. */
struct uroce_mr_key {
	uint32_t key;    /* control: release; worker: acquire. 0: invalid */
	uint32_t access; /* enum ibv_access_flags, UROCE_KEY_* */
	union {
		const struct ibv_pd *pd; /* no parent domain, but its protection domain. NULL: a null MR */
		struct uroce_mw *mw;     /* UROCE_KEY_WINDOW */
	};
	uint64_t addr; /* of the first byte, in work requests and for peers */
	uint64_t length;
	uint8_t *va;                       /* of the first byte, in this process */
	const struct uroce_iova_map *iova; /* NULL: payloads are copied */
	struct uroce_mr *mr;               /* mbufs hold it; of a window, the region that it is bound to */
	const void *owner;                 /* of a window or a null MR: the PD or QP that may use it */
} __rte_cache_aligned;

static_assert(sizeof(struct uroce_mr_key) == RTE_CACHE_LINE_SIZE, "one cache miss a look-up");

struct uroce_mr {
	struct ibv_mr ibv;
	struct uroce_mrs *table; /* in the first cache line, for uroce_mr_mbuf_freed() */
	unsigned int access;
	bool is_retired; /* its key is invalid, it waits to be freed */
	bool zero_based;
	uint64_t retired; /* token of the grace period, if is_retired */
	struct uroce_iova_map *iova;
	struct uroce_dma_map *dma; /* of its area of external memory; NULL: nothing to map */
	struct uroce_mr_key *slot;
	/* protected by table->lock */
	LIST_ENTRY(uroce_mr) link;     /* table->of_dpdk, if is_of_dpdk */
	LIST_HEAD(, uroce_mw) windows; /* bound to the region (R47) */
	bool is_of_dpdk;
	bool is_gone; /* DPDK has freed the memory: its key is invalid for good */
	/* atomic counts of threads without counts of their own; on separate cache lines, since different cores may
	 * attach and free */
	uint32_t attached __rte_cache_aligned;
	uint32_t released __rte_cache_aligned;
};

/* A worker's count of the mbufs of one region. Worker: rw, others: relaxed or acquire read */
struct uroce_mr_count {
	uint32_t attached; /* mbufs attached to the memory so far */
	uint32_t released; /* mbufs freed so far, which any worker has attached */
};

struct uroce_mrs {
	struct uroce_mr_key *keys; /* 1 << log2 */
	uint8_t log2;
	/* 1 << log2 counts for each worker of the device, by its number as a reader; NULL: it counts in struct
	 * uroce_mr. Written in the worker's turn, once; others: relaxed read */
	struct uroce_mr_count *counts[UROCE_RCU_READERS + 1];
	struct uroce_dma dma;
	/* A thread may take it while it holds EAL's memory lock. So its holder must not take a lock of EAL
	 * (rte_malloc, rte_free, …). */
	pthread_mutex_t lock;
	struct uroce_slots slots;      /* control: under lock; threads that post renew identifiers without it */
	LIST_HEAD(, uroce_mr) of_dpdk; /* regions in memory that DPDK may free */
	uint32_t count;                /* keys in use */
};

/**
 * @param log2		of the number of keys, 1 .. UROCE_LOG2_LIMIT_MR
 * @param numa_node	preferred node of the keys' memory; -1: any
 * @return 0, -EINVAL or -ENOMEM
 */
int uroce_mrs_init(struct uroce_mrs *t, unsigned int log2, int numa_node);
/** Log that all keys are in use, and the remedy. */
void uroce_mrs_log_full(const struct uroce_mrs *t);
/**
 * DPDK is about to free memory: invalidate the keys of regions and windows in it, and wait until no worker uses
 * them. The caller holds EAL's memory lock for writing. This function does not wait for workers in a driver, which
 * may wait for that lock. Only if mbufs reference the memory, it waits for these workers, for at most
 * UROCE_GIVE_BACK_LOOKS times UROCE_GIVE_BACK_PAUSE_NS.
 */
void uroce_mrs_give_back(struct uroce_mrs *t, const void *addr, size_t len);
/** The table must be empty. */
void uroce_mrs_fini(struct uroce_mrs *t);

/**
 * ibv_reg_mr(3), ibv_reg_mr_iova(3).
 *
 * When DPDK frees the memory, or takes it out of a heap, the region's keys become invalid; the region exists until it
 * is destroyed. The application must not free memory of DPDK, nor unregister external memory, while work requests
 * that use it are outstanding.
 *
 * @param addr		address of the byte at `va` in work requests and for peers
 * @param access	enum ibv_access_flags; IBV_ACCESS_HUGETLB and the optional flags: no effect
 * @return the region, or NULL and errno: EINVAL: length, flags, or remote write or atomic without
 *	local write (R46); EOPNOTSUPP: IBV_ACCESS_ON_DEMAND; EFAULT: not mapped, not readable, or not
 *	writable although `access` has local write; ENOMEM: the table is full; or the error of reading
 *	/proc/self/maps
 */
struct uroce_mr *uroce_mr_create(struct uroce_mrs *t, struct ibv_pd *pd, void *va, size_t length,
				 uint64_t addr, unsigned int access);

/**
 * ibv_alloc_null_mr(3): a region that contains every address. Reads return zeros, writes are discarded. Peers cannot
 * use its rkey. @return NULL and errno: ENOMEM
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

/* The new properties of a region. */
struct uroce_mr_change {
	struct ibv_pd *pd;
	void *va;
	size_t length;
	uint64_t addr; /* of the byte at va, in work requests and for peers */
	unsigned int access;
};

/**
 * ibv_rereg_mr(3), all or nothing. The keys do not change, but are invalid during the call: neither the application
 * nor a peer may use them.
 * @param progress	as for uroce_mr_destroy()
 * @return	0; -EBUSY: windows are bound to it; -ETIMEDOUT; -EINVAL: it is retired; or -errno as
 *		uroce_mr_create(). After an error the region is unchanged
 */
int uroce_mr_change(struct uroce_mr *mr, const struct uroce_mr_change *to, bool (*progress)(void *),
		    void *arg);

/** @return number of mbufs that reference the memory; final once it is 0 and no worker can attach another */
uint32_t uroce_mr_inflight(const struct uroce_mr *mr);

/** Give a worker counts of its own, if it has none: it then counts without atomic operations, and shares no cache line
 * with other workers. If there is no memory for them, it counts in the regions. In its turn.
 * @param reader	its number as a reader */
void uroce_mrs_count_for(struct uroce_mrs *t, unsigned int reader);

/**
 * The NUMA node of the first page; -1: not known, or there is no page. Not called at registration: the kernel's
 * answer takes longer than the rest of a registration.
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
 * The slow path of uroce_key_lookup(): windows, null MRs, and regions whose PD is another name of this one.
 * @return a copy of the key, valid until the calling thread's next look-up; or NULL
 */
const struct uroce_mr_key *uroce_key_resolve(const struct uroce_mr_key *k, uint32_t key,
					     const struct ibv_pd *pd,
					     const struct uroce_mw_owner *qp, uint64_t addr,
					     uint64_t length, uint32_t access) __rte_cold;

/* Does the key grant all these rights to length bytes at addr (R18, R20)? */
static inline bool
uroce_key_grants(const struct uroce_mr_key *k, uint64_t addr, uint64_t length, uint32_t access)
{
	/* none of these differences can wrap */
	return (k->access & access) == access && addr >= k->addr &&
	       length <= k->length && addr - k->addr <= k->length - length;
}

/**
 * May a READ response reference the memory? With an ICRC, only if it does not change (UROCE_ACCESS_STABLE). Without
 * one, also if no later atomic operation can change it.
 */
static inline bool
uroce_key_is_referable(const struct uroce_mr_key *k, bool no_icrc)
{
	if ((k->access & UROCE_KEY_WINDOW) != 0)
		return false; /* a window's version shares the bits of UROCE_ACCESS_STABLE */
	return (k->access & UROCE_ACCESS_STABLE) != 0 || (no_icrc && (k->access & IBV_ACCESS_REMOTE_ATOMIC) == 0);
}

/** Prefetch the key for a look-up. */
static inline void
uroce_key_prefetch(const struct uroce_mrs *t, uint32_t key)
{
	rte_prefetch0(&t->keys[uroce_slots_index(t->log2, 32, key)]);
}

/** Prefetch the fields of the region that uroce_mr_attach() reads and writes. Worker, within a poll. */
static inline void
uroce_key_prefetch_region(const struct uroce_mrs *t, uint32_t key)
{
	const struct uroce_mr_key *k = &t->keys[uroce_slots_index(t->log2, 32, key)];

	/* pairs as in a look-up: a published key does not change during the poll; 0 is the key of a free slot */
	if (__atomic_load_n(&k->key, __ATOMIC_ACQUIRE) != key || key == 0 ||
	    (k->access & (UROCE_KEY_WINDOW | UROCE_KEY_NULL)) != 0)
		return;
	rte_prefetch0(k->iova);
	if (t->counts[uroce_rcu_self] != NULL)
		rte_prefetch0(&t->counts[uroce_rcu_self][k - t->keys]);
}

/**
 * Resolve an lkey or rkey for an access (R18, R20): of a region of this PD, or of a window that packets of
 * this QP may use. Worker, within a poll.
 * @param pd		fastest if it is no parent domain
 * @param qp		the QP's windows; NULL: no QP
 * @param access	enum ibv_access_flags, 0 for local read
 * @return the key's slot or a copy of it, valid until the thread's next look-up; or NULL
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

/** As uroce_key_lookup(), for the whole region or window. */
static inline const struct uroce_mr_key *
uroce_key_lookup_whole(const struct uroce_mrs *t, uint32_t key, const struct ibv_pd *pd,
		       const struct uroce_mw_owner *qp, uint32_t access)
{
	const struct uroce_mr_key *k = &t->keys[uroce_slots_index(t->log2, 32, key)];

	return uroce_key_lookup(t, key, pd, qp, __atomic_load_n(&k->addr, __ATOMIC_RELAXED), 0,
				access);
}

/** As uroce_key_lookup(), for a caller without a QP. */
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

/** @return the IOVA of length bytes at addr; RTE_BAD_IOVA: none, or not contiguous: copy the bytes */
rte_iova_t uroce_mr_iova(const struct uroce_mr_key *k, uint64_t addr, uint32_t length);

/**
 * May a frame reference length bytes at addr of the region?
 *
 * @param by_cpu	the port reads them by their virtual address, and needs no IOVA
 * @param iova		set to their IOVA, or to 0 if it is not needed
 */
bool uroce_mr_may_attach(const struct uroce_mr_key *k, uint64_t addr, uint32_t length, bool by_cpu, rte_iova_t *iova);

/**
 * Attach length bytes at addr of the region to an mbuf as external data, and hold the region until
 * the mbuf is freed. The mbuf's private area must have room for struct rte_mbuf_ext_shared_info.
 * The mbuf must not be cloned with rte_pktmbuf_clone(), since a clone would refer to that area. Worker,
 * within a poll.
 * @return 0, or -ENOTSUP unless uroce_mr_may_attach()
 */
int uroce_mr_attach(const struct uroce_mr_key *k, uint64_t addr, uint16_t length, bool by_cpu, struct rte_mbuf *m);

#endif /* UROCE_MEM_MR_H */
