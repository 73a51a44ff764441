/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The mbuf pools of workers and queues, including those that still wait for their mbufs.
 */

#ifndef UROCE_PORT_WORKER_POOL_H
#define UROCE_PORT_WORKER_POOL_H

#include <stddef.h>
#include <stdint.h>

#include <rte_mempool.h>

/** @param room_bytes	beside the headroom. @return NULL and errno */
struct rte_mempool *uroce_pool_create(const char *kind, unsigned int mbufs, uint32_t room_bytes,
				      int numa_node);

/** DPDK's memory that a pool takes, if its mbufs are packed as without hugepages. */
size_t uroce_pool_bytes(unsigned int mbufs, uint32_t room_bytes);

/** Free the pool now if all its mbufs are back, or else in a later call. NULL is nothing to do. */
void uroce_pool_retire(struct rte_mempool *pool);

/** Pools that wait for their mbufs. */
unsigned int uroce_pools_retired(void);

#endif /* UROCE_PORT_WORKER_POOL_H */
