/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Converts rdma_cm's socket addresses, IPv4 and IPv6, and RoCEv2 GIDs. No state.
 */

#ifndef UROCE_CM_RDMA_CMA_SOCKADDR_H
#define UROCE_CM_RDMA_CMA_SOCKADDR_H

#include <stdbool.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>

/** @return bytes of an address of this family, 0: neither IPv4 nor IPv6, or NULL */
socklen_t uroce_cma_addr_len(const struct sockaddr *addr);

/** The GID of an address: IPv4 as ::ffff:a.b.c.d. */
void uroce_cma_addr_to_gid(const struct sockaddr *addr, union ibv_gid *gid);

/** INADDR_ANY, in6addr_any or ::ffff:0.0.0.0. */
bool uroce_cma_addr_any(const struct sockaddr *addr);
/** One of those, or 127.0.0.0/8 or ::1: Linux treats them alike when an ID is bound. */
bool uroce_cma_addr_unspecific(const struct sockaddr *addr);
bool uroce_cma_addr_multicast(const struct sockaddr *addr);
/** IPv4, as AF_INET or mapped into IPv6: the same peers reach it. */
bool uroce_cma_addr_same(const struct sockaddr *a, const struct sockaddr *b);

__be16 uroce_cma_addr_port(const struct sockaddr *addr);
void uroce_cma_addr_set_port(struct sockaddr *addr, __be16 port);

/** The wildcard of a family, with no port. */
void uroce_cma_addr_set_any(struct sockaddr_storage *addr, sa_family_t family);
/** An address of this family from a GID. @return false: the GID is not one of IPv4 */
bool uroce_cma_addr_from_gid(struct sockaddr_storage *addr, sa_family_t family,
			     const union ibv_gid *gid);

#endif /* UROCE_CM_RDMA_CMA_SOCKADDR_H */
