/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Opens the sockets of a queue. They send from the port to which peers send, 4791, and are not connected: so Linux gives
 * packets with DF the identification 0, and the packets of a message 0, 1, 2 and so on. Control threads, while no worker
 * polls the port.
 */

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/udp.h>

#include "base/log.h"
#include "port/udp/queue.h"
#include "wire/headers.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

static const char *
text_of(const union uroce_udp_address *local, char *text)
{
	const void *bytes = local->any.sa_family == AF_INET ? (const void *)&local->ipv4.sin_addr
							    : (const void *)&local->ipv6.sin6_addr;

	return inet_ntop(local->any.sa_family, bytes, text, INET6_ADDRSTRLEN);
}

/* @return 0 or -errno; logs the error */
static int
complain(const union uroce_udp_address *local, const char *what, int error)
{
	char text[INET6_ADDRSTRLEN];

	if (error == EADDRINUSE)
		UROCE_LOG(ERR, "UDP port %u of %s is taken: end the other program, or give this one another address of "
			  "the host; if rdma_rxe is loaded, the kernel has the port (rmmod rdma_rxe)\n",
			  UROCE_UDP_PORT, text_of(local, text));
	else
		UROCE_LOG(ERR, "UDP socket of %s: %s: %s\n", text_of(local, text), what, strerror(error));
	return -error;
}

static int
set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) == 0 ? 0 : -errno;
}

/* Only a privileged process gets more than net.core.rmem_max and wmem_max. */
static void
set_buffers(int fd)
{
	if (set(fd, SOL_SOCKET, SO_RCVBUFFORCE, UROCE_UDP_BUFFER_BYTES) != 0)
		set(fd, SOL_SOCKET, SO_RCVBUF, UROCE_UDP_BUFFER_BYTES);
	if (set(fd, SOL_SOCKET, SO_SNDBUFFORCE, UROCE_UDP_BUFFER_BYTES) != 0)
		set(fd, SOL_SOCKET, SO_SNDBUF, UROCE_UDP_BUFFER_BYTES);
}

/* Packets have DF, whatever ICMP says about the path: RoCE's path MTU is the application's. A kernel without UDP_GRO
 * delivers packets one by one. @return 0 or -errno */
static int
set_options(int fd, int family)
{
	int ret = set(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);

	set_buffers(fd);
	set(fd, IPPROTO_UDP, UDP_GRO, 1);
	if (ret == 0 && family == AF_INET)
		ret = set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
	if (ret == 0 && family == AF_INET)
		ret = set(fd, IPPROTO_IP, IP_RECVTOS, 1);
	if (ret == 0 && family == AF_INET6)
		ret = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (ret == 0 && family == AF_INET6)
		ret = set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
	if (ret == 0 && family == AF_INET6)
		ret = set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	return ret;
}

/* The first queue binds alone, and so finds out whether another process has the port. Then the others may share it. */
static int
bind_shared(int fd, const union uroce_udp_address *local, unsigned int id, bool shared)
{
	int ret = id != 0 ? set(fd, SOL_SOCKET, SO_REUSEPORT, 1) : 0;

	if (ret == 0 && bind(fd, &local->any, sizeof(*local)) != 0)
		ret = -errno;
	if (ret == 0 && id == 0 && shared)
		ret = set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	return ret;
}

static int
socket_open(struct uroce_udp_queue *q, const union uroce_udp_address *local, unsigned int id, bool shared)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = socket(local->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int ret;

	if (fd < 0)
		return complain(local, "cannot be created", errno);
	q->sockets[q->nb_sockets++] = (struct uroce_udp_socket){ .fd = fd, .local = local };
	ret = set_options(fd, local->any.sa_family);
	if (ret < 0)
		return complain(local, "the kernel lacks an option", -ret);
	ret = bind_shared(fd, local, id, shared);
	if (ret < 0)
		return complain(local, "cannot be bound", -ret);
	if (epoll_ctl(q->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		return complain(local, "cannot be polled", errno);
	return 0;
}

int
uroce_udp_sockets_open(struct uroce_udp_queue *q, const struct uroce_udp_device *device, unsigned int id, bool shared)
{
	int ret = 0;

	q->nb_sockets = 0;
	q->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (q->epoll_fd < 0)
		return complain(&device->locals[0], "cannot be polled", errno);
	for (unsigned int i = 0; i < device->nb_locals && ret == 0; i++)
		ret = socket_open(q, &device->locals[i], id, shared);
	return ret;
}

void
uroce_udp_sockets_close(struct uroce_udp_queue *q)
{
	for (unsigned int i = 0; i < q->nb_sockets; i++)
		close(q->sockets[i].fd);
	q->nb_sockets = 0;
	if (q->epoll_fd >= 0)
		close(q->epoll_fd);
	q->epoll_fd = -1;
}
