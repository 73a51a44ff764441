/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

/**
 * @file
 * Names of <infiniband/verbs.h> that not every version of it has, with their values: FLUSH and ATOMIC_WRITE
 * (InfiniBand Architecture, annex A19). Macros, so that they agree with the enums of a version that has them. Also an
 * access flag of uroce's own.
 */

#ifndef UROCE_VERBS_H
#define UROCE_VERBS_H

#include <stdint.h>

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

/**
 * The application promises that neither it nor a peer writes the region while a peer READs it. READ responses then
 * leave without a copy, if the memory is DPDK's and the port sends chains of mbufs. If the memory is written anyway,
 * the peer drops the response and requests it again. One of the optional access flags, which other devices ignore. READ
 * responses through a memory window are always copied.
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
 * Make the work request, whose wr_id, next and send_flags are the caller's, a FLUSH: what was written before it, on
 * this QP, is visible to all, or persistent, when it completes. struct ibv_send_wr has no fields for that; these are
 * in those of atomics.
 *
 * @param length	bytes, up to max_msg_sz; IBV_FLUSH_MR: does not count, nor does remote_addr
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

#ifdef __cplusplus
}
#endif

#endif /* UROCE_VERBS_H */
