/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Computes the invariant CRC of RoCEv2 (annex A17) over mbuf segments. No state; any thread.
 */

#ifndef UROCE_WIRE_ICRC_H
#define UROCE_WIRE_ICRC_H

#include <stdbool.h>
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
 * The same of a frame in one piece, whose IP header has no options.
 *
 * @param ip	where it begins, behind the Ethernet header of the frame
 * @param l3_bytes	of the IP header: 20 or 40
 * @param covered_bytes	as above, and a multiple of 4
 */
uint32_t uroce_icrc_plain(const uint8_t *ip, uint32_t l3_bytes, uint32_t covered_bytes);

/**
 * The CRC of a frame's headers up to the end of its BTH, for uroce_icrc_of_run(): of packets that differ in their PSN
 * and what is behind the BTH.
 *
 * @param ip	where the IP header begins, behind the Ethernet header; IPv4's has no options
 * @param l3_bytes	of the IP header: 20 or 40
 */
uint32_t uroce_icrc_head(const uint8_t *ip, uint32_t l3_bytes);

/**
 * The ICRC of a packet whose headers are those of uroce_icrc_head() but for the last word of the BTH.
 *
 * @param change	that word of the one, xor that of the other
 * @param payload	all that is covered behind the BTH
 */
uint32_t uroce_icrc_of_run(uint32_t head_crc, rte_be32_t change, const uint8_t *payload, uint32_t payload_bytes);

/**
 * Is the ICRC of a frame right, which is behind the bytes that it covers, in any segment?
 *
 * As uroce_icrc(); the frame is long enough for the ICRC.
 */
bool uroce_icrc_is_right(const struct rte_mbuf *m, uint32_t l3_offset, uint32_t l4_offset,
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
