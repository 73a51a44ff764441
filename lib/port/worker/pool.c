/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates and frees the mbuf pools of workers and queues. A sent frame may stay in another port's ring long after its
 * worker was destroyed, so a pool waits on a list until all its mbufs are back. Control threads.
 *
 * Without hugepages, rte_pktmbuf_pool_create() takes up to twice the memory, since no mbuf may cross a page of 4
 * KiB. If I/O addresses are virtual addresses, page boundaries do not matter, and this file packs the mbufs.
 */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include <rte_bitops.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_memzone.h>

#include "base/log.h"
#include "port/worker/pool.h"
#include "transport/engine.h"
#include "uroce_config.h"

#define POOL_PREFIX "uroce_"

struct retired {
	LIST_ENTRY(retired) link;
	struct rte_mempool *pool;
};

static LIST_HEAD(, retired) retired_pools = LIST_HEAD_INITIALIZER(retired_pools);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the list, and the sequence number */

/* A cache may hold half as many mbufs more than its size. */
static unsigned int
cache_size(unsigned int mbufs, unsigned int lcores)
{
	return RTE_MIN((unsigned int)UROCE_MBUF_CACHE, mbufs * 2 / 3 / lcores);
}

/* Bytes of one mbuf with its private area and data room. */
static uint32_t
element_bytes(uint32_t room_bytes)
{
	return sizeof(struct rte_mbuf) + UROCE_ENGINE_PRIV_BYTES + RTE_PKTMBUF_HEADROOM + room_bytes;
}

/* Bytes of all mbufs, including the mempool's headers. */
static size_t
packed_bytes(unsigned int mbufs, uint32_t room_bytes)
{
	return (size_t)mbufs * rte_mempool_calc_obj_size(element_bytes(room_bytes), 0, NULL);
}

size_t
uroce_pool_bytes(unsigned int mbufs, uint32_t room_bytes)
{
	size_t ring = sizeof(struct rte_ring) + sizeof(void *) * rte_align32pow2(mbufs + 1);

	return packed_bytes(mbufs, room_bytes) + ring + sizeof(struct rte_mempool) +
	       RTE_MAX_LCORE * sizeof(struct rte_mempool_cache);
}

static void
free_memzone(struct rte_mempool_memhdr *memhdr, void *memzone)
{
	(void)memhdr;
	rte_memzone_free(memzone);
}

/* @return 0 or -errno; the pool frees the memory */
static int
populate_packed(struct rte_mempool *pool, size_t bytes, int numa_node)
{
	char name[RTE_MEMZONE_NAMESIZE];
	const struct rte_memzone *memzone;
	int ret;

	snprintf(name, sizeof(name), "%s_mbufs", pool->name);
	memzone = rte_memzone_reserve_aligned(name, bytes, numa_node, RTE_MEMZONE_IOVA_CONTIG, RTE_CACHE_LINE_SIZE);
	if (memzone == NULL)
		return -rte_errno;
	ret = rte_mempool_populate_iova(pool, memzone->addr, memzone->iova, memzone->len, free_memzone,
					(void *)(uintptr_t)memzone);
	if (ret <= 0) {
		rte_memzone_free(memzone);
		return ret < 0 ? ret : -ENOMEM;
	}
	return pool->populated_size == pool->size ? 0 : -ENOMEM;
}

