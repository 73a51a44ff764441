/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Converts rdma_cm's socket addresses (IPv4 and IPv6) to RoCEv2 GIDs and back. No state.
 */

#ifndef UROCE_CM_RDMA_CMA_SOCKADDR_H
#define UROCE_CM_RDMA_CMA_SOCKADDR_H

#include <stdbool.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>

/** @return bytes of an address of this family; 0: addr is NULL, or neither IPv4 nor IPv6 */
socklen_t uroce_cma_addr_len(const struct sockaddr *addr);

/** Convert an address to its GID: IPv4 becomes ::ffff:a.b.c.d. */
void uroce_cma_addr_to_gid(const struct sockaddr *addr, union ibv_gid *gid);

/** Is it INADDR_ANY, in6addr_any or ::ffff:0.0.0.0? */
bool uroce_cma_addr_any(const struct sockaddr *addr);
/** Is it one of those, or in 127.0.0.0/8, or ::1? Linux treats them alike when an ID is bound. */
bool uroce_cma_addr_unspecific(const struct sockaddr *addr);
bool uroce_cma_addr_multicast(const struct sockaddr *addr);
/** Are the addresses equal? An IPv4 address equals its form mapped into IPv6: the same peers reach both. */
bool uroce_cma_addr_same(const struct sockaddr *a, const struct sockaddr *b);

__be16 uroce_cma_addr_port(const struct sockaddr *addr);
void uroce_cma_addr_set_port(struct sockaddr *addr, __be16 port);

/** Set it to the wildcard of a family, without a port. */
void uroce_cma_addr_set_any(struct sockaddr_storage *addr, sa_family_t family);
/** Convert a GID to an address of this family. @return false: AF_INET, and the GID is not an IPv4 address */
bool uroce_cma_addr_from_gid(struct sockaddr_storage *addr, sa_family_t family,
			     const union ibv_gid *gid);

#endif /* UROCE_CM_RDMA_CMA_SOCKADDR_H */
