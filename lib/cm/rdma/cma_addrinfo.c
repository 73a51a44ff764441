/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * rdma_getaddrinfo(3): resolves names and numbers by getaddrinfo(3), without a device: the ID's calls resolve routes.
 * No state; any thread.
 */

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "uroce_cma.h"

static int
socktype_of(int qp_type)
{
	switch (qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV: return SOCK_STREAM;
	case IBV_QPT_UD: return SOCK_DGRAM;
	default: return 0;
	}
}

static int
protocol_of(int port_space, int socktype)
{
	switch (port_space) {
	case RDMA_PS_TCP: return IPPROTO_TCP;
	case RDMA_PS_IPOIB:
	case RDMA_PS_UDP: return IPPROTO_UDP;
	case RDMA_PS_IB:
		if (socktype == 0)
			return 0;
		return socktype == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	default: return 0;
	}
}

static struct addrinfo
hints_of(const struct rdma_addrinfo *rai)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC };

	if (rai == NULL)
		return hints;
	if (rai->ai_flags & RAI_PASSIVE)
		hints.ai_flags |= AI_PASSIVE;
	if (rai->ai_flags & RAI_NUMERICHOST)
		hints.ai_flags |= AI_NUMERICHOST;
	hints.ai_family = rai->ai_family;
	hints.ai_socktype = socktype_of(rai->ai_qp_type);
	hints.ai_protocol = protocol_of(rai->ai_port_space, hints.ai_socktype);
	return hints;
}

/* getaddrinfo(3)'s error as an errno */
static int
error_of(int ret)
{
	switch (ret) {
	case 0: return 0;
	case EAI_SYSTEM: return errno;
	case EAI_MEMORY: return ENOMEM;
	case EAI_AGAIN: return EAGAIN;
	case EAI_FAMILY: return EAFNOSUPPORT;
	case EAI_NONAME: return ENXIO;
	default: return EINVAL;
	}
}

static int
copy_address(struct sockaddr **to, socklen_t *to_len, const struct sockaddr *from, socklen_t len)
{
	*to = malloc(len);
	if (*to == NULL)
		return ENOMEM;
	memcpy(*to, from, len);
	*to_len = len;
	return 0;
}

static int
fill(struct rdma_addrinfo *rai, const struct rdma_addrinfo *hints, const struct addrinfo *ai,
     bool passive)
{
	rai->ai_flags = passive ? RAI_PASSIVE : 0;
	rai->ai_family = ai->ai_family;
	rai->ai_qp_type = hints->ai_qp_type;
	if (rai->ai_qp_type == 0)
		rai->ai_qp_type = ai->ai_socktype == SOCK_DGRAM ? IBV_QPT_UD : IBV_QPT_RC;
	rai->ai_port_space = hints->ai_port_space;
	if (rai->ai_port_space == 0)
		rai->ai_port_space = rai->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
	if (passive)
		return copy_address(&rai->ai_src_addr, &rai->ai_src_len, ai->ai_addr,
				    ai->ai_addrlen);
	return copy_address(&rai->ai_dst_addr, &rai->ai_dst_len, ai->ai_addr, ai->ai_addrlen);
}

static int
look_up(struct rdma_addrinfo *rai, const char *node, const char *service,
	const struct rdma_addrinfo *given, const struct rdma_addrinfo *hints)
{
	const struct addrinfo ai_hints = hints_of(given);
	struct addrinfo *ai = NULL;
	int ret = error_of(getaddrinfo(node, service, &ai_hints, &ai));

	if (ret != 0)
		return ret;
	ret = fill(rai, hints, ai, (hints->ai_flags & RAI_PASSIVE) != 0);
	freeaddrinfo(ai);
	return ret;
}

/* Without a name to look up: copy the hints. */
static int
copy_hints(struct rdma_addrinfo *rai, const struct rdma_addrinfo *hints)
{
	rai->ai_flags = hints->ai_flags;
	rai->ai_family = hints->ai_family;
	rai->ai_qp_type = hints->ai_qp_type;
	rai->ai_port_space = hints->ai_port_space;
	if (hints->ai_dst_len == 0)
		return 0;
	return copy_address(&rai->ai_dst_addr, &rai->ai_dst_len, hints->ai_dst_addr,
			    hints->ai_dst_len);
}

int
uroce_rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		       struct rdma_addrinfo **res)
{
	static const struct rdma_addrinfo none;
	const struct rdma_addrinfo *given = hints;
	struct rdma_addrinfo *rai;
	int ret;

	if (node == NULL && service == NULL && hints == NULL) {
		errno = EINVAL;
		return -1;
	}
	rai = calloc(1, sizeof(*rai));
	if (rai == NULL)
		return -1;
	if (hints == NULL)
		hints = &none;
	if (node != NULL || service != NULL)
		ret = look_up(rai, node, service, given, hints);
	else
		ret = copy_hints(rai, hints);
	if (ret == 0 && rai->ai_src_len == 0 && hints->ai_src_len != 0)
		ret = copy_address(&rai->ai_src_addr, &rai->ai_src_len, hints->ai_src_addr,
				   hints->ai_src_len);
	if (ret != 0) {
		uroce_rdma_freeaddrinfo(rai);
		errno = ret;
		return -1;
	}
	*res = rai;
	return 0;
}

void
uroce_rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res != NULL) {
		struct rdma_addrinfo *next = res->ai_next;

		free(res->ai_connect);
		free(res->ai_route);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res);
		res = next;
	}
}
