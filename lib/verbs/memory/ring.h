/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Allocates the rings of queues: from DPDK on the device's socket, or by the allocator of the application's parent
 * domain. Control threads.
 */

#ifndef UROCE_VERBS_MEMORY_RING_H
#define UROCE_VERBS_MEMORY_RING_H

#include <stddef.h>

#include "uroce.h"
#include "mem/pd.h"
#include "verbs/device/device.h"

/* A parent domain, which pd.c creates. */
struct uroce_parent_domain {
	struct uroce_pd pd;
	struct ibv_parent_domain_init_attr attr;	/* alloc NULL: DPDK's memory */
};

/** Allocate zeroed memory for a ring, aligned to cache lines. @param pd may be NULL. @return NULL: out of memory */
void *uroce_ring_alloc(const struct uroce_device *dev, struct ibv_pd *pd, enum uroce_res_type type, size_t bytes);

/** Free a ring with the allocator that it came from, while its domain still exists. NULL is allowed. */
void uroce_ring_free(void *ring);

#endif /* UROCE_VERBS_MEMORY_RING_H */
