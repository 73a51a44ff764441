/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The worker's receive side: bursts of frames to the engine, and what is not RoCEv2 to the protocols of lib/port/net.
 */

#ifndef UROCE_PORT_WORKER_RX_H
#define UROCE_PORT_WORKER_RX_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "port/port.h"
#include "wire/packet.h"

/* What was parsed of a frame without UDP: for the protocols that the port answers itself. */
struct uroce_rx {
	struct uroce_port_queue *q;
	const struct uroce_addresses *own;
	struct rte_mbuf *mbuf; /* the caller's, all the way */
	uint64_t now_ns;
	uint16_t l3_offset;
	uint16_t l4_offset;
	uint32_t l4_bytes; /* contiguous in the first segment */
};

/** Receive a burst of a queue's frames, and deliver it. Worker, within a poll. @return the number of frames */
unsigned int uroce_rx_queue(struct uroce_worker *w, struct uroce_port_queue *q);
/** The same of the frames that other workers handed over, and of the loopback frames of our own QPs. */
unsigned int uroce_rx_inbox(struct uroce_worker *w);

/**
 * Accept a parsed frame that belongs to no flow, or drop it for its addresses. Answers what is not RoCEv2 but for us.
 *
 * @param q	its flow is set to the frame if it is RoCEv2
 * @param parsed	the parser's verdict
 * @return	UROCE_OK, or the verdict with which to drop the frame; not counted here
 */
enum uroce_verdict uroce_rx_admit(struct uroce_port_queue *q, const struct uroce_packet *p, enum uroce_verdict parsed,
				  uint64_t now_ns);

/** Forget the queue's flow if the port's addresses have changed. Worker, before it parses the frames of a burst. */
static inline void
uroce_rx_flow_renew(struct uroce_port_queue *q)
{
	uint64_t generation = uroce_port_addresses(q->port)->generation;

	if (likely(q->flow_generation == generation))
		return;
	q->flow_generation = generation;
	q->flow.valid = false;
}

/**
 * Parse a frame, and decide whether it is for the port. Worker, within a poll.
 *
 * @param m	the caller's, also afterwards
 * @param p	p->info is NULL unless it is a RoCEv2 packet
 * @return	UROCE_OK, or the verdict with which to drop the frame; not counted here. The ICRC is not checked
 */
static inline enum uroce_verdict
uroce_rx_frame(struct uroce_port_queue *q, struct rte_mbuf *m, uint64_t now_ns, struct uroce_packet *p)
{
	enum uroce_verdict v = uroce_packet_parse(&q->flow, m, p);

	return likely(p->in_flow) ? v : uroce_rx_admit(q, p, v, now_ns);
}

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
