/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Registers, changes and deregisters memory regions. Control threads.
 *
 * Registration takes no lock of EAL: a program may register memory in a callback of EAL (rte_mem_event_callback_t), which
 * runs under EAL's memory lock, or hold a lock that such a callback needs. So a region of DPDK's memory is listed in the
 * table before its pages are checked: if DPDK frees them later, it finds the region; if it has freed them before, the
 * check fails. A program that registers memory while another thread frees it may still get a key for freed memory.
 */

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <rte_eal_memconfig.h>

#include "uroce_config.h"
#include "uroce_verbs.h"
#include "mem/dpdk.h"
#include "mem/iova.h"
#include "mem/mapped.h"
#include "mem/mr.h"
#include "mem/numa.h"
#include "mem/pd.h"
#include "mem/persistent.h"
#include "base/rcu.h"

/* Rights that a key can grant. */
#define RIGHTS \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_FLUSH_GLOBAL | \
	 IBV_ACCESS_FLUSH_PERSISTENT | UROCE_ACCESS_STABLE)
/* Other flags that are accepted. */
#define HINTS (IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE)

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
	/* on-demand paging would allow memory that is not mapped yet */
	if ((access & IBV_ACCESS_ON_DEMAND) != 0)
		return -EOPNOTSUPP;
	if ((access & IBV_ACCESS_FLUSH_PERSISTENT) != 0)
		return uroce_persistent_check((uintptr_t)va, (uintptr_t)va + (length - 1));
	return 0;
}

static struct uroce_mr *
alloc_mr(struct uroce_mrs *t, const struct uroce_mr_change *as)
{
	struct uroce_mr *mr;

	if (posix_memalign((void **)&mr, RTE_CACHE_LINE_SIZE, sizeof(*mr)) != 0)
		return NULL;
	*mr = (struct uroce_mr){
		.ibv = { .context = as->pd->context,
			 .pd = as->pd,
			 .addr = as->va,
			 .length = as->length },
		.access = as->access & RIGHTS,
		.zero_based = (as->access & IBV_ACCESS_ZERO_BASED) != 0,
		.table = t,
	};
	return mr;
}

/* Fill in the key's slot. The caller holds the table's lock. */
static void
describe(struct uroce_mr *mr, uint64_t addr)
{
	struct uroce_mr_key *k = mr->slot;

	k->access = mr->access;
	k->pd = uroce_pd_protection(mr->ibv.pd);
	k->addr = addr;
	k->length = mr->ibv.length;
	k->va = mr->ibv.addr;
	k->iova = mr->iova;
	k->mr = mr;
	k->owner = NULL;
	/* pairs with the acquire in uroce_key_lookup() */
	if (!mr->is_gone)
		__atomic_store_n(&k->key, mr->ibv.lkey, __ATOMIC_RELEASE);
}

/* The caller holds the table's lock. */
static int
get_slot(struct uroce_mr *mr)
{
	struct uroce_mrs *t = mr->table;
	uint32_t key;
	int rc = uroce_slots_get(&t->slots, &key);

	if (rc != 0) {
		uroce_mrs_log_full(t);
		return rc;
	}
	mr->ibv.handle = uroce_slots_index(t->log2, 32, key);
	mr->ibv.lkey = key;
	mr->ibv.rkey = key;
	mr->slot = &t->keys[mr->ibv.handle];
	t->count++;
	return 0;
}

/* Give the region a key, and publish the key to the workers. */
static int
publish(struct uroce_mr *mr, uint64_t addr)
{
	struct uroce_mrs *t = mr->table;
	int rc;

	pthread_mutex_lock(&t->lock);
	rc = get_slot(mr);
	if (rc == 0)
		describe(mr, addr);
	pthread_mutex_unlock(&t->lock);
	return rc;
}

/* Have uroce_mrs_give_back() find the region. */
static void
list(struct uroce_mr *mr)
{
	pthread_mutex_lock(&mr->table->lock);
	LIST_INSERT_HEAD(&mr->table->of_dpdk, mr, link);
	pthread_mutex_unlock(&mr->table->lock);
}

