/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks that the MAC address, VLAN and IP address of a parsed frame are the port's, and passes frames that are not
 * RoCEv2 to ARP, ICMP, IGMP, MLD or neighbor discovery. The caller frees the frame. Workers.
 */

#include <string.h>

#include <netinet/in.h>

#include <rte_ip.h>

#include "base/dpdk_compat.h"
#include "port/cm/departure.h"
#include "port/worker/rx.h"
#include "wire/template.h"

#define ALL_HOSTS RTE_IPV4(224u, 0, 0, 1)

static enum uroce_verdict
mac_check(const struct uroce_rx *rx)
{
	const struct rte_ether_addr *dst = &uroce_rx_ether(rx)->dst_addr;

	if (likely(rte_is_same_ether_addr(dst, &rx->q->port->mac)))
		return UROCE_OK;
	if (rte_is_broadcast_ether_addr(dst) || uroce_addresses_listen(rx->own, dst) ||
	    uroce_addresses_may_be_group(rx->own, dst) || uroce_departure_may_be(rx->q->port, dst))
		return UROCE_OK;
	return UROCE_DROP_L2_ADDRESS;
}

/* A tag of VLAN 0 is a priority, not a VLAN. */
static bool
is_in_vlan(const struct uroce_rx *rx, const struct uroce_packet *p)
{
	uint16_t vlan = p->vlan_tci == UROCE_NO_VLAN ? 0 : p->vlan_tci & RTE_VLAN_ID_MASK;

	return vlan == rx->q->port->vlan;
}

/* Accept a packet to an address of the port, to a multicast group of its QPs, or an IGMP message to all hosts, if the
 * frame's MAC address matches. */
static enum uroce_verdict
ipv4_address_check(const struct uroce_rx *rx, const struct uroce_packet *p)
{
	const struct rte_ether_addr *mac = &uroce_rx_ether(rx)->dst_addr;
	struct rte_ether_addr group_mac;
	uint8_t gid[16];
	rte_be32_t dst;

	memcpy(&dst, p->dst_ip, sizeof(dst));
	/* drop a unicast packet in a multicast frame (RFC 1122, 3.3.6) */
	if (likely(uroce_addresses_have_ipv4(rx->own, dst)))
		return p->to_group ? UROCE_DROP_L2_ADDRESS : UROCE_OK;
	uroce_gid_from_ipv4(gid, dst);
	if (!uroce_addresses_in_group(rx->own, gid) &&
	    (dst != rte_cpu_to_be_32(ALL_HOSTS) || p->ip_protocol != IPPROTO_IGMP))
		return UROCE_DROP_IP_ADDRESS;
	uroce_multicast_mac(&group_mac, gid);
	return rte_is_same_ether_addr(mac, &group_mac) ? UROCE_OK : UROCE_DROP_L2_ADDRESS;
}

static enum uroce_verdict
ipv6_address_check(const struct uroce_rx *rx, const struct uroce_packet *p)
{
	const struct rte_ether_addr *mac = &uroce_rx_ether(rx)->dst_addr;
	struct rte_ether_addr group_mac;

	if (uroce_addresses_have_ipv6(rx->own, p->dst_ip))
		return p->to_group ? UROCE_DROP_L2_ADDRESS : UROCE_OK;
	uroce_multicast_mac(&group_mac, p->dst_ip);
	if (uroce_addresses_in_group(rx->own, p->dst_ip))
		return rte_is_same_ether_addr(mac, &group_mac) ? UROCE_OK : UROCE_DROP_L2_ADDRESS;
	if (p->dst_ip[0] != 0xff || !uroce_addresses_listen(rx->own, &group_mac))
		return UROCE_DROP_IP_ADDRESS;
	return p->ip_protocol == IPPROTO_ICMPV6 || p->ip_protocol == IPPROTO_HOPOPTS ? UROCE_OK
										     : UROCE_DROP_IP_ADDRESS;
}

/* Process a packet that is not UDP. Its protocol reads it from the first segment, so it must be there as a whole. */
static enum uroce_verdict
ip_receive(struct uroce_rx *rx, const struct uroce_packet *p)
{
	bool ipv4 = p->ip_version == 4, to_ipv4_group = ipv4 && p->to_group;

	rx->l4_offset = p->l4_offset;
	rx->l4_bytes = p->payload_bytes;
	if (rx->l4_bytes > (uint32_t)rte_pktmbuf_data_len(rx->mbuf) - rx->l4_offset)
		return UROCE_DROP_L2_SHORT;
	switch (p->ip_protocol) {
	case IPPROTO_IGMP: /* a query may be unicast (RFC 3376, 4.1.12) */
		return ipv4 ? uroce_igmp_receive(rx) : UROCE_DROP_IP_PROTOCOL;
	case IPPROTO_ICMP:
		return ipv4 && !to_ipv4_group ? uroce_icmp_receive(rx) : UROCE_DROP_IP_PROTOCOL;
	case IPPROTO_HOPOPTS:
		return ipv4 ? UROCE_DROP_IP_PROTOCOL : uroce_mld_receive(rx);
	case IPPROTO_ICMPV6:
		return ipv4 ? UROCE_DROP_IP_PROTOCOL : uroce_icmp6_receive(rx);
	default: return UROCE_DROP_IP_PROTOCOL;
	}
}

/* A verdict about the addresses takes precedence over `parsed`, the parser's verdict about the IP header and all behind
 * it. */
static enum uroce_verdict
ip_admit(struct uroce_rx *rx, const struct uroce_packet *p, enum uroce_verdict parsed)
{
	enum uroce_verdict v;

	if (p->ip_version == 0)
		return parsed;
	v = p->ip_version == 4 ? ipv4_address_check(rx, p) : ipv6_address_check(rx, p);
	if (v != UROCE_OK)
		return v;
	if (parsed != UROCE_OK)
		return parsed;
	if (p->info == NULL)
		return ip_receive(rx, p);
	uroce_flow_set(&rx->q->flow, p);
	return UROCE_OK;
}

enum uroce_verdict
uroce_rx_admit(struct uroce_port_queue *q, const struct uroce_packet *p, enum uroce_verdict parsed, uint64_t now_ns)
{
	struct uroce_rx rx = {
		.q = q,
		.own = uroce_port_addresses(q->port),
		.mbuf = p->mbuf,
		.now_ns = now_ns,
		.l3_offset = p->l3_offset,
	};
	enum uroce_verdict v;

	if (rte_pktmbuf_data_len(p->mbuf) < sizeof(struct rte_ether_hdr))
		return parsed;
	v = mac_check(&rx);
	if (v != UROCE_OK)
		return v;
	if (p->l3_offset == 0)
		return parsed;
	if (!is_in_vlan(&rx, p))
		return UROCE_DROP_VLAN;
	switch (rte_be_to_cpu_16(p->ether_type)) {
	case RTE_ETHER_TYPE_IPV4:
	case RTE_ETHER_TYPE_IPV6: return ip_admit(&rx, p, parsed);
	case RTE_ETHER_TYPE_ARP: return uroce_arp_receive(&rx);
	case UROCE_DEPARTURE_ETHERTYPE: return uroce_departure_receive(&rx);
	default: return UROCE_DROP_ETHERTYPE;
	}
}
