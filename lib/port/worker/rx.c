/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks a received frame's Ethernet, VLAN, IP and UDP headers in order, each check a line and each failure a
 * verdict, and passes the frame to its protocol. Nothing is read before its length is checked. Workers; the caller
 * frees the frame.
 */

#include <netinet/in.h>

#include <rte_ip.h>

#include "port/cm/departure.h"
#include "port/worker/rx.h"

#define ALL_HOSTS RTE_IPV4(224u, 0, 0, 1)

/* Find the ethertype behind the VLAN tag, if there is one, and check whether it is ours. A tag of
 * VLAN 0 is a priority, not a VLAN. */
static enum uroce_verdict
vlan_check(const struct uroce_rx *rx, uint16_t *l3_offset, rte_be16_t *ether_type)
{
	const struct rte_mbuf *m = rx->mbuf;
	const struct rte_vlan_hdr *tag = rte_pktmbuf_mtod_offset(m, const struct rte_vlan_hdr *,
								 sizeof(struct rte_ether_hdr));
	uint16_t vlan = 0;

	*l3_offset = sizeof(struct rte_ether_hdr);
	*ether_type = uroce_rx_ether(rx)->ether_type;
	if ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0) {
		vlan = m->vlan_tci & RTE_VLAN_ID_MASK;
	} else if (*ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN)) {
		if (rte_pktmbuf_data_len(m) < sizeof(struct rte_ether_hdr) + sizeof(*tag))
			return UROCE_DROP_L2_SHORT;
		vlan = rte_be_to_cpu_16(tag->vlan_tci) & RTE_VLAN_ID_MASK;
		*ether_type = tag->eth_proto;
		*l3_offset += sizeof(*tag);
	}
	return vlan == rx->q->port->vlan ? UROCE_OK : UROCE_DROP_VLAN;
}

static enum uroce_verdict
l2_check(const struct uroce_rx *rx)
{
	const struct rte_ether_addr *dst;

	if (rte_pktmbuf_data_len(rx->mbuf) < sizeof(struct rte_ether_hdr))
		return UROCE_DROP_L2_SHORT;
	dst = &uroce_rx_ether(rx)->dst_addr;
	if (likely(rte_is_same_ether_addr(dst, &rx->q->port->mac)))
		return UROCE_OK;
	if (rte_is_broadcast_ether_addr(dst) || uroce_addresses_listen(rx->own, dst) ||
	    uroce_addresses_may_be_group(rx->own, dst) || uroce_departure_may_be(rx->q->port, dst))
		return UROCE_OK;
	return UROCE_DROP_L2_ADDRESS;
}

/* What uroce_packet_decode() checks of a packet with UDP, for one without; and it must be in one
 * piece. */
