/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The parser of received frames. uroce_packet_parse() fills in struct uroce_packet from the headers and checks R1 to
 * R4; uroce_packet_check_icrc() checks R5. Stateless; any thread.
 */

#ifndef UROCE_WIRE_PACKET_H
#define UROCE_WIRE_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/verdict.h"

/* A parsed packet. Its pointers lead into the mbuf. */
struct uroce_packet {
	struct rte_mbuf *mbuf; /* the owner of the packet owns it */
	const struct uroce_opcode_info *info;
	const struct uroce_bth *bth; /* extension headers follow, contiguous */
	const uint8_t *src_ip;       /* 4 or 16 bytes, by ip_version */
	const uint8_t *dst_ip;
	uint32_t dest_qpn;
	uint32_t psn;
	uint32_t payload_offset; /* from the start of the frame */
	uint32_t payload_bytes;  /* without pad; if info is NULL, all bytes behind the IP header */
	/* constant in a flow, as the last four fields: adjacent, so that one store writes them */
	uint16_t l3_offset; /* offset of the network header; 0: the frame ends before it */
	uint16_t l4_offset;
	rte_be16_t ether_type; /* ethertype of the network header */
	uint16_t vlan_tci;     /* VLAN tag, possibly stripped by the port; UROCE_NO_VLAN: none */
	uint16_t udp_src_port;
	uint16_t pkey;
	uint8_t opcode;
	uint8_t traffic_class; /* DSCP and ECN */
	bool ack_req;
	bool solicited;
	uint8_t ip_version; /* 4 or 6; 0: no IP header, or too short for addresses */
	uint8_t ip_protocol;
	bool to_group; /* its destination MAC address is multicast or broadcast */
	bool in_flow;  /* its headers up to UDP match struct uroce_flow */
	bool repeats;  /* uroce_packet_repeat() has parsed it */
};

#define UROCE_FLOW_BYTES 48

/* The flow cache: the headers of the last frame whose addresses and VLAN were accepted. A frame with equal headers
 * needs no further address checks until the port's addresses change. */
struct uroce_flow {
	bool valid;
	uint8_t head[UROCE_FLOW_BYTES];
};

/**
 * Parse a frame, from Ethernet to the extension headers.
 *
 * A verdict other than UROCE_OK names the first invalid header. The headers before it are in p, so that the caller
 * can drop the frame for its addresses first: l3_offset, ether_type, vlan_tci and to_group, unless l3_offset is 0;
 * ip_version, ip_protocol and the addresses, unless ip_version is 0.
 *
 * @param flow	as set by uroce_flow_set() from an earlier frame, or not valid
 * @param m	the frame; not consumed
 * @param p	p->info is NULL if the frame is valid, but not RoCEv2: another ethertype or IP protocol
 * @return	UROCE_OK, or the verdict with which to drop the frame; the ICRC has not been checked
 */
enum uroce_verdict uroce_packet_parse(const struct uroce_flow *flow, struct rte_mbuf *m, struct uroce_packet *p);

/**
 * Parse a frame whose headers equal those of an earlier frame of its burst, except for the last word of the BTH: AckReq
 * and PSN.
 *
 * @param like	the earlier packet, in the flow, whose frame has not been freed
 * @return	false: the frame has other headers, and p is unchanged
 */
bool uroce_packet_repeat(const struct uroce_packet *like, struct rte_mbuf *m, struct uroce_packet *p);

/** Set the flow to the headers of a parsed RoCEv2 packet. The caller has accepted its addresses and VLAN. */
void uroce_flow_set(struct uroce_flow *f, const struct uroce_packet *p);

/** Check the ICRC (R5). @param p	a parsed RoCEv2 packet */
enum uroce_verdict uroce_packet_check_icrc(const struct uroce_packet *p);

/** As uroce_packet_check_icrc(), for the packets of a burst in their order.
 * @param head	set and used by these calls; the caller does not write to it */
enum uroce_verdict uroce_packet_check_next(const struct uroce_packet *p, struct uroce_icrc_head *head);

/**
 * Parse a RoCEv2 packet without checking its ethertype, and check its ICRC.
 *
 * @param m		the frame; not consumed
 * @param l3_offset	offset of its IPv4 or IPv6 header
 * @param p		filled in when UROCE_OK is returned
 * @return	UROCE_OK, or the verdict with which to drop the frame
 */
enum uroce_verdict uroce_packet_decode(struct rte_mbuf *m, uint16_t l3_offset, struct uroce_packet *p);

/** Is the frame only lent to the receiver until the end of the burst? Its driver keeps the mbufs. */
static inline bool
uroce_mbuf_is_borrowed(const struct rte_mbuf *m)
{
	return (m->ol_flags & RTE_MBUF_F_EXTERNAL) != 0;
}

/* Flags of a frame whose payload is still in its sender's memory. Before the memory may change, the sender sets
 * UROCE_GUARD_REVOKED in a word of shared memory. */
#define UROCE_MBUF_GUARDED  RTE_MBUF_F_TX_MACSEC
#define UROCE_GUARD_REVOKED 8

/** @param word	written by the sender; valid as long as the frame is lent */
static inline void
uroce_mbuf_guard(struct rte_mbuf *m, const uint16_t *word)
{
	m->ol_flags |= UROCE_MBUF_GUARDED;
	m->tx_offload = (uintptr_t)word; /* no received frame uses it */
}

/** Is the payload still in the sender's memory? Only a lent frame's; one of an application may have the same flag. */
static inline bool
uroce_mbuf_is_guarded(const struct rte_mbuf *m)
{
	return (m->ol_flags & UROCE_MBUF_GUARDED) != 0 && uroce_mbuf_is_borrowed(m);
}

/** Call after the payload was copied. @return true: it may have changed meanwhile, so drop the packet */
static inline bool
uroce_mbuf_is_revoked(const struct rte_mbuf *m)
{
	if (likely(!uroce_mbuf_is_guarded(m)))
		return false;
	/* the word is read after the copy; pairs with the fence in uroce_memif_revoke() of the sender */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return (__atomic_load_n((const uint16_t *)(uintptr_t)m->tx_offload, __ATOMIC_RELAXED) & UROCE_GUARD_REVOKED) != 0;
}

/**
 * Get a packet that its holder may keep, and frees. A frame that is only lent is copied.
 *
 * @param kept	may be p
 * @return	0, or -ENOBUFS
 */
int uroce_packet_keep(const struct uroce_packet *p, struct uroce_packet *kept);

/** Copy payload bytes from the mbuf chain in address order, as uroce_place() does. offset + len is at most
 * payload_bytes. */
void uroce_packet_copy(const struct uroce_packet *p, uint32_t offset, void *dst, uint32_t len);

/** Extension header E of the packet, which must have it. */
#define uroce_packet_ext(p, e) ((const void *)((const uint8_t *)(p)->bth + (p)->info->ext[e]))

#endif /* UROCE_WIRE_PACKET_H */
