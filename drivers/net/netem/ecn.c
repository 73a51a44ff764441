/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds the IP header of a frame with or without a VLAN tag, and reads or sets its ECN field.
 */

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>

#include "ecn.h"

#define ECN_MASK 3

/* @return the IP version, 4 or 6, and the offset of the header; 0: no complete IP header */
static unsigned int
find_ip(const uint8_t *frame, uint32_t bytes, uint32_t *l3)
{
	const struct rte_ether_hdr *eth = (const void *)frame;
	const struct rte_vlan_hdr *vlan = (const void *)(frame + sizeof(*eth));
	rte_be16_t type;

	*l3 = sizeof(*eth);
	if (bytes < sizeof(*eth) + sizeof(*vlan))
		return 0;
	type = eth->ether_type;
	if (type == RTE_BE16(RTE_ETHER_TYPE_VLAN)) {
		type = vlan->eth_proto;
		*l3 += sizeof(*vlan);
	}
	if (type == RTE_BE16(RTE_ETHER_TYPE_IPV6) && bytes >= *l3 + sizeof(struct rte_ipv6_hdr))
		return 6;
	if (type == RTE_BE16(RTE_ETHER_TYPE_IPV4) && bytes >= *l3 + sizeof(struct rte_ipv4_hdr)) {
		uint32_t header_bytes = rte_ipv4_hdr_len((const void *)(frame + *l3));

		if (header_bytes >= sizeof(struct rte_ipv4_hdr) && bytes >= *l3 + header_bytes)
			return 4;
	}
	return 0;
}

unsigned int
uroce_netem_ecn(const uint8_t *frame, uint32_t bytes)
{
	uint32_t l3;

	switch (find_ip(frame, bytes, &l3)) {
	case 4: return ((const struct rte_ipv4_hdr *)(const void *)(frame + l3))->type_of_service & ECN_MASK;
	case 6:
		return rte_be_to_cpu_32(((const struct rte_ipv6_hdr *)(const void *)(frame + l3))->vtc_flow) >>
		       RTE_IPV6_HDR_TC_SHIFT & ECN_MASK;
	default: return 0;
	}
}

/* Update the checksum by the difference (RFC 1624), so that a wrong checksum stays wrong. */
static void
mark_ipv4(struct rte_ipv4_hdr *ip)
{
	uint32_t sum = (uint16_t)~rte_be_to_cpu_16(ip->hdr_checksum);

	sum += UROCE_ECN_CE - (ip->type_of_service & ECN_MASK);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->hdr_checksum = rte_cpu_to_be_16((uint16_t)~sum);
	ip->type_of_service |= UROCE_ECN_CE;
}

bool
uroce_netem_mark(uint8_t *frame, uint32_t bytes)
{
	struct rte_ipv6_hdr *ip;
	uint32_t l3;

	switch (find_ip(frame, bytes, &l3)) {
	case 4: mark_ipv4((void *)(frame + l3)); return true;
	case 6:
		ip = (void *)(frame + l3);
		ip->vtc_flow |= rte_cpu_to_be_32((uint32_t)UROCE_ECN_CE << RTE_IPV6_HDR_TC_SHIFT);
		return true;
	default: return false;
	}
}
