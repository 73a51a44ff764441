/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Converts socket addresses (IPv4 and IPv6) to RoCEv2 GIDs and back. No state; any thread.
 */

#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>

#include "cm/rdma/cma_sockaddr.h"
#include "wire/gid.h"

static const struct sockaddr_in *
in_of(const struct sockaddr *addr)
{
	return (const struct sockaddr_in *)(const void *)addr;
}

static const struct sockaddr_in6 *
in6_of(const struct sockaddr *addr)
{
	return (const struct sockaddr_in6 *)(const void *)addr;
}

socklen_t
uroce_cma_addr_len(const struct sockaddr *addr)
{
	if (addr == NULL)
		return 0;
	switch (addr->sa_family) {
	case AF_INET: return sizeof(struct sockaddr_in);
	case AF_INET6: return sizeof(struct sockaddr_in6);
	default: return 0;
	}
}

void
uroce_cma_addr_to_gid(const struct sockaddr *addr, union ibv_gid *gid)
{
	if (addr->sa_family == AF_INET6) {
		memcpy(gid->raw, &in6_of(addr)->sin6_addr, sizeof(gid->raw));
		return;
	}
	uroce_gid_from_ipv4(gid->raw, in_of(addr)->sin_addr.s_addr);
}

bool
uroce_cma_addr_any(const struct sockaddr *addr)
{
	static const union ibv_gid zero;
	union ibv_gid gid;

	uroce_cma_addr_to_gid(addr, &gid);
	if (uroce_gid_is_ipv4(gid.raw))
		return uroce_gid_to_ipv4(gid.raw) == INADDR_ANY;
	return memcmp(gid.raw, zero.raw, sizeof(zero.raw)) == 0;
}

bool
uroce_cma_addr_unspecific(const struct sockaddr *addr)
{
	union ibv_gid gid;

	if (uroce_cma_addr_any(addr))
		return true;
	uroce_cma_addr_to_gid(addr, &gid);
	return uroce_gid_is_ipv4(gid.raw) ? gid.raw[12] == IN_LOOPBACKNET : IN6_IS_ADDR_LOOPBACK(&gid);
}

bool
uroce_cma_addr_multicast(const struct sockaddr *addr)
{
	union ibv_gid gid;

	uroce_cma_addr_to_gid(addr, &gid);
	return uroce_gid_is_multicast(gid.raw);
}

bool
uroce_cma_addr_same(const struct sockaddr *a, const struct sockaddr *b)
{
	union ibv_gid ga, gb;

	uroce_cma_addr_to_gid(a, &ga);
	uroce_cma_addr_to_gid(b, &gb);
	return memcmp(ga.raw, gb.raw, sizeof(ga.raw)) == 0;
}

__be16
uroce_cma_addr_port(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET: return in_of(addr)->sin_port;
	case AF_INET6: return in6_of(addr)->sin6_port;
	default: return 0;
	}
}

void
uroce_cma_addr_set_port(struct sockaddr *addr, __be16 port)
{
	if (addr->sa_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)addr)->sin6_port = port;
	else
		((struct sockaddr_in *)(void *)addr)->sin_port = port;
}

void
uroce_cma_addr_set_any(struct sockaddr_storage *addr, sa_family_t family)
{
	memset(addr, 0, sizeof(*addr));
	addr->ss_family = family;
}

bool
uroce_cma_addr_from_gid(struct sockaddr_storage *addr, sa_family_t family, const union ibv_gid *gid)
{
	if (family == AF_INET && !uroce_gid_is_ipv4(gid->raw))
		return false;
	uroce_cma_addr_set_any(addr, family);
	if (family == AF_INET)
		((struct sockaddr_in *)addr)->sin_addr.s_addr = uroce_gid_to_ipv4(gid->raw);
	else
		memcpy(&((struct sockaddr_in6 *)addr)->sin6_addr, gid->raw, sizeof(gid->raw));
	return true;
}
