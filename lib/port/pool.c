/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Makes mbuf pools and buries them. A frame that was sent may lie in another port's ring long after
 * its worker is gone, so a pool is freed only when it is full again; until then it is on a list.
 * Control threads.
 */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/queue.h>

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "port/log.h"
#include "port/pool.h"
#include "transport/engine.h"
#include "uroce_config.h"

struct retired {
	LIST_ENTRY(retired) link;
	struct rte_mempool *pool;
};

static LIST_HEAD(, retired) retired_pools = LIST_HEAD_INITIALIZER(retired_pools);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the list, and the sequence number */

struct rte_mempool *
uroce_pool_create(const char *kind, unsigned int mbufs, uint32_t room_bytes, int numa_node)
{
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
	snprintf(name, sizeof(name), "uroce_%s_%u", kind, id);
	pool = rte_pktmbuf_pool_create(name, mbufs, RTE_MIN(UROCE_MBUF_CACHE, mbufs * 2 / 3),
				       UROCE_ENGINE_PRIV_BYTES,
				       (uint16_t)(RTE_PKTMBUF_HEADROOM + room_bytes), numa_node);
	if (pool == NULL) {
		UROCE_LOG(ERR, "no memory for %u mbufs of %u bytes: %s\n", mbufs, room_bytes,
			  rte_strerror(rte_errno));
		errno = rte_errno;
	}
	return pool;
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
		/* Memory lost is better than memory that a port still writes to. */
		UROCE_LOG(ERR, "%s is lost: a port holds some of its mbufs\n", pool->name);
		goto unlock;
	}
	r->pool = pool;
	LIST_INSERT_HEAD(&retired_pools, r, link);
unlock:
	pthread_mutex_unlock(&lock);
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
