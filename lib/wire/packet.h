/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A received RoCEv2 frame as values. uroce_packet_decode() checks R1-R5 and leaves everything that
 * the transport needs in struct uroce_packet; pointers lead into the mbuf. No state; any thread.
 */

#ifndef UROCE_WIRE_PACKET_H
#define UROCE_WIRE_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "wire/headers.h"
#include "wire/opcode.h"
#include "wire/verdict.h"

struct uroce_packet {
	struct rte_mbuf *mbuf; /* owned by whoever owns the packet */
	const struct uroce_opcode_info *info;
	const struct uroce_bth *bth; /* extension headers follow, contiguous */
	const uint8_t *src_ip;       /* 4 or 16 bytes, by ip_version */
	const uint8_t *dst_ip;
	uint32_t dest_qpn;
	uint32_t psn;
	uint32_t payload_offset; /* from the start of the frame */
	uint32_t payload_bytes;  /* without pad */
	uint16_t pkey;
	uint16_t l3_offset;
	uint16_t udp_src_port;
	uint8_t opcode;
	uint8_t ip_version;    /* 4 or 6 */
	uint8_t traffic_class; /* DSCP and ECN */
	bool ack_req;
	bool solicited;
};

/**
 * Decode the RoCEv2 packet in a frame whose IP and UDP headers were found.
 *
 * @param m		the frame; not consumed
 * @param l3_offset	where its IPv4 or IPv6 header begins
 * @param p		filled in when UROCE_OK is returned
 * @return	UROCE_OK, or the verdict with which to drop the frame
 */
enum uroce_verdict uroce_packet_decode(struct rte_mbuf *m, uint16_t l3_offset,
				       struct uroce_packet *p);

/**
 * The same where it is known, of a frame before, that an IPv4 header without options, of no fragment, and a UDP header
 * to RoCE's port are all in the first segment; their lengths and checksum are not.
 */
enum uroce_verdict uroce_packet_decode_alike(struct rte_mbuf *m, uint16_t l3_offset, struct uroce_packet *p);

/** Copy payload bytes from the mbuf chain in address order, as uroce_place() does; offset + len must lie within
 * payload_bytes. */
void uroce_packet_copy(const struct uroce_packet *p, uint32_t offset, void *dst, uint32_t len);

/** Extension header E of the packet, which must have it. */
#define uroce_packet_ext(p, e) ((const void *)((const uint8_t *)(p)->bth + (p)->info->ext[e]))

#endif /* UROCE_WIRE_PACKET_H */
