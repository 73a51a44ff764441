/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Frames that are like the one before. Those of a burst mostly come from one host, and what says so was checked with
 * the first of them: of the next, all but what may differ is compared as a whole. It is kept for a burst only, in which
 * neither addresses nor VLANs of a port change. Workers, within a poll.
 */

#ifndef UROCE_PORT_WORKER_RX_FLOW_CACHE_H
#define UROCE_PORT_WORKER_RX_FLOW_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include "wire/packet.h"

#define UROCE_RX_FLOW_CACHE_BYTES 48
#define UROCE_RX_FLOW_CACHE_IP    sizeof(struct rte_ether_hdr)
#define UROCE_RX_FLOW_CACHE_UDP   (UROCE_RX_FLOW_CACHE_IP + sizeof(struct rte_ipv4_hdr))

struct uroce_port_queue;

struct uroce_rx_flow_cache {
	const struct uroce_port_queue *q; /* that it came to; NULL: there is none */
	uint8_t head[UROCE_RX_FLOW_CACHE_BYTES];
};

typedef uint64_t uroce_rx_flow_cache_vec __attribute__((vector_size(16)));

/** Is it from the same host to the same of our addresses, by UDP and in IPv4 without options, to RoCE's port? */
static inline bool
uroce_rx_flow_cache_is(const struct uroce_rx_flow_cache *a, const struct uroce_port_queue *q, const struct rte_mbuf *m)
{
	/* The lengths and checksums uroce_packet_decode_alike() looks at, as at the UDP source port, and nobody at
	 * identification and TTL. */
	static const uint8_t same[UROCE_RX_FLOW_CACHE_BYTES] __rte_aligned(sizeof(uroce_rx_flow_cache_vec)) = {
		[0 ... UROCE_RX_FLOW_CACHE_IP] = 0xff,				/* Ethernet, IP version and header length */
		[UROCE_RX_FLOW_CACHE_IP + 6 ... UROCE_RX_FLOW_CACHE_IP + 7] = 0xff,	/* fragment */
		[UROCE_RX_FLOW_CACHE_IP + 9] = 0xff,				/* protocol */
		[UROCE_RX_FLOW_CACHE_IP + 12 ... UROCE_RX_FLOW_CACHE_IP + 19] = 0xff,	/* addresses */
		[UROCE_RX_FLOW_CACHE_UDP + 2 ... UROCE_RX_FLOW_CACHE_UDP + 3] = 0xff,	/* destination port */
	};
	uroce_rx_flow_cache_vec differs = { 0 }, mask, was, is;

	if (a->q != q || rte_pktmbuf_data_len(m) < UROCE_RX_FLOW_CACHE_BYTES ||
	    (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0)
		return false;
	for (unsigned int i = 0; i < UROCE_RX_FLOW_CACHE_BYTES; i += sizeof(is)) {
		memcpy(&mask, same + i, sizeof(mask));
		memcpy(&was, a->head + i, sizeof(was));
		memcpy(&is, rte_pktmbuf_mtod_offset(m, const uint8_t *, i), sizeof(is));
		differs |= (was ^ is) & mask;
	}
	return (differs[0] | differs[1]) == 0;
}

/** A frame for one of our own addresses has been decoded: the next ones may be like it. */
static inline void
uroce_rx_flow_cache_set(struct uroce_rx_flow_cache *a, const struct uroce_port_queue *q, const struct uroce_packet *p)
{
	const struct rte_mbuf *m = p->mbuf;
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);

	a->q = NULL;
	if (p->ip_version != 4 || p->l3_offset != UROCE_RX_FLOW_CACHE_IP ||
	    p->payload_offset - p->info->header_bytes != UROCE_RX_FLOW_CACHE_UDP + sizeof(struct rte_udp_hdr) ||
	    !rte_is_unicast_ether_addr(&eth->dst_addr) || (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0)
		return;
	memcpy(a->head, eth, sizeof(a->head));
	a->q = q;
}

#endif /* UROCE_PORT_WORKER_RX_FLOW_CACHE_H */
