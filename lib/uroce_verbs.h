/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

/**
 * @file
 * Names of <infiniband/verbs.h> that older versions lack, for FLUSH and ATOMIC_WRITE (InfiniBand Architecture, annex
 * A19), and an access flag that only uroce has. The names are macros, with the values of the enums of later versions.
 */

#ifndef UROCE_VERBS_H
#define UROCE_VERBS_H

#include <stdint.h>

#include <infiniband/verbs.h>

/** @defgroup extensions FLUSH, ATOMIC_WRITE and stable memory
 * @{ */

/** Opcodes of work requests and of their completions. */
#define IBV_WR_FLUSH ((enum ibv_wr_opcode)14)
#define IBV_WC_FLUSH ((enum ibv_wc_opcode)8)

/** Types of IBV_WR_FLUSH: make earlier writes globally visible, or persistent. */
#define IBV_FLUSH_GLOBAL 1u
#define IBV_FLUSH_PERSISTENT 2u

/** Levels of IBV_WR_FLUSH: a range of the region or window, or all of it. */
#define IBV_FLUSH_RANGE 0u
#define IBV_FLUSH_MR 1u

/** Access flags of a memory region, a window or a QP: the types of FLUSH that a peer may request. */
#define IBV_ACCESS_FLUSH_GLOBAL (1 << 8)
#define IBV_ACCESS_FLUSH_PERSISTENT (1 << 9)

/**
 * The application promises that neither it nor a peer writes the region while a peer READs it. READ responses are then
 * sent without a copy, if the memory is DPDK's and the port sends chains of mbufs. If the memory is written anyway, the
 * peer drops the response and retries. READ responses through a memory window are always copied. Between two uroce
 * processes over net_memif, only regions that grant IBV_ACCESS_REMOTE_ATOMIC need the flag. This is one of the optional
 * access flags, which other devices ignore.
 */
#define UROCE_ACCESS_STABLE (1 << 29)

/** ibv_device_attr_ex.device_cap_flags_ex */
#define IBV_DEVICE_FLUSH_GLOBAL (1ULL << 38)
#define IBV_DEVICE_FLUSH_PERSISTENT (1ULL << 39)
#define IBV_DEVICE_ATOMIC_WRITE (1ULL << 40)

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Turn a work request into a FLUSH; the caller sets wr_id, next and send_flags. When it completes, earlier writes on
 * this QP are globally visible, or persistent. Since struct ibv_send_wr has no fields for FLUSH, the values are stored
 * in those of atomics.
 *
 * @param remote_addr	ignored with IBV_FLUSH_MR
 * @param length	bytes, up to max_msg_sz; ignored with IBV_FLUSH_MR
 * @param type		IBV_FLUSH_GLOBAL, IBV_FLUSH_PERSISTENT, or both
 * @param level		IBV_FLUSH_RANGE or IBV_FLUSH_MR
 */
static inline void
uroce_send_wr_flush(struct ibv_send_wr *wr, uint32_t rkey, uint64_t remote_addr, uint64_t length, uint8_t type,
		    uint8_t level)
{
	wr->opcode = IBV_WR_FLUSH;
	wr->num_sge = 0;
	wr->wr.atomic.remote_addr = remote_addr;
	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.compare_add = length;
	wr->wr.atomic.swap = (uint64_t)type | (uint64_t)level << 4;
}

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* UROCE_VERBS_H */
