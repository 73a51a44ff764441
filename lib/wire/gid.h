/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Converts IP addresses to RoCEv2 GIDs and back: an IPv6 address is its own GID, the GID of an IPv4 address is
 * ::ffff:a.b.c.d. No state; any thread.
 */

#ifndef UROCE_WIRE_GID_H
#define UROCE_WIRE_GID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#define UROCE_GID_IPV4_OFFSET 12 /* of the IPv4 address in its GID, behind the prefix */

/* An initializer for the GID of an IPv4 address. */
#define UROCE_GID_IPV4(a, b, c, d) { [10] = 0xff, [11] = 0xff, [12] = (a), [13] = (b), [14] = (c), [15] = (d) }

static inline void
uroce_gid_from_ipv4(uint8_t gid[16], rte_be32_t address)
{
	static const uint8_t prefix[16] = UROCE_GID_IPV4(0, 0, 0, 0);

	memcpy(gid, prefix, sizeof(prefix));
	memcpy(gid + UROCE_GID_IPV4_OFFSET, &address, sizeof(address));
}

/** @param gid	of an IPv4 address */
static inline rte_be32_t
uroce_gid_to_ipv4(const uint8_t gid[16])
{
	rte_be32_t address;

	memcpy(&address, gid + UROCE_GID_IPV4_OFFSET, sizeof(address));
	return address;
}

/** @param address	of an IPv4 or IPv6 header, at any alignment */
static inline void
uroce_gid_from_ip(uint8_t gid[16], uint8_t ip_version, const uint8_t *address)
{
	rte_be32_t ipv4;

	if (ip_version == 6) {
		memcpy(gid, address, 16);
		return;
	}
	memcpy(&ipv4, address, sizeof(ipv4));
	uroce_gid_from_ipv4(gid, ipv4);
}

/** Is it ::ffff:a.b.c.d? */
static inline bool
uroce_gid_is_ipv4(const uint8_t gid[16])
{
	static const uint8_t prefix[16] = UROCE_GID_IPV4(0, 0, 0, 0);

	return memcmp(gid, prefix, UROCE_GID_IPV4_OFFSET) == 0;
}

/** Is it the GID of a multicast group, ::ffff:224.0.0.0/4 or ff00::/8? */
static inline bool
uroce_gid_is_multicast(const uint8_t gid[16])
{
	return uroce_gid_is_ipv4(gid) ? (gid[12] & 0xf0) == 0xe0 : gid[0] == 0xff;
}

#endif /* UROCE_WIRE_GID_H */