static void
unlist(struct uroce_mr *mr)
{
	pthread_mutex_lock(&mr->table->lock);
	LIST_REMOVE(mr, link);
	pthread_mutex_unlock(&mr->table->lock);
}

/* @return as look() */
static int
look_at_dpdk(struct uroce_mr *mr, uint64_t first, uint64_t last)
{
	const struct uroce_dpdk_area area = uroce_dpdk_area(first);
	int rc = uroce_dpdk_check(&area, first, last, (mr->access & IBV_ACCESS_LOCAL_WRITE) != 0);

	if (rc == 0 && uroce_dma_is_needed(&mr->table->dma, area.msl) && mr->dma == NULL)
		rc = -EAGAIN;
	/* no IOVA map for memory that the device cannot access: payloads are copied */
	if (rc == 0 && (mr->dma == NULL || mr->dma->is_visible))
		rc = uroce_iova_map_create(&area, first, last, &mr->iova);
	return rc;
}

/* Check the memory. @return 0, -errno, or -EAGAIN: call uroce_dma_get() first */
static int
look(struct uroce_mr *mr)
{
	const uint64_t first = (uintptr_t)mr->ibv.addr;
	const uint64_t last = first + (mr->ibv.length - 1);
	int rc;

	mr->is_of_dpdk = uroce_dpdk_list(first) != NULL || uroce_dpdk_overlaps(first, last);
	if (!mr->is_of_dpdk)
		return uroce_mapped_check(first, last, (mr->access & IBV_ACCESS_LOCAL_WRITE) != 0);
	list(mr);
	rc = look_at_dpdk(mr, first, last);
	if (rc != 0)
		unlist(mr);
	return rc;
}

static int
look_and_publish(struct uroce_mr *mr, uint64_t addr, bool with_key)
{
	int rc = look(mr);

	if (rc == -EAGAIN) {
		rc = uroce_dma_get(&mr->table->dma, (uintptr_t)mr->ibv.addr, &mr->dma);
		rc = rc == 0 ? look(mr) : rc;
	}
	if (rc != 0 || !with_key)
		return rc;
	rc = publish(mr, addr);
	if (rc != 0 && mr->is_of_dpdk)
		unlist(mr);
	return rc;
}

static struct uroce_mr *
create(struct uroce_mrs *t, const struct uroce_mr_change *as, bool with_key, int *rc)
{
	struct uroce_mr *mr;

	*rc = check_arguments(as->va, as->length, as->addr, as->access);
	if (*rc != 0)
		return NULL;
	mr = alloc_mr(t, as);
	if (mr == NULL) {
		*rc = -ENOMEM;
		return NULL;
	}
	*rc = look_and_publish(mr, as->addr, with_key);
	if (*rc == 0)
		return mr;
	uroce_dma_put(mr->dma);
	uroce_iova_map_destroy(mr->iova);
	free(mr);
	return NULL;
}

struct uroce_mr *
uroce_mr_create(struct uroce_mrs *t, struct ibv_pd *pd, void *va, size_t length, uint64_t addr,
		unsigned int access)
{
	const struct uroce_mr_change as = { pd, va, length, addr, access };
	int rc;
	struct uroce_mr *mr = create(t, &as, true, &rc);

	if (mr == NULL)
		errno = -rc;
	return mr;
}

int
uroce_mr_retire(struct uroce_mr *mr)
{
	struct uroce_mrs *t = mr->table;

	if (mr->is_retired)
		return 0;
	pthread_mutex_lock(&t->lock);
	if (!LIST_EMPTY(&mr->windows)) { /* R47 */
		pthread_mutex_unlock(&t->lock);
		return -EBUSY;
	}
	/* relaxed: the grace period orders it */
	__atomic_store_n(&mr->slot->key, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&t->lock);
	mr->retired = uroce_rcu_begin();
	mr->is_retired = true;
	return 0;
}

