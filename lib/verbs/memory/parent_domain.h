/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Allocates the rings of queues: from DPDK on the device's socket, or by the allocator of the application's parent
 * domain. Control threads.
 */

#ifndef UROCE_VERBS_MEMORY_PARENT_DOMAIN_H
#define UROCE_VERBS_MEMORY_PARENT_DOMAIN_H

#include <stddef.h>

#include "uroce.h"
#include "verbs/device/device.h"

/** Memory for a ring, aligned to cache lines, all zeros. @param pd may be NULL. @return NULL: none */
void *uroce_ring_alloc(const struct uroce_device *dev, struct ibv_pd *pd, enum uroce_res_type type, size_t bytes);

/** Give it back to where it came from: its domain is still there. NULL is fine. */
void uroce_ring_free(void *ring);

/** A protection domain of this size, the memory behind it zeros. @return NULL and errno */
struct uroce_pd *uroce_pd_create(struct ibv_context *context, size_t bytes);

/** It ends: what it belongs to may, too. */
void uroce_parent_domain_leave(struct uroce_pd *pd);

#endif /* UROCE_VERBS_MEMORY_PARENT_DOMAIN_H */
