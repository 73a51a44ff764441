/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The addresses of a device. Control threads keep the GID table under the port's lock and publish snapshots of it,
 * which never change; workers read a snapshot within an RCU reader section. An IPv4 address is the GID
 * ::ffff:a.b.c.d, and its prefix counts from there.
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
	uint8_t prefix_bits; /* of all 128 */
};

struct uroce_addresses {
	uint64_t generation; /* changes with each snapshot of a port */
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

/** "10.0.0.1/24" or "fd00::1/64": the address of one host, and its subnet. @return 0 or -EINVAL */
int uroce_subnet_parse(struct uroce_subnet *s, const char *cidr);
/** "10.0.0.1" or "fd00::1", of one host. @return 0 or -EINVAL */
int uroce_gid_parse(uint8_t gid[16], const char *address);
/** A GID as an address, for messages. */
const char *uroce_gid_format(const uint8_t gid[16], char *buffer, size_t bytes);
/** The link-local address of a MAC: fe80::/64 and its modified EUI-64. */
void uroce_gid_link_local(uint8_t gid[16], const struct rte_ether_addr *mac);
/** Can it be the address of a host, on the wire? Not multicast, not unspecified, not loopback. */
bool uroce_gid_is_host(const uint8_t gid[16]);
/** The MAC of a multicast group, or of a host's solicited-node group. */
void uroce_multicast_mac(struct rte_ether_addr *mac, const uint8_t gid[16]);
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
/** Is it a multicast group that QPs of the device are in? */
bool uroce_addresses_in_group(const struct uroce_addresses *a, const uint8_t gid[16]);
/** May it be the MAC of such a group? Which one it is shows in the packet. */
static inline bool
uroce_addresses_may_be_group(const struct uroce_addresses *a, const struct rte_ether_addr *mac)
{
	const uint8_t *m = mac->addr_bytes;

	return a->group_count != 0 &&
	       ((m[0] == 0x33 && m[1] == 0x33) || (m[0] == 0x01 && m[1] == 0x00 && m[2] == 0x5e));
}

/** Is the MAC that of a group which an address belongs to: solicited-node, all nodes or all hosts?
 */
bool uroce_addresses_listen(const struct uroce_addresses *a, const struct rte_ether_addr *mac);

/** The next hop of a frame for dst: dst itself, or the gateway. @return 0 or -ENETUNREACH */
int uroce_addresses_next_hop(const struct uroce_addresses *a, const uint8_t dst[16],
			     uint8_t hop[16]);
/** With which address to speak to dst: one of its subnet, else any of its family; NULL: there is
 * none. */
const uint8_t *uroce_addresses_source(const struct uroce_addresses *a, const uint8_t dst[16]);

#endif /* UROCE_PORT_NET_ADDRESS_H */
