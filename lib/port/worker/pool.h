/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The mbuf pools of workers and queues.
 */

#ifndef UROCE_PORT_WORKER_POOL_H
#define UROCE_PORT_WORKER_POOL_H

#include <stddef.h>
#include <stdint.h>

#include <rte_mempool.h>

/**
 * Create a pool.
 * @param room_bytes	data room of an mbuf, without the headroom
 * @return NULL, with errno set
 */
struct rte_mempool *uroce_pool_create(const char *kind, unsigned int mbufs, uint32_t room_bytes, int numa_node);
/** As uroce_pool_create(). @param cached	most mbufs that may be in the caches of lcores at a time
 * @param lcores	that free mbufs of the pool */
struct rte_mempool *uroce_pool_create_cached(const char *kind, unsigned int mbufs, uint32_t room_bytes, int numa_node,
					     unsigned int cached, unsigned int lcores);

/** @return the bytes of DPDK's memory that a pool takes if its mbufs are packed */
size_t uroce_pool_bytes(unsigned int mbufs, uint32_t room_bytes);

/** Free the pool if all its mbufs are back; otherwise a later call frees it. NULL has no effect. */
void uroce_pool_retire(struct rte_mempool *pool);

/** Return the mbufs in the calling thread's mempool caches to their pools, for a thread that stops polling: no other lcore
 * can take them from there. Not with a worker's turn. */
void uroce_pools_flush(void);

/** @return the number of retired pools that still wait for mbufs */
unsigned int uroce_pools_retired(void);

#endif /* UROCE_PORT_WORKER_POOL_H */
