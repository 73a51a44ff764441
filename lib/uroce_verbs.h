/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

/**
 * @file
 * Names of <infiniband/verbs.h> that not every version of it has, with their values: FLUSH and ATOMIC_WRITE
 * (InfiniBand Architecture, annex A19). Macros, so that they agree with the enums of a version that has them.
 */

#ifndef UROCE_VERBS_H
#define UROCE_VERBS_H

#include <infiniband/verbs.h>

/** Opcodes of work requests and of their completions. */
#define IBV_WR_FLUSH ((enum ibv_wr_opcode)14)
#define IBV_WC_FLUSH ((enum ibv_wc_opcode)8)

/** What IBV_WR_FLUSH is asked for: what was written before is visible to all, or persistent. */
#define IBV_FLUSH_GLOBAL 1u
#define IBV_FLUSH_PERSISTENT 2u

/** Of what: a range of the region or window, or all of it. */
#define IBV_FLUSH_RANGE 0u
#define IBV_FLUSH_MR 1u

/** Rights of a memory region, a window, a QP: which FLUSH a peer may ask for. */
#define IBV_ACCESS_FLUSH_GLOBAL (1 << 8)
#define IBV_ACCESS_FLUSH_PERSISTENT (1 << 9)

/** ibv_device_attr_ex.device_cap_flags_ex */
#define IBV_DEVICE_FLUSH_GLOBAL (1ULL << 38)
#define IBV_DEVICE_FLUSH_PERSISTENT (1ULL << 39)
#define IBV_DEVICE_ATOMIC_WRITE (1ULL << 40)

#endif /* UROCE_VERBS_H */
