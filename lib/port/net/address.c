/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Functions on addresses: text to GID and back, subnets, multicast MAC addresses, look-ups in the snapshot that workers
 * read. Stateless; any thread.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "port/net/address.h"

#define IPV4_BITS (8 * UROCE_GID_IPV4_OFFSET) /* prefix length of ::ffff:0:0/96 */

bool
uroce_gid_is_host(const uint8_t gid[16])
{
	static const uint8_t zero[15];

	if (uroce_gid_is_multicast(gid))
		return false;
	if (uroce_gid_is_ipv4(gid))
		return gid[12] != 0 && gid[12] != 127 && gid[12] < 240;
	return memcmp(gid, zero, sizeof(zero)) != 0 || gid[15] > 1; /* neither :: nor ::1 */
}

bool
uroce_gid_is_loopback(const uint8_t gid[16])
{
	return uroce_gid_is_ipv4(gid) && gid[UROCE_GID_IPV4_OFFSET] == IN_LOOPBACKNET;
}

static int
parse(uint8_t gid[16], const char *address)
{
	struct in_addr ipv4;

	if (address == NULL)
		return -EINVAL;
	if (inet_pton(AF_INET, address, &ipv4) == 1)
		uroce_gid_from_ipv4(gid, ipv4.s_addr);
	else if (inet_pton(AF_INET6, address, gid) != 1)
		return -EINVAL;
	return 0;
}

int
uroce_gid_parse(uint8_t gid[16], const char *address)
{
	int ret = parse(gid, address);

	return ret == 0 && !uroce_gid_is_host(gid) ? -EINVAL : ret;
}

int
uroce_subnet_parse(struct uroce_subnet *s, const char *cidr)
{
	char text[INET6_ADDRSTRLEN];
	const char *slash;
	char *end;
	unsigned long bits;

	slash = cidr != NULL ? strchr(cidr, '/') : NULL;
	if (slash == NULL || (size_t)(slash - cidr) >= sizeof(text))
		return -EINVAL;
	memcpy(text, cidr, (size_t)(slash - cidr));
	text[slash - cidr] = '\0';
	if (parse(s->gid, text) < 0 || (!uroce_gid_is_host(s->gid) && !uroce_gid_is_loopback(s->gid)))
		return -EINVAL;
	if (slash[1] < '0' || slash[1] > '9')
		return -EINVAL;
	errno = 0;
	bits = strtoul(slash + 1, &end, 10);
	if (errno != 0 || *end != '\0' || bits == 0)
		return -EINVAL;
	/* ::ffff:a.b.c.d/n is written as IPv6, but is an IPv4 address */
	if (uroce_gid_is_ipv4(s->gid) && strchr(text, ':') == NULL && bits <= 32)
		bits += IPV4_BITS;
	else if (uroce_gid_is_ipv4(s->gid) &&
		 (strchr(text, ':') == NULL || bits <= IPV4_BITS))
		return -EINVAL;
	if (bits > 128)
		return -EINVAL;
	s->prefix_bits = (uint8_t)bits;
	return 0;
}

const char *
uroce_gid_format(const uint8_t gid[16], char *buffer, size_t bytes)
{
	const char *text;

	if (uroce_gid_is_ipv4(gid))
		text = inet_ntop(AF_INET, gid + UROCE_GID_IPV4_OFFSET, buffer, (socklen_t)bytes);
	else
		text = inet_ntop(AF_INET6, gid, buffer, (socklen_t)bytes);
	return text != NULL ? text : "?";
}

void
uroce_gid_link_local(uint8_t gid[16], const struct rte_ether_addr *mac)
{
	const uint8_t *m = mac->addr_bytes;
	const uint8_t value[16] = {
		0xfe, 0x80, 0, 0, 0, 0, 0, 0, m[0] ^ 0x02, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5],
	};

	memcpy(gid, value, sizeof(value));
}

void
uroce_solicited_node(uint8_t group[16], const uint8_t target[16])
{
	static const uint8_t prefix[13] = { 0xff, 0x02, [11] = 0x01, [12] = 0xff };

	memcpy(group, prefix, sizeof(prefix));
	memcpy(group + sizeof(prefix), target + sizeof(prefix), 16 - sizeof(prefix));
}