static enum uroce_verdict
ipv4_check(struct uroce_rx *rx, const struct rte_ipv4_hdr *ip)
{
	uint32_t header_bytes = rte_ipv4_hdr_len(ip);
	uint32_t total_bytes = rte_be_to_cpu_16(ip->total_length);

	if (header_bytes < sizeof(*ip) || total_bytes < header_bytes)
		return UROCE_DROP_IP_HEADER;
	if (total_bytes > rte_pktmbuf_pkt_len(rx->mbuf) - rx->l3_offset)
		return UROCE_DROP_IP_HEADER;
	if (total_bytes > uroce_rx_room(rx))
		return UROCE_DROP_L2_SHORT;
	if (rte_raw_cksum(ip, header_bytes) != 0xffff)
		return UROCE_DROP_IP_HEADER;
	if ((ip->fragment_offset &
	     rte_cpu_to_be_16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return UROCE_DROP_IP_FRAGMENT;
	rx->l4_offset = (uint16_t)(rx->l3_offset + header_bytes);
	rx->l4_bytes = total_bytes - header_bytes;
	return UROCE_OK;
}

/* To a group of IP's, RoCE's is the only QP number. */
static enum uroce_verdict
group_packet_decode(const struct uroce_rx *rx, struct uroce_packet *p)
{
	enum uroce_verdict v = uroce_packet_decode(rx->mbuf, rx->l3_offset, p);

	if (v == UROCE_OK && p->dest_qpn != UROCE_MULTICAST_QPN)
		v = UROCE_DROP_QPN;
	return v;
}

/* Not for one of our addresses: for a group that QPs are in, or a querier's question? */
static enum uroce_verdict
ipv4_group_receive(struct uroce_rx *rx, const struct rte_ipv4_hdr *ip, struct uroce_packet *p)
{
	struct rte_ether_addr mac;
	enum uroce_verdict v;
	uint8_t gid[16];
	bool joined;

	uroce_gid_from_ipv4(gid, ip->dst_addr);
	joined = uroce_addresses_in_group(rx->own, gid);
	if (!joined && (ip->dst_addr != rte_cpu_to_be_32(ALL_HOSTS) ||
			ip->next_proto_id != IPPROTO_IGMP))
		return UROCE_DROP_IP_ADDRESS;
	uroce_multicast_mac(&mac, gid);
	if (!rte_is_same_ether_addr(&uroce_rx_ether(rx)->dst_addr, &mac))
		return UROCE_DROP_L2_ADDRESS;
	if (ip->next_proto_id == IPPROTO_UDP)
		return group_packet_decode(rx, p);
	v = ipv4_check(rx, ip);
	if (v != UROCE_OK)
		return v;
	return ip->next_proto_id == IPPROTO_IGMP ? uroce_igmp_receive(rx) : UROCE_DROP_IP_PROTOCOL;
}

static enum uroce_verdict
ipv4_receive(struct uroce_rx *rx, struct uroce_packet *p)
{
	const struct rte_mbuf *m = rx->mbuf;
	const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, const struct rte_ipv4_hdr *,
								rx->l3_offset);
	enum uroce_verdict v;

	if (uroce_rx_room(rx) < sizeof(*ip))
		return UROCE_DROP_L2_SHORT;
	if (ip->version != 4)
		return UROCE_DROP_IP_HEADER;
	if (unlikely(!uroce_addresses_have_ipv4(rx->own, ip->dst_addr)))
		return ipv4_group_receive(rx, ip, p);
	/* a unicast packet in a frame for a group is not for us (RFC 1122, 3.3.6) */
	if (rte_is_multicast_ether_addr(&uroce_rx_ether(rx)->dst_addr))
		return UROCE_DROP_L2_ADDRESS;
	if (likely(ip->next_proto_id == IPPROTO_UDP))
		return uroce_packet_decode(rx->mbuf, rx->l3_offset, p);
	v = ipv4_check(rx, ip);
	if (v != UROCE_OK)
		return v;
	if (ip->next_proto_id == IPPROTO_IGMP)
		return uroce_igmp_receive(rx); /* a query may be unicast (RFC 3376, 4.1.12) */
	if (ip->next_proto_id != IPPROTO_ICMP)
		return UROCE_DROP_IP_PROTOCOL;
	return uroce_icmp_receive(rx);
}

static enum uroce_verdict
ipv6_check(struct uroce_rx *rx, const struct rte_ipv6_hdr *ip)
{
	uint32_t total_bytes = sizeof(*ip) + rte_be_to_cpu_16(ip->payload_len);

	if (total_bytes > rte_pktmbuf_pkt_len(rx->mbuf) - rx->l3_offset)
		return UROCE_DROP_IP_HEADER;
	if (ip->proto == IPPROTO_FRAGMENT)
		return UROCE_DROP_IP_FRAGMENT;
	if (total_bytes > uroce_rx_room(rx))
		return UROCE_DROP_L2_SHORT;
	rx->l4_offset = (uint16_t)(rx->l3_offset + sizeof(*ip));
	rx->l4_bytes = total_bytes - sizeof(*ip);
	return UROCE_OK;
}

/* Is the packet for one of our addresses, or for a group that we are in, in a frame that fits? */
static enum uroce_verdict
ipv6_address_check(const struct uroce_rx *rx, const struct rte_ipv6_hdr *ip)
{
	const struct rte_ether_addr *mac = &uroce_rx_ether(rx)->dst_addr;
	struct rte_ether_addr group_mac;

	if (uroce_addresses_have_ipv6(rx->own, ip->dst_addr))
		return rte_is_multicast_ether_addr(mac) ? UROCE_DROP_L2_ADDRESS : UROCE_OK;
	uroce_multicast_mac(&group_mac, ip->dst_addr);
	if (uroce_addresses_in_group(rx->own, ip->dst_addr))
		return rte_is_same_ether_addr(mac, &group_mac) ? UROCE_OK : UROCE_DROP_L2_ADDRESS;
	if (ip->dst_addr[0] != 0xff || !uroce_addresses_listen(rx->own, &group_mac))
		return UROCE_DROP_IP_ADDRESS;
	return ip->proto == IPPROTO_ICMPV6 || ip->proto == IPPROTO_HOPOPTS ? UROCE_OK
									   : UROCE_DROP_IP_ADDRESS;
}

static enum uroce_verdict
ipv6_receive(struct uroce_rx *rx, struct uroce_packet *p)
{
	const struct rte_mbuf *m = rx->mbuf;
	const struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod_offset(m, const struct rte_ipv6_hdr *,
								rx->l3_offset);
	enum uroce_verdict v;

	if (uroce_rx_room(rx) < sizeof(*ip))
		return UROCE_DROP_L2_SHORT;
	if (rte_be_to_cpu_32(ip->vtc_flow) >> 28 != 6)
		return UROCE_DROP_IP_HEADER;
	v = ipv6_address_check(rx, ip);
	if (v != UROCE_OK)
		return v;
	if (unlikely(ip->proto == IPPROTO_UDP && ip->dst_addr[0] == 0xff))
		return group_packet_decode(rx, p);
	if (likely(ip->proto == IPPROTO_UDP))
		return uroce_packet_decode(rx->mbuf, rx->l3_offset, p);
	v = ipv6_check(rx, ip);
	if (v != UROCE_OK)
		return v;
	if (ip->proto == IPPROTO_HOPOPTS)
		return uroce_mld_receive(rx);
	if (ip->proto != IPPROTO_ICMPV6)
		return UROCE_DROP_IP_PROTOCOL;
	return uroce_icmp6_receive(rx);
}

enum uroce_verdict
uroce_rx_frame(struct uroce_port_queue *q, struct rte_mbuf *m, uint64_t now_ns,
	       struct uroce_packet *p)
{
	struct uroce_rx rx = {
		.q = q,
		.own = uroce_port_addresses(q->port),
		.mbuf = m,
		.now_ns = now_ns,
	};
	enum uroce_verdict v;
	rte_be16_t ether_type;

	p->info = NULL;
	v = l2_check(&rx);
	if (v != UROCE_OK)
		return v;
	v = vlan_check(&rx, &rx.l3_offset, &ether_type);
	if (v != UROCE_OK)
		return v;
	if (likely(ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)))
		return ipv4_receive(&rx, p);
	if (ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV6))
		return ipv6_receive(&rx, p);
	if (ether_type == rte_cpu_to_be_16(RTE_ETHER_TYPE_ARP))
		return uroce_arp_receive(&rx);
	if (ether_type == rte_cpu_to_be_16(UROCE_DEPARTURE_ETHERTYPE))
		return uroce_departure_receive(&rx);
	return UROCE_DROP_ETHERTYPE;
}
