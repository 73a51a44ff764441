/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Encodes and decodes the rdma_cm header of a REQ or SIDR_REQ. No state; any thread.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <netinet/in.h>

#include "cm/rdma/cma_header.h"
#include "cm/rdma/cma_sockaddr.h"

#define HEADER_VERSION 0

struct header {
	uint8_t version;
	uint8_t ip_version; /* in the upper 4 bits */
	uint8_t port[2];
	uint8_t src[16]; /* IPv4 in the last 4 */
	uint8_t dst[16];
};

static_assert(sizeof(struct header) == UROCE_CMA_HEADER_BYTES, "rdma_cm's header is 36 bytes");

static void
put_address(uint8_t to[16], const struct sockaddr *addr)
{
	union ibv_gid gid;

	uroce_cma_addr_to_gid(addr, &gid);
	if (addr->sa_family == AF_INET)
		memset(gid.raw, 0, 12);
	memcpy(to, gid.raw, 16);
}

void
uroce_cma_header_encode(uint8_t out[UROCE_CMA_HEADER_BYTES], const struct sockaddr *src,
			const struct sockaddr *dst)
{
	const __be16 port = uroce_cma_addr_port(src);
	struct header h = {
		.version = HEADER_VERSION,
		.ip_version = dst->sa_family == AF_INET ? 4 << 4 : 6 << 4,
	};

	memcpy(h.port, &port, sizeof(h.port));
	put_address(h.src, src);
	put_address(h.dst, dst);
	memcpy(out, &h, sizeof(h));
}

static void
get_address(struct sockaddr_storage *addr, sa_family_t family, const uint8_t from[16])
{
	uroce_cma_addr_set_any(addr, family);
	if (family == AF_INET)
		memcpy(&((struct sockaddr_in *)addr)->sin_addr, from + 12, 4);
	else
		memcpy(&((struct sockaddr_in6 *)addr)->sin6_addr, from, 16);
}

/* Is it neither a wildcard nor a multicast address? */
static bool
is_unicast(const struct sockaddr_storage *addr)
{
	const struct sockaddr *sa = (const struct sockaddr *)addr;

	return !uroce_cma_addr_any(sa) && !uroce_cma_addr_multicast(sa);
}

int
uroce_cma_header_decode(const void *data, uint32_t bytes, struct sockaddr_storage *src,
			struct sockaddr_storage *dst)
{
	struct header h;
	sa_family_t family;
	__be16 port;

	if (bytes < sizeof(h))
		return -EINVAL;
	memcpy(&h, data, sizeof(h));
	if (h.version != HEADER_VERSION)
		return -EINVAL;
	switch (h.ip_version >> 4) {
	case 4: family = AF_INET; break;
	case 6: family = AF_INET6; break;
	default: return -EINVAL;
	}
	get_address(src, family, h.src);
	get_address(dst, family, h.dst);
	memcpy(&port, h.port, sizeof(port));
	uroce_cma_addr_set_port((struct sockaddr *)src, port);
	return is_unicast(src) && is_unicast(dst) ? 0 : -EINVAL;
}

int
uroce_cma_private_build(const struct uroce_cma_id *id, const struct rdma_conn_param *param,
			uint8_t *data, unsigned int room)
{
	const unsigned int user = param != NULL && param->private_data != NULL
					  ? param->private_data_len
					  : 0;
	const unsigned int total = UROCE_CMA_HEADER_BYTES + id->connect_bytes + user;

	if (total > room)
		return -EINVAL;
	uroce_cma_header_encode(data, (const struct sockaddr *)&id->src,
				(const struct sockaddr *)&id->dst);
	if (id->connect_bytes != 0)
		memcpy(data + UROCE_CMA_HEADER_BYTES, id->connect_data, id->connect_bytes);
	if (user != 0)
		memcpy(data + total - user, param->private_data, user);
	return (int)total;
}
