/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Looks up the keys of null regions, which contain every address and have no memory.
 */

#ifndef UROCE_MEM_NULL_H
#define UROCE_MEM_NULL_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "mem/mr.h"

/** @param length	at most UROCE_NULL_BYTES. @return `copy`, with memory for this access; or NULL */
const struct uroce_mr_key *uroce_null_lookup(const struct uroce_mr_key *k, const struct ibv_pd *owner,
					     uint64_t addr, uint64_t length, uint32_t access,
					     struct uroce_mr_key *copy);

#endif /* UROCE_MEM_NULL_H */
