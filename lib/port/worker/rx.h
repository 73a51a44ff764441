/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Passes a received frame on: to the RoCEv2 decoder, ARP, neighbor discovery, ICMP, IGMP or MLD.
 */

#ifndef UROCE_PORT_WORKER_RX_H
#define UROCE_PORT_WORKER_RX_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "port/port.h"
#include "wire/packet.h"

/* What is known of a frame below UDP: for the protocols that the port answers itself. */
struct uroce_rx {
	struct uroce_port_queue *q;
	const struct uroce_addresses *own;
	struct rte_mbuf *mbuf; /* the caller's, all the way */
	uint64_t now_ns;
	uint16_t l3_offset;
	uint16_t l4_offset;
	uint32_t l4_bytes; /* contiguous in the first segment */
};

/**
 * Check a frame and decode it. Answers what is not RoCEv2 but for us. Worker, within a poll.
 *
 * @param m	the caller's, also afterwards
 * @param p	p->info is NULL unless it is a RoCEv2 packet
 * @return	UROCE_OK, or the verdict with which to drop the frame; not counted here
 */
enum uroce_verdict uroce_rx_frame(struct uroce_port_queue *q, struct rte_mbuf *m, uint64_t now_ns,
				  struct uroce_packet *p);

static inline const struct rte_ether_hdr *
uroce_rx_ether(const struct uroce_rx *rx)
{
	return rte_pktmbuf_mtod(rx->mbuf, const struct rte_ether_hdr *);
}

/* Bytes of the first segment from the network header on; there is a whole Ethernet header before
 * it. */
static inline uint32_t
uroce_rx_room(const struct uroce_rx *rx)
{
	return (uint32_t)rte_pktmbuf_data_len(rx->mbuf) - rx->l3_offset;
}

enum uroce_verdict uroce_arp_receive(const struct uroce_rx *rx);
enum uroce_verdict uroce_icmp_receive(const struct uroce_rx *rx);
enum uroce_verdict uroce_icmp6_receive(const struct uroce_rx *rx);
enum uroce_verdict uroce_igmp_receive(const struct uroce_rx *rx);
/** l4_offset is that of the hop-by-hop header. */
enum uroce_verdict uroce_mld_receive(const struct uroce_rx *rx);
/** Neighbor solicitations and advertisements; the ICMPv6 checksum is right. */
enum uroce_verdict uroce_nd_receive(const struct uroce_rx *rx);

#endif /* UROCE_PORT_WORKER_RX_H */
