/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The Ethernet, IP and UDP headers of a path, copied in front of each packet; only lengths and the IPv4 checksum are
 * computed per packet. Control threads write it when a path is set up; the worker of the path's QP reads it.
 */

#ifndef UROCE_WIRE_TEMPLATE_H
#define UROCE_WIRE_TEMPLATE_H

#include <stdint.h>

#include <rte_ether.h>

/* Ethernet, 802.1Q, IPv6, UDP; a multiple of 16, since the template is copied whole. */
#define UROCE_TEMPLATE_BYTES 80

#define UROCE_NO_VLAN 0xffff /* as vlan_tci: no 802.1Q header */

struct uroce_template_conf {
	struct rte_ether_addr src_mac;
	struct rte_ether_addr dst_mac; /* zero: not known yet */
	uint16_t vlan_tci;             /* or UROCE_NO_VLAN */
	uint8_t src_gid[16];           /* of the same address family as dst_gid */
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
	uint32_t ip_sum;      /* one's complement sum of the IPv4 header without its length */
};

/** @return 0, or -EINVAL: the two addresses are not of the same family */
int uroce_template_init(struct uroce_template *t, const struct uroce_template_conf *conf);

/** Change the traffic class (DSCP and ECN). */
void uroce_template_set_traffic_class(struct uroce_template *t, uint8_t traffic_class);
uint8_t uroce_template_traffic_class(const struct uroce_template *t);

/** Write the headers for a UDP payload of the given size (BTH … ICRC) to dst, which has at least
 * UROCE_TEMPLATE_BYTES of room. */
void uroce_template_write(const struct uroce_template *t, uint8_t *dst, uint32_t udp_payload_bytes);

/** @return the 20-bit flow label, never 0, of packets to a QP if their address vector has none. It depends on the
 * destination QPN only, so that the receiver can choose it */
uint32_t uroce_flow_label_to(uint32_t dest_qpn);

/** @return the UDP source port for a flow label; 0: for uroce_flow_label_to(dest_qpn) */
uint16_t uroce_udp_src_port(uint32_t flow_label, uint32_t dest_qpn);

#endif /* UROCE_WIRE_TEMPLATE_H */