/* As rte_pktmbuf_pool_create(). @return NULL and rte_errno */
static struct rte_mempool *
create_packed(const char *name, unsigned int mbufs, uint32_t room_bytes, int numa_node, unsigned int cache)
{
	struct rte_pktmbuf_pool_private priv = {
		.mbuf_data_room_size = (uint16_t)(RTE_PKTMBUF_HEADROOM + room_bytes),
		.mbuf_priv_size = UROCE_ENGINE_PRIV_BYTES,
	};
	struct rte_mempool *pool;
	int ret;

	/* all memory is contiguous, so an mbuf may cross a page */
	pool = rte_mempool_create_empty(name, mbufs, element_bytes(room_bytes), cache, sizeof(priv),
					numa_node, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	if (pool == NULL)
		return NULL;
	ret = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL);
	if (ret == 0) {
		rte_pktmbuf_pool_init(pool, &priv);
		ret = populate_packed(pool, packed_bytes(mbufs, room_bytes), numa_node);
	}
	if (ret != 0) {
		rte_mempool_free(pool);
		rte_errno = -ret;
		return NULL;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

struct rte_mempool *
uroce_pool_create_cached(const char *kind, unsigned int mbufs, uint32_t room_bytes, int numa_node, unsigned int cached,
			 unsigned int lcores)
{
	const unsigned int cache = cache_size(cached, lcores);
	static unsigned int sequence;
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;
	unsigned int id;

	if (room_bytes > UINT16_MAX - RTE_PKTMBUF_HEADROOM) {
		errno = EINVAL;
		return NULL;
	}
	pthread_mutex_lock(&lock);
	id = sequence++;
	pthread_mutex_unlock(&lock);
	snprintf(name, sizeof(name), POOL_PREFIX "%s_%u", kind, id);
	if (!rte_eal_has_hugepages() && rte_eal_iova_mode() == RTE_IOVA_VA)
		pool = create_packed(name, mbufs, room_bytes, numa_node, cache);
	else
		pool = rte_pktmbuf_pool_create(name, mbufs, cache, UROCE_ENGINE_PRIV_BYTES,
					       (uint16_t)(RTE_PKTMBUF_HEADROOM + room_bytes), numa_node);
	if (pool == NULL) {
		UROCE_LOG(ERR, "cannot create the mbuf pool %s of %u mbufs, %u bytes each: %s\n", name, mbufs,
			  room_bytes, rte_strerror(rte_errno));
		errno = rte_errno;
	}
	return pool;
}

struct rte_mempool *
uroce_pool_create(const char *kind, unsigned int mbufs, uint32_t room_bytes, int numa_node)
{
	return uroce_pool_create_cached(kind, mbufs, room_bytes, numa_node, mbufs, 1);
}

static void
bury(void)
{
	struct retired *r, *next;

	for (r = LIST_FIRST(&retired_pools); r != NULL; r = next) {
		next = LIST_NEXT(r, link);
		if (!rte_mempool_full(r->pool))
			continue;
		LIST_REMOVE(r, link);
		rte_mempool_free(r->pool);
		rte_free(r);
	}
}

void
uroce_pool_retire(struct rte_mempool *pool)
{
	struct retired *r;

	pthread_mutex_lock(&lock);
	bury();
	if (pool == NULL)
		goto unlock;
	if (rte_mempool_full(pool)) {
		rte_mempool_free(pool);
		goto unlock;
	}
	r = rte_zmalloc("uroce_retired", sizeof(*r), 0);
	if (r == NULL) {
		/* leak the pool: a port may still access the mbufs that are not back */
		UROCE_LOG(ERR, "mbuf pool %s is leaked: a port holds %u of its mbufs, and no memory to wait for them\n",
			  pool->name, rte_mempool_in_use_count(pool));
		goto unlock;
	}
	r->pool = pool;
	LIST_INSERT_HEAD(&retired_pools, r, link);
unlock:
	pthread_mutex_unlock(&lock);
}

static void
flush(struct rte_mempool *pool, void *arg)
{
	struct rte_mempool_cache *cache = rte_mempool_default_cache(pool, rte_lcore_id());

	(void)arg;
	if (cache != NULL && strncmp(pool->name, POOL_PREFIX, strlen(POOL_PREFIX)) == 0)
		rte_mempool_cache_flush(cache, pool);
}

void
uroce_pools_flush(void)
{
	if (rte_lcore_id() != LCORE_ID_ANY)
		rte_mempool_walk(flush, NULL);
}

unsigned int
uroce_pools_retired(void)
{
	unsigned int n = 0;
	struct retired *r;

	pthread_mutex_lock(&lock);
	bury();
	LIST_FOREACH(r, &retired_pools, link)
	n++;
	pthread_mutex_unlock(&lock);
	return n;
}
