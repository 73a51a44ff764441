/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Memory regions from registration to deregistration, and the mbufs that lead into them. Control
 * threads create and destroy; workers translate and attach; whoever frees memory of DPDK runs
 * on_mem_event().
 *
 * Locks: EAL's memory lock, then the table's, and nothing of EAL is called under the table's.
 * Registration looks at memory of DPDK and publishes its key under EAL's lock for reading, so that
 * memory which DPDK gives back (EAL's lock for writing) is either no longer there to be registered
 * or found in the table.
 */

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <rte_debug.h>
#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "uroce_config.h"
#include "mem/dpdk.h"
#include "mem/iova.h"
#include "mem/mapped.h"
#include "mem/mr.h"
#include "mem/numa.h"
#include "mem/rcu.h"

#define EVENT_NAME "uroce_mrs"

/* What a key can grant. */
#define RIGHTS \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)
/* What may be asked for beside: how the caller names addresses, and hints. */
#define HINTS (IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE)

static void
invalidate(struct uroce_mr *mr)
{
	/* the wait for workers that follows orders it */
	__atomic_store_n(&mr->slot->key, 0, __ATOMIC_RELAXED);
}

/* Called with EAL's memory lock held for writing, before the memory goes. */
static void
on_mem_event(enum rte_mem_event event, const void *addr, size_t len, void *arg)
{
	struct uroce_mrs *t = arg;
	const uint64_t first = (uintptr_t)addr;
	bool found = false;
	struct uroce_mr *mr;

	if (event != RTE_MEM_EVENT_FREE)
		return;
	pthread_mutex_lock(&t->lock);
	LIST_FOREACH(mr, &t->of_dpdk, link) {
		const uint64_t va = (uintptr_t)mr->slot->va;

		if (va - first < len || first - va < mr->slot->length) {
			invalidate(mr);
			found = true;
		}
	}
	pthread_mutex_unlock(&t->lock);
	if (found)
		uroce_rcu_wait();
}

static struct uroce_mr_key *
alloc_keys(unsigned int log2, int numa_node)
{
	const size_t bytes = sizeof(struct uroce_mr_key) << log2;
	void *keys = rte_zmalloc_socket("uroce_mr_keys", bytes, RTE_CACHE_LINE_SIZE, numa_node);

	/* far memory is better than none */
	if (keys == NULL && numa_node != SOCKET_ID_ANY)
		keys = rte_zmalloc("uroce_mr_keys", bytes, RTE_CACHE_LINE_SIZE);
	return keys;
}

int
uroce_mrs_init(struct uroce_mrs *t, unsigned int log2, int numa_node)
{
	int rc;

	if (log2 < 1 || log2 > UROCE_LOG2_LIMIT_MR)
		return -EINVAL;
	rc = uroce_rcu_init();
	if (rc != 0)
		return rc;
	t->keys = alloc_keys(log2, numa_node);
	if (t->keys == NULL)
		return -ENOMEM;
	rc = uroce_slots_init(&t->slots, log2, 32);
	if (rc != 0)
		goto free_keys;
	t->log2 = (uint8_t)log2;
	t->count = 0;
	LIST_INIT(&t->of_dpdk);
	pthread_mutex_init(&t->lock, NULL);
	/* not supported: then nothing is ever given back */
	if (rte_mem_event_callback_register(EVENT_NAME, on_mem_event, t) != 0 &&
	    rte_errno != ENOTSUP) {
		rc = -rte_errno;
		goto fini_slots;
	}
	return 0;

fini_slots:
	pthread_mutex_destroy(&t->lock);
	uroce_slots_fini(&t->slots);
free_keys:
	rte_free(t->keys);
	t->keys = NULL;
	return rc;
}

void
uroce_mrs_fini(struct uroce_mrs *t)
{
	RTE_VERIFY(t->count == 0);
	/* fails where registering was not supported */
	(void)rte_mem_event_callback_unregister(EVENT_NAME, t);
	pthread_mutex_destroy(&t->lock);
	uroce_slots_fini(&t->slots);
	rte_free(t->keys);
	t->keys = NULL;
}

static int
check_arguments(const void *va, size_t length, uint64_t addr, unsigned int access)
{
	if ((access & ~(unsigned int)(RIGHTS | HINTS | IBV_ACCESS_ON_DEMAND)) != 0)
		return -EINVAL;
	/* R46 */
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
	    (access & IBV_ACCESS_LOCAL_WRITE) == 0)
		return -EINVAL;
	if (length == 0 || length > UROCE_MAX_MR_BYTES)
		return -EINVAL;
	if ((uintptr_t)va + (length - 1) < (uintptr_t)va || addr + (length - 1) < addr)
		return -EINVAL;
	/* nothing is pinned, but it must be mapped by now: not what this flag says */
	if ((access & IBV_ACCESS_ON_DEMAND) != 0)
		return -EOPNOTSUPP;
	return 0;
}

static struct uroce_mr *
alloc_mr(struct uroce_mrs *t, struct ibv_pd *pd, void *va, size_t length, unsigned int access)
{
	struct uroce_mr *mr;

	if (posix_memalign((void **)&mr, RTE_CACHE_LINE_SIZE, sizeof(*mr)) != 0)
		return NULL;
	*mr = (struct uroce_mr){
		.ibv = { .context = pd->context, .pd = pd, .addr = va, .length = length },
		.access = access & RIGHTS,
		.numa_node = -1,
		.table = t,
	};
	return mr;
}