void
uroce_multicast_mac(struct rte_ether_addr *mac, const uint8_t gid[16])
{
	uint8_t *m = mac->addr_bytes;

	if (uroce_gid_is_ipv4(gid)) {
		const uint8_t value[RTE_ETHER_ADDR_LEN] = {
			0x01, 0x00, 0x5e, gid[13] & 0x7f, gid[14], gid[15],
		};

		memcpy(m, value, sizeof(value));
		return;
	}
	m[0] = 0x33;
	m[1] = 0x33;
	memcpy(m + 2, gid + 12, 4);
}

bool
uroce_addresses_have_ipv6(const struct uroce_addresses *a, const uint8_t address[16])
{
	for (unsigned int i = 0; i < a->ipv6_count; i++)
		if (memcmp(a->ipv6[i], address, sizeof(a->ipv6[i])) == 0)
			return true;
	return false;
}

bool
uroce_addresses_have(const struct uroce_addresses *a, const uint8_t gid[16])
{
	if (!uroce_gid_is_ipv4(gid))
		return uroce_addresses_have_ipv6(a, gid);
	return uroce_addresses_have_ipv4(a, uroce_gid_to_ipv4(gid));
}

static int
compare(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

bool
uroce_addresses_in_group(const struct uroce_addresses *a, const uint8_t gid[16])
{
	return bsearch(gid, a->groups, a->group_count, sizeof(a->groups[0]), compare) != NULL;
}

bool
uroce_addresses_listen(const struct uroce_addresses *a, const struct rte_ether_addr *mac)
{
	static const uint8_t all_nodes[RTE_ETHER_ADDR_LEN] = { 0x33, 0x33, 0, 0, 0, 1 };
	static const uint8_t all_hosts[RTE_ETHER_ADDR_LEN] = { 0x01, 0x00, 0x5e, 0, 0, 1 };
	static const uint8_t solicited[3] = { 0x33, 0x33, 0xff };
	const uint8_t *m = mac->addr_bytes;

	if (a->ipv6_count != 0 && memcmp(m, all_nodes, sizeof(all_nodes)) == 0)
		return true;
	if (a->ipv4_count != 0 && memcmp(m, all_hosts, sizeof(all_hosts)) == 0)
		return true;
	if (memcmp(m, solicited, sizeof(solicited)) != 0)
		return false;
	for (unsigned int i = 0; i < a->ipv6_count; i++)
		if (memcmp(a->ipv6[i] + 13, m + 3, 3) == 0)
			return true;
	return false;
}

static bool
subnet_contains(const struct uroce_subnet *s, const uint8_t gid[16])
{
	unsigned int bytes = s->prefix_bits / 8, bits = s->prefix_bits % 8;

	if (memcmp(s->gid, gid, bytes) != 0)
		return false;
	return bits == 0 || ((s->gid[bytes] ^ gid[bytes]) >> (8 - bits)) == 0;
}

int
uroce_addresses_next_hop(const struct uroce_addresses *a, const uint8_t dst[16], uint8_t hop[16])
{
	bool ipv4 = uroce_gid_is_ipv4(dst);

	for (unsigned int i = 0; i < a->count; i++)
		if (subnet_contains(&a->subnets[i], dst)) {
			memcpy(hop, dst, 16);
			return 0;
		}
	if (ipv4 ? !a->has_ipv4_gateway : !a->has_ipv6_gateway)
		return -ENETUNREACH;
	memcpy(hop, ipv4 ? a->ipv4_gateway : a->ipv6_gateway, 16);
	return 0;
}

const uint8_t *
uroce_addresses_source(const struct uroce_addresses *a, const uint8_t dst[16])
{
	const uint8_t *any = NULL;

	for (unsigned int i = 0; i < a->count; i++) {
		if (subnet_contains(&a->subnets[i], dst))
			return a->subnets[i].gid;
		/* a link-local address reaches only its own link: it is the last choice */
		if (uroce_gid_is_ipv4(a->subnets[i].gid) == uroce_gid_is_ipv4(dst) &&
		    (any == NULL || any[0] == 0xfe))
			any = a->subnets[i].gid;
	}
	return any;
}
