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

/* In mbuf->ol_flags: the last four bytes of the frame are not its ICRC, because memory carries the frame. Drivers set
 * no flag of TX in received frames. */
#define UROCE_MBUF_NO_ICRC RTE_MBUF_F_TX_OUTER_UDP_CKSUM

/**
 * Compute the ICRC of a frame.
 *
 * The IP, UDP and BTH headers must be in the first segment.
 *
 * @param m	the frame, starting at its Ethernet header
 * @param l3_offset	where the IP header begins, bytes
 * @param l4_offset	where the UDP header begins, bytes
 * @param covered_bytes	from the IP header up to, not including, the ICRC
 * @return	the ICRC, which is little-endian on the wire
 */
uint32_t uroce_icrc(const struct rte_mbuf *m, uint32_t l3_offset, uint32_t l4_offset,
		    uint32_t covered_bytes);

/**
 * As uroce_icrc(), for a contiguous frame whose IP header has no options.
 *
 * @param ip	the IP header, behind an Ethernet header
 * @param l3_bytes	of the IP header: 20 or 40
 * @param covered_bytes	as for uroce_icrc(), and a multiple of 4
 */
uint32_t uroce_icrc_plain(const uint8_t *ip, uint32_t l3_bytes, uint32_t covered_bytes);

/**
 * Compute the CRC of a frame's headers up to the end of its BTH, for uroce_icrc_of_run().
 *
 * @param ip	the IP header, behind an Ethernet header; without options
 * @param l3_bytes	of the IP header: 20 or 40
 */
uint32_t uroce_icrc_head(const uint8_t *ip, uint32_t l3_bytes);

/**
 * Compute the ICRC of a packet whose headers differ from those of uroce_icrc_head() only in the last word of the BTH.
 *
 * @param change	XOR of the two words
 * @param payload	the covered bytes behind the BTH
 */
uint32_t uroce_icrc_of_run(uint32_t head_crc, rte_be32_t change, const uint8_t *payload, uint32_t payload_bytes);

/**
 * Check the ICRC of a frame. Arguments as for uroce_icrc(). The ICRC follows the covered bytes, in any segment; the frame
 * must be long enough for it.
 *
 * @return XOR of the frame's ICRC and of the right one; 0: it is right
 */
uint32_t uroce_icrc_error(const struct rte_mbuf *m, uint32_t l3_offset, uint32_t l4_offset, uint32_t covered_bytes);

/* The CRC of a frame's headers up to the end of its BTH. */
struct uroce_icrc_head {
	uint32_t crc;
	rte_be32_t word; /* last word of the BTH */
};

/** As uroce_icrc_error(), for a frame whose headers differ from those of `head` only in the last word of the BTH.
 * @param bth_end	offset of the first byte behind the BTH
 * @param rest_bytes	covered bytes from there on */
uint32_t uroce_icrc_error_like(const struct rte_mbuf *m, uint32_t bth_end, uint32_t rest_bytes,
			       const struct uroce_icrc_head *head);

/**
 * Append pad bytes of zero and the ICRC to a frame. The lengths in its headers include both already.
 *
 * @param head	the frame, starting at its Ethernet header
 * @param tail	its last segment, which may be head or empty; a direct mbuf with 8 bytes of tailroom
 * @param l3_offset	where the IP header begins, bytes
 * @param l4_offset	where the UDP header begins, bytes
 * @param pad	0..3, the same as in the BTH
 */
void uroce_icrc_append(struct rte_mbuf *head, struct rte_mbuf *tail, uint32_t l3_offset,
		       uint32_t l4_offset, uint32_t pad);

/**
 * Append pad bytes of zero and the room for an ICRC, and mark the frame as one without (UROCE_MBUF_NO_ICRC). Arguments
 * as for uroce_icrc_append().
 */
void uroce_icrc_leave_out(struct rte_mbuf *head, struct rte_mbuf *tail, uint32_t pad);

/**
 * Compute the ICRC of a frame without one, and write it to the last four bytes, which must be in one segment. Removes
 * the mark.
 *
 * @return false: it is not a RoCEv2 frame, and was not changed
 */
bool uroce_icrc_fill(struct rte_mbuf *m);

#endif /* UROCE_WIRE_ICRC_H */