/* Give the region a slot and a key, and let workers see it. */
static int
publish(struct uroce_mrs *t, struct uroce_mr *mr, uint64_t addr)
{
	uint32_t key;
	int rc;

	pthread_mutex_lock(&t->lock);
	rc = uroce_slots_get(&t->slots, &key);
	if (rc != 0) {
		pthread_mutex_unlock(&t->lock);
		return rc;
	}
	mr->ibv.handle = uroce_slots_index(t->log2, 32, key);
	mr->ibv.lkey = key;
	mr->ibv.rkey = key;
	mr->slot = &t->keys[mr->ibv.handle];
	mr->slot->access = mr->access;
	mr->slot->pd = mr->ibv.pd;
	mr->slot->addr = addr;
	mr->slot->length = mr->ibv.length;
	mr->slot->va = mr->ibv.addr;
	mr->slot->iova = mr->iova;
	mr->slot->mr = mr;
	if (mr->is_of_dpdk)
		LIST_INSERT_HEAD(&t->of_dpdk, mr, link);
	t->count++;
	/* pairs with the acquire in uroce_mr_lookup() */
	__atomic_store_n(&mr->slot->key, key, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

/* EAL's memory lock is held: what is found out here stays true until the key is published. */
static int
publish_of_dpdk(struct uroce_mrs *t, struct uroce_mr *mr, uint64_t addr, uint64_t first,
		uint64_t last)
{
	int rc = uroce_dpdk_check(first, last, (mr->access & IBV_ACCESS_LOCAL_WRITE) != 0);

	if (rc == 0)
		rc = uroce_iova_map_create(first, last, &mr->iova);
	if (rc == 0)
		rc = publish(t, mr, addr);
	return rc;
}

static int
check_and_publish(struct uroce_mrs *t, struct uroce_mr *mr, uint64_t addr)
{
	const uint64_t first = (uintptr_t)mr->ibv.addr;
	const uint64_t last = first + (mr->ibv.length - 1);
	int rc = 0;

	rte_mcfg_mem_read_lock();
	mr->is_of_dpdk = uroce_dpdk_overlaps(first, last);
	if (mr->is_of_dpdk) {
		mr->numa_node = uroce_dpdk_node(first);
		rc = publish_of_dpdk(t, mr, addr, first, last);
	}
	rte_mcfg_mem_read_unlock();
	/* for what reads it, not for workers: no matter that the key is out */
	if (mr->numa_node < 0)
		mr->numa_node = uroce_numa_node(mr->ibv.addr);
	if (mr->is_of_dpdk)
		return rc;
	/* not under a lock that others spin on */
	rc = uroce_mapped_check(first, last, (mr->access & IBV_ACCESS_LOCAL_WRITE) != 0);
	return rc == 0 ? publish(t, mr, addr) : rc;
}

struct uroce_mr *
uroce_mr_create(struct uroce_mrs *t, struct ibv_pd *pd, void *va, size_t length, uint64_t addr,
		unsigned int access)
{
	int rc = check_arguments(va, length, addr, access);
	struct uroce_mr *mr = NULL;

	if (rc != 0)
		goto fail;
	mr = alloc_mr(t, pd, va, length, access);
	if (mr == NULL) {
		rc = -ENOMEM;
		goto fail;
	}
	rc = check_and_publish(t, mr, addr);
	if (rc == 0)
		return mr;
	uroce_iova_map_destroy(mr->iova);
	free(mr);
fail:
	errno = -rc;
	return NULL;
}

void
uroce_mr_destroy(struct uroce_mr *mr, void (*progress)(void *), void *arg)
{
	struct uroce_mrs *t = mr->table;

	pthread_mutex_lock(&t->lock);
	invalidate(mr);
	if (mr->is_of_dpdk)
		LIST_REMOVE(mr, link);
	pthread_mutex_unlock(&t->lock);
	uroce_rcu_wait();

	/* No worker can add to them now. Pairs with the release in on_mbuf_free(). */
	while (__atomic_load_n(&mr->inflight, __ATOMIC_ACQUIRE) != 0) {
		if (progress != NULL)
			progress(arg);
		sched_yield();
	}
	pthread_mutex_lock(&t->lock);
	uroce_slots_put(&t->slots, mr->ibv.lkey);
	t->count--;
	pthread_mutex_unlock(&t->lock);
	uroce_iova_map_destroy(mr->iova);
	free(mr);
}

rte_iova_t
uroce_mr_iova(const struct uroce_mr_key *k, uint64_t addr, uint32_t length)
{
	if (k->iova == NULL || length == 0)
		return RTE_BAD_IOVA;
	return uroce_iova_map_lookup(k->iova, uroce_mr_va(k, addr), length);
}

static void
on_mbuf_free(void *data, void *arg)
{
	struct uroce_mr *mr = arg;

	RTE_SET_USED(data);
	/* The last touch: pairs with the acquire in uroce_mr_destroy(), which frees the region. */
	__atomic_sub_fetch(&mr->inflight, 1, __ATOMIC_RELEASE);
}

int
uroce_mr_attach(const struct uroce_mr_key *k, uint64_t addr, uint16_t length, struct rte_mbuf *m)
{
	struct rte_mbuf_ext_shared_info *shared = rte_mbuf_to_priv(m);
	const rte_iova_t iova = uroce_mr_iova(k, addr, length);

	RTE_ASSERT(rte_pktmbuf_priv_size(m->pool) >= sizeof(*shared));
	if (iova == RTE_BAD_IOVA)
		return -ENOTSUP;
	__atomic_add_fetch(&k->mr->inflight, 1, __ATOMIC_RELAXED);
	shared->free_cb = on_mbuf_free;
	shared->fcb_opaque = k->mr;
	rte_mbuf_ext_refcnt_set(shared, 1);
	rte_pktmbuf_attach_extbuf(m, uroce_mr_va(k, addr), iova, length, shared);
	m->data_len = length;
	m->pkt_len = length;
	return 0;
}
