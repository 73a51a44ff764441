/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A path's Ethernet to UDP headers, to be copied in front of each packet; only lengths and the IPv4 checksum are
 * filled in per packet. Written when a path is set up, read by its QP's worker.
 */

#ifndef UROCE_WIRE_TEMPLATE_H
#define UROCE_WIRE_TEMPLATE_H

#include <stdint.h>

#include <rte_ether.h>

/* Ethernet, 802.1Q, IPv6, UDP; copied whole, so a multiple of 16. */
#define UROCE_TEMPLATE_BYTES 80

#define UROCE_NO_VLAN 0xffff /* in place of a tag: no 802.1Q header */

struct uroce_template_conf {
	struct rte_ether_addr src_mac;
	struct rte_ether_addr dst_mac; /* zero while it is not known */
	uint16_t vlan_tci;             /* or UROCE_NO_VLAN */
	uint8_t src_gid[16];           /* an IPv4 address is ::ffff:a.b.c.d; both of one family */
	uint8_t dst_gid[16];
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint32_t flow_label;
	uint16_t udp_src_port;
};

struct uroce_template {
	uint8_t bytes[UROCE_TEMPLATE_BYTES];
	uint8_t l2_bytes;     /* 14 or 18 */
	uint8_t l3_bytes;     /* 20 or 40 */
	uint8_t header_bytes; /* l2 + l3 + 8 */
	uint32_t ip_sum;      /* IPv4 header's one's complement sum without its length */
};

/** Build a template. @return 0, or -EINVAL when the two addresses are not of one family */
int uroce_template_init(struct uroce_template *t, const struct uroce_template_conf *conf);

/** Change the traffic class, DSCP and ECN, of what it writes. */
void uroce_template_set_traffic_class(struct uroce_template *t, uint8_t traffic_class);
uint8_t uroce_template_traffic_class(const struct uroce_template *t);

/** Write the headers for a UDP payload of the given size (BTH … ICRC) to dst, which has at least
 * UROCE_TEMPLATE_BYTES of room. */
void uroce_template_write(const struct uroce_template *t, uint8_t *dst, uint32_t udp_payload_bytes);

/** The UDP source port for a flow label (20 bits); with 0, one made of the two QPNs. */
uint16_t uroce_udp_src_port(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn);

#endif /* UROCE_WIRE_TEMPLATE_H */
