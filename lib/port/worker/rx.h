/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The worker's receive side: passes RoCEv2 packets to the engine, and other frames to the protocols of lib/port/net.
 */

#ifndef UROCE_PORT_WORKER_RX_H
#define UROCE_PORT_WORKER_RX_H

#include <stdint.h>

#include <rte_mbuf.h>

#include "port/port.h"
#include "wire/packet.h"

/* A parsed frame that is not RoCEv2, for the protocols that the port answers itself. */
struct uroce_rx {
	struct uroce_port_queue *q;
	const struct uroce_addresses *own;
	struct rte_mbuf *mbuf; /* the caller owns it, also after the call */
	uint64_t now_ns;
	uint16_t l3_offset;
	uint16_t l4_offset;
	uint32_t l4_bytes; /* in the first segment */
};

/** Receive a burst of a queue's frames, and deliver it; nothing while frames of the queue wait for other workers.
 * Worker, within a poll. @return the number of frames */
unsigned int uroce_rx_queue(struct uroce_worker *w, struct uroce_port_queue *q);
/** Deliver a burst of frames from the inbox: from other workers, and loopback frames. As uroce_rx_queue(). */
unsigned int uroce_rx_inbox(struct uroce_worker *w);
/** Deliver all frames of the inbox, and those that the other worker holds for it, to the engines of both workers. Control
 * thread, with both turns. */
void uroce_rx_inbox_drain(struct uroce_worker *w, struct uroce_worker *beside);

/**
 * Accept or drop a parsed frame that is not in the flow, by its addresses. Processes frames of other protocols than
 * RoCEv2.
 *
 * @param q	the queue, whose flow is set to the frame if it is RoCEv2
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
 * Parse a frame, and check that its addresses are the port's. Worker, within a poll.
 *
 * @param m	the caller owns it, also after the call
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

/* The bytes of the first segment from the network header on. The Ethernet header before it is complete. */
static inline uint32_t
uroce_rx_room(const struct uroce_rx *rx)
{
	return (uint32_t)rte_pktmbuf_data_len(rx->mbuf) - rx->l3_offset;
}

enum uroce_verdict uroce_arp_receive(const struct uroce_rx *rx);
enum uroce_verdict uroce_icmp_receive(const struct uroce_rx *rx);
enum uroce_verdict uroce_icmp6_receive(const struct uroce_rx *rx);
enum uroce_verdict uroce_igmp_receive(const struct uroce_rx *rx);
/** @param rx	its l4_offset is the offset of the hop-by-hop header */
enum uroce_verdict uroce_mld_receive(const struct uroce_rx *rx);
/** Process a neighbor solicitation or advertisement, whose ICMPv6 checksum has been verified. */
enum uroce_verdict uroce_nd_receive(const struct uroce_rx *rx);

#endif /* UROCE_PORT_WORKER_RX_H */
