/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The part of a key's look-up that is for null regions: any address is valid, and no memory is behind it.
 */

#ifndef UROCE_MEM_NULL_H
#define UROCE_MEM_NULL_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "mem/mr.h"

/** For uroce_key_resolve(): `copy` with memory for this access; at most UROCE_NULL_BYTES at a time. */
const struct uroce_mr_key *uroce_null_lookup(const struct uroce_mr_key *k, const struct ibv_pd *owner,
					     uint64_t addr, uint64_t length, uint32_t access,
					     struct uroce_mr_key *copy);

#endif /* UROCE_MEM_NULL_H */
