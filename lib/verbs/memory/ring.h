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

/* pd.c makes it. */
struct uroce_parent_domain {
	struct uroce_pd pd;
	struct ibv_parent_domain_init_attr attr;	/* alloc NULL: DPDK's memory */
};

/** Memory for a ring, aligned to cache lines, all zeros. @param pd may be NULL. @return NULL: none */
void *uroce_ring_alloc(const struct uroce_device *dev, struct ibv_pd *pd, enum uroce_res_type type, size_t bytes);

/** Give it back to where it came from: its domain is still there. NULL is fine. */
void uroce_ring_free(void *ring);

#endif /* UROCE_VERBS_MEMORY_RING_H */
