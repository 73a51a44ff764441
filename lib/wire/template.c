/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Builds the Ethernet, IP and UDP headers of a path once, and writes them in front of each packet. Control threads
 * build; the worker of the path's QP writes.
 */

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "base/dpdk_compat.h"
#include "wire/gid.h"
#include "wire/headers.h"
#include "wire/template.h"
#include "wire/template_put.h"

#define LONGEST_L2 (sizeof(struct rte_ether_hdr) + sizeof(struct rte_vlan_hdr))
#define LONGEST    (LONGEST_L2 + sizeof(struct rte_ipv6_hdr) + sizeof(struct rte_udp_hdr))
static_assert(UROCE_TEMPLATE_BYTES >= LONGEST, "UROCE_TEMPLATE_BYTES");

uint32_t
uroce_flow_label_to(uint32_t dest_qpn)
{
	uint32_t fl = (dest_qpn ^ dest_qpn >> 20) & UROCE_FLOW_LABEL_MASK;

	return fl != 0 ? fl : 1;
}

uint16_t
uroce_udp_src_port(uint32_t flow_label, uint32_t dest_qpn)
{
	uint32_t fl = flow_label & UROCE_FLOW_LABEL_MASK;

	if (fl == 0)
		fl = uroce_flow_label_to(dest_qpn);
	return (uint16_t)((fl & 0x3fff) ^ ((fl & 0xfc000) >> 14)) | 0xc000;
}

static void
l2_init(struct uroce_template *t, const struct uroce_template_conf *conf, uint16_t ether_type)
{
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)t->bytes;
	struct rte_vlan_hdr *vlan = (struct rte_vlan_hdr *)(eth + 1);

	eth->src_addr = conf->src_mac;
	eth->dst_addr = conf->dst_mac;
	eth->ether_type = rte_cpu_to_be_16(ether_type);
	t->l2_bytes = sizeof(*eth);
	if (conf->vlan_tci == UROCE_NO_VLAN)
		return;
	eth->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN);
	vlan->vlan_tci = rte_cpu_to_be_16(conf->vlan_tci);
	vlan->eth_proto = rte_cpu_to_be_16(ether_type);
	t->l2_bytes += sizeof(*vlan);
}

static void
ipv4_init(struct uroce_template *t, const struct uroce_template_conf *conf)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(t->bytes + t->l2_bytes);

	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->type_of_service = conf->traffic_class;
	ip->fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG);
	ip->time_to_live = conf->hop_limit;
	ip->next_proto_id = IPPROTO_UDP;
	ip->src_addr = uroce_gid_to_ipv4(conf->src_gid);
	ip->dst_addr = uroce_gid_to_ipv4(conf->dst_gid);
	t->l3_bytes = sizeof(*ip);
	t->ip_sum = rte_raw_cksum(ip, sizeof(*ip));
}

static void
ipv6_init(struct uroce_template *t, const struct uroce_template_conf *conf)
{
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)(t->bytes + t->l2_bytes);

	ip->vtc_flow = rte_cpu_to_be_32(6u << 28 | (uint32_t)conf->traffic_class << 20 |
					(conf->flow_label & UROCE_FLOW_LABEL_MASK));
	ip->proto = IPPROTO_UDP;
	ip->hop_limits = conf->hop_limit;
	memcpy(UROCE_IPV6_BYTES(ip->src_addr), conf->src_gid, sizeof(ip->src_addr));
	memcpy(UROCE_IPV6_BYTES(ip->dst_addr), conf->dst_gid, sizeof(ip->dst_addr));
	t->l3_bytes = sizeof(*ip);
}

int
uroce_template_init(struct uroce_template *t, const struct uroce_template_conf *conf)
{
	bool ipv4 = uroce_gid_is_ipv4(conf->src_gid);
	struct rte_udp_hdr *udp;

	if (ipv4 != uroce_gid_is_ipv4(conf->dst_gid))
		return -EINVAL;
	memset(t, 0, sizeof(*t));
	l2_init(t, conf, ipv4 ? RTE_ETHER_TYPE_IPV4 : RTE_ETHER_TYPE_IPV6);
	if (ipv4)
		ipv4_init(t, conf);
	else
		ipv6_init(t, conf);
	/* The UDP checksum is 0, over IPv6 too: the ICRC covers the same bytes. */
	udp = (struct rte_udp_hdr *)(t->bytes + t->l2_bytes + t->l3_bytes);
	udp->src_port = rte_cpu_to_be_16(conf->udp_src_port);
	udp->dst_port = rte_cpu_to_be_16(UROCE_UDP_PORT);
	t->header_bytes = (uint8_t)(t->l2_bytes + t->l3_bytes + sizeof(*udp));
	return 0;
}

void
uroce_template_set_traffic_class(struct uroce_template *t, uint8_t traffic_class)
{
	uint8_t *l3 = t->bytes + t->l2_bytes;

	if (t->l3_bytes == sizeof(struct rte_ipv4_hdr)) {
		((struct rte_ipv4_hdr *)l3)->type_of_service = traffic_class;
		t->ip_sum = rte_raw_cksum(l3, sizeof(struct rte_ipv4_hdr));
	} else {
		struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)l3;

		ip->vtc_flow &= ~rte_cpu_to_be_32(RTE_IPV6_HDR_TC_MASK);
		ip->vtc_flow |= rte_cpu_to_be_32((uint32_t)traffic_class << RTE_IPV6_HDR_TC_SHIFT);
	}
}

uint8_t
uroce_template_traffic_class(const struct uroce_template *t)
{
	const uint8_t *l3 = t->bytes + t->l2_bytes;

	if (t->l3_bytes == sizeof(struct rte_ipv4_hdr))
		return ((const struct rte_ipv4_hdr *)l3)->type_of_service;
	return (uint8_t)(rte_be_to_cpu_32(((const struct rte_ipv6_hdr *)l3)->vtc_flow) >> RTE_IPV6_HDR_TC_SHIFT);
}

void
uroce_template_write(const struct uroce_template *t, uint8_t *dst, uint32_t udp_payload_bytes)
{
	uroce_template_put(t, dst, udp_payload_bytes);
}
