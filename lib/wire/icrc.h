/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The invariant CRC of RoCEv2 (annex A17), over mbuf segments. No state; any thread.
 */

#ifndef UROCE_WIRE_ICRC_H
#define UROCE_WIRE_ICRC_H

#include <stdint.h>

#include <rte_mbuf.h>

/**
 * Compute the ICRC of a frame.
 *
 * IP, UDP and BTH headers must be contiguous in the first segment; the rest may lie in any.
 *
 * @param m	the frame, starting at its Ethernet header
 * @param l3_offset	where the IP header begins, bytes
 * @param l4_offset	where the UDP header begins, bytes
 * @param covered_bytes	from the IP header up to, not including, the ICRC
 * @return	the four bytes as a value: stored little-endian on the wire
 */
uint32_t uroce_icrc(const struct rte_mbuf *m, uint32_t l3_offset, uint32_t l4_offset,
		    uint32_t covered_bytes);

/**
 * Finish a frame: append pad bytes of zero and the ICRC.
 *
 * All headers must be in place, and their lengths count pad and ICRC already.
 *
 * @param head	the frame, starting at its Ethernet header
 * @param tail	its last segment, may be head or empty; direct, and with 8 bytes of tailroom
 * @param l3_offset	where the IP header begins, bytes
 * @param l4_offset	where the UDP header begins, bytes
 * @param pad	0..3, the same as in the BTH
 */
void uroce_icrc_append(struct rte_mbuf *head, struct rte_mbuf *tail, uint32_t l3_offset,
		       uint32_t l4_offset, uint32_t pad);

#endif /* UROCE_WIRE_ICRC_H */
