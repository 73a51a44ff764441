/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A received frame as values: the one parser of frames. uroce_packet_parse() leaves what headers say in struct
 * uroce_packet, with R1 to R4 checked; uroce_packet_check_icrc() checks R5. Pointers lead into the mbuf. No state; any
 * thread.
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
	uint32_t payload_bytes;  /* without pad; if info is NULL, all that is behind the IP header */
	/* these four, and the last four below, are constants in a flow: written at once */
	uint16_t l3_offset; /* of the header behind Ethernet and tag; 0: these are cut short */
	uint16_t l4_offset;
	rte_be16_t ether_type; /* behind the tag */
	uint16_t vlan_tci;     /* of the tag, which the port may have stripped; UROCE_NO_VLAN: there is none */
	uint16_t udp_src_port;
	uint16_t pkey;
	uint8_t opcode;
	uint8_t traffic_class; /* DSCP and ECN */
	bool ack_req;
	bool solicited;
	uint8_t ip_version; /* 4 or 6; 0: no IP header, or one without its addresses */
	uint8_t ip_protocol;
	bool to_group; /* by its MAC address */
	bool in_flow;  /* the headers up to UDP are those of struct uroce_flow */
};

#define UROCE_FLOW_BYTES 48

/* The flow cache: the headers of a frame whose addresses and VLAN were accepted. Frames that follow each other mostly
 * come from one host: what must be equal in the next frame is compared as a whole, and then need not be checked again,
 * as long as the addresses stay. */
struct uroce_flow {
	bool valid;
	uint8_t head[UROCE_FLOW_BYTES];
};

/**
 * Parse a frame, from Ethernet to the extension headers.
 *
 * A verdict other than UROCE_OK is that of the first header that is wrong. The fields before it are filled in: l3_offset,
 * ether_type, vlan_tci and to_group, unless l3_offset is 0; then ip_version, ip_protocol and the addresses, unless
 * ip_version is 0. The caller may so drop the frame for its addresses first.
 *
 * @param flow	what uroce_flow_set() left of a frame before
 * @param m	the frame; not consumed
 * @param p	p->info is NULL if UROCE_OK is returned for what is not RoCEv2: another ethertype or IP protocol
 * @return	UROCE_OK, or the verdict with which to drop the frame; the ICRC has not been checked
 */
enum uroce_verdict uroce_packet_parse(const struct uroce_flow *flow, struct rte_mbuf *m, struct uroce_packet *p);

/** Take a parsed RoCEv2 packet, whose addresses and VLAN the caller has accepted, as the flow of the next frames. */
void uroce_flow_set(struct uroce_flow *f, const struct uroce_packet *p);

/** R5. @param p	a RoCEv2 packet that was parsed */
enum uroce_verdict uroce_packet_check_icrc(const struct uroce_packet *p);

/**
 * Parse a RoCEv2 packet, whatever its Ethernet header says, and check its ICRC.
 *
 * @param m		the frame; not consumed
 * @param l3_offset	where its IPv4 or IPv6 header begins
 * @param p		filled in when UROCE_OK is returned
 * @return	UROCE_OK, or the verdict with which to drop the frame
 */
enum uroce_verdict uroce_packet_decode(struct rte_mbuf *m, uint16_t l3_offset, struct uroce_packet *p);

/** Copy payload bytes from the mbuf chain in address order, as uroce_place() does; offset + len must lie within
 * payload_bytes. */
void uroce_packet_copy(const struct uroce_packet *p, uint32_t offset, void *dst, uint32_t len);

/** Extension header E of the packet, which must have it. */
#define uroce_packet_ext(p, e) ((const void *)((const uint8_t *)(p)->bth + (p)->info->ext[e]))

#endif /* UROCE_WIRE_PACKET_H */
