/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The addresses of a device. Control threads change the GID table under the port's lock and publish immutable
 * snapshots; workers read a snapshot within an RCU reader section. An IPv4 address is the GID ::ffff:a.b.c.d, and its
 * prefix length counts the 96 bits before it, too.
 */

#ifndef UROCE_PORT_NET_ADDRESS_H
#define UROCE_PORT_NET_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "uroce_config.h"
#include "wire/gid.h"

struct uroce_subnet {
	uint8_t gid[16];
	uint8_t prefix_bits; /* prefix length, of 128 bits */
};

struct uroce_addresses {
	uint64_t generation; /* number of the port's snapshot */
	uint16_t count;
	uint16_t ipv4_count;
	uint16_t ipv6_count;
	uint16_t slots[UROCE_MAX_GID]; /* GID index of subnets[i] */
	struct uroce_subnet subnets[UROCE_MAX_GID];
	uint32_t ipv4[UROCE_MAX_GID]; /* network byte order */
	uint8_t ipv6[UROCE_MAX_GID][16];
	uint16_t group_count;
	uint8_t groups[UROCE_MAX_MCAST_GROUPS][16]; /* multicast groups of QPs, sorted */
	bool has_ipv4_gateway;
	bool has_ipv6_gateway;
	uint8_t ipv4_gateway[16];
	uint8_t ipv6_gateway[16];
};

/** Parse a host's address, or a loopback address, with its prefix length: "10.0.0.1/24" or "fd00::1/64".
 * @return 0 or -EINVAL */
int uroce_subnet_parse(struct uroce_subnet *s, const char *cidr);
/** Parse a host's address: "10.0.0.1" or "fd00::1". @return 0 or -EINVAL */
int uroce_gid_parse(uint8_t gid[16], const char *address);
/** Print a GID as an address. @return buffer, or "?" if it is too small */
const char *uroce_gid_format(const uint8_t gid[16], char *buffer, size_t bytes);
/** Make the link-local address of a MAC address: fe80::/64 and its modified EUI-64. */
void uroce_gid_link_local(uint8_t gid[16], const struct rte_ether_addr *mac);
/** Is it a valid address of one host? Not multicast, not unspecified, not loopback. */
bool uroce_gid_is_host(const uint8_t gid[16]);
/** Is it in 127.0.0.0/8? Only sockets reach such addresses. */
bool uroce_gid_is_loopback(const uint8_t gid[16]);
/** Make the MAC address of a multicast group. */
void uroce_multicast_mac(struct rte_ether_addr *mac, const uint8_t gid[16]);
/** Make the solicited-node group of an IPv6 address. */
void uroce_solicited_node(uint8_t group[16], const uint8_t target[16]);

static inline bool
uroce_addresses_have_ipv4(const struct uroce_addresses *a, uint32_t address_be)
{
	for (unsigned int i = 0; i < a->ipv4_count; i++)
		if (a->ipv4[i] == address_be)
			return true;
	return false;
}

bool uroce_addresses_have_ipv6(const struct uroce_addresses *a, const uint8_t address[16]);
bool uroce_addresses_have(const struct uroce_addresses *a, const uint8_t gid[16]);
/** Is it a multicast group in which the device has QPs? */
bool uroce_addresses_in_group(const struct uroce_addresses *a, const uint8_t gid[16]);
/** May the MAC address be one of such a group? Several groups share one, so the packet's IP address decides. */
static inline bool
uroce_addresses_may_be_group(const struct uroce_addresses *a, const struct rte_ether_addr *mac)
{
	const uint8_t *m = mac->addr_bytes;

	return a->group_count != 0 &&
	       ((m[0] == 0x33 && m[1] == 0x33) || (m[0] == 0x01 && m[1] == 0x00 && m[2] == 0x5e));
}

/** Is it the MAC address of a group to which the device's addresses belong: solicited-node, all nodes or all hosts? */
bool uroce_addresses_listen(const struct uroce_addresses *a, const struct rte_ether_addr *mac);

/** Find the next hop to dst: dst itself if a subnet contains it, else the gateway. @return 0 or -ENETUNREACH */
int uroce_addresses_next_hop(const struct uroce_addresses *a, const uint8_t dst[16],
			     uint8_t hop[16]);
/** @return the source address for packets to dst: one in its subnet, else one of its family; NULL: there is none */
const uint8_t *uroce_addresses_source(const struct uroce_addresses *a, const uint8_t dst[16]);

#endif /* UROCE_PORT_NET_ADDRESS_H */