bool
uroce_mr_is_idle(const struct uroce_mr *mr)
{
	/* check the mbufs last: once the grace period is over, no worker adds any */
	return uroce_rcu_has_ended(mr->retired) && uroce_mr_inflight(mr) == 0;
}

/* @return 0, -EBUSY or -ETIMEDOUT */
static int
retire(struct uroce_mr *mr, bool (*progress)(void *), void *arg)
{
	int rc = uroce_mr_retire(mr);

	while (rc == 0 && !uroce_mr_is_idle(mr)) {
		if (progress != NULL && !progress(arg))
			rc = -ETIMEDOUT;
		sched_yield();
	}
	return rc;
}

void
uroce_mr_free(struct uroce_mr *mr)
{
	struct uroce_mrs *t = mr->table;

	pthread_mutex_lock(&t->lock);
	if (mr->is_of_dpdk)
		LIST_REMOVE(mr, link);
	uroce_slots_put(&t->slots, mr->ibv.lkey);
	t->count--;
	pthread_mutex_unlock(&t->lock);
	uroce_dma_put(mr->dma);
	uroce_iova_map_destroy(mr->iova);
	free(mr);
}

int
uroce_mr_destroy(struct uroce_mr *mr, bool (*progress)(void *), void *arg)
{
	int rc = retire(mr, progress, arg);

	if (rc == 0)
		uroce_mr_free(mr);
	return rc;
}

int
uroce_mr_numa_node(const struct uroce_mr *mr)
{
	int node;

	rte_mcfg_mem_read_lock();
	node = uroce_dpdk_node((uintptr_t)mr->ibv.addr);
	rte_mcfg_mem_read_unlock();
	return node >= 0 ? node : uroce_numa_node(mr->ibv.addr);
}

/* Take over the properties of `next`, and leave the old ones to be freed in it. The caller holds the table's lock, and
 * the region's key is invalid. */
static void
become(struct uroce_mr *mr, struct uroce_mr *next, uint64_t addr)
{
	struct uroce_mrs *t = mr->table;
	struct uroce_iova_map *old = mr->iova;

	if (mr->is_of_dpdk)
		LIST_REMOVE(mr, link);
	if (next->is_of_dpdk) {
		LIST_REMOVE(next, link);
		LIST_INSERT_HEAD(&t->of_dpdk, mr, link);
	}
	mr->ibv.pd = next->ibv.pd;
	mr->ibv.addr = next->ibv.addr;
	mr->ibv.length = next->ibv.length;
	mr->access = next->access;
	mr->zero_based = next->zero_based;
	mr->is_of_dpdk = next->is_of_dpdk;
	mr->is_gone = next->is_gone;
	mr->iova = next->iova;
	next->iova = old;
	RTE_SWAP(mr->dma, next->dma);
	next->is_of_dpdk = false;
	describe(mr, addr);
}

/* All steps that can fail, except for the wait, act on a temporary region before the key changes. */
int
uroce_mr_change(struct uroce_mr *mr, const struct uroce_mr_change *to, bool (*progress)(void *), void *arg)
{
	struct uroce_mrs *t = mr->table;
	const uint64_t addr = mr->slot->addr;
	struct uroce_mr *next;
	int rc;

	if (mr->is_retired)
		return -EINVAL;
	next = create(t, to, false, &rc);
	if (next == NULL)
		return rc;
	rc = retire(mr, progress, arg);
	pthread_mutex_lock(&t->lock);
	if (rc == 0)
		become(mr, next, to->addr);
	else if (rc == -ETIMEDOUT)
		describe(mr, addr); /* restore the old key */
	if (next->is_of_dpdk)
		LIST_REMOVE(next, link);
	pthread_mutex_unlock(&t->lock);
	mr->is_retired = false;
	uroce_dma_put(next->dma);
	uroce_iova_map_destroy(next->iova);
	free(next);
	return rc;
}
