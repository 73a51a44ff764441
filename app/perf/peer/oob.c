/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The sockets of the handshake between two processes. They are non-blocking: a wait calls `idle`, since the waiting
 * thread also polls a worker. Main thread.
 */

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer/oob.h"
#include "signals.h"

static int
tcp_parse(struct perf_oob_addr *addr, const char *text)
{
	const char *colon = strrchr(text, ':');
	const char *port = colon == NULL ? text : colon + 1;
	size_t host_length = colon == NULL ? 0 : (size_t)(colon - text);
	char *end;
	unsigned long value;

	if (host_length >= 2 && text[0] == '[' && text[host_length - 1] == ']') {
		text++;
		host_length -= 2;
	} else if (memchr(text, ':', host_length) != NULL) {
		return -EINVAL;
	}
	if ((colon != NULL && host_length == 0) || host_length >= sizeof(addr->host))
		return -EINVAL;
	value = strtoul(port, &end, 10);
	if (port[0] < '0' || port[0] > '9' || *end != '\0' || value < 1 || value > 65535)
		return -EINVAL;
	memcpy(addr->host, text, host_length);
	snprintf(addr->port, sizeof(addr->port), "%lu", value);
	return 0;
}

int
uroce_perf_oob_parse(struct perf_oob_addr *addr, const char *text)
{
	memset(addr, 0, sizeof(*addr));
	if (text == NULL) {
		snprintf(addr->host, sizeof(addr->host), "127.0.0.1");
		snprintf(addr->port, sizeof(addr->port), "%u", UROCE_PERF_OOB_PORT);
		snprintf(addr->text, sizeof(addr->text), "tcp:%s:%s", addr->host, addr->port);
		return 0;
	}
	if (strlen(text) >= sizeof(addr->text))
		return -EINVAL;
	memcpy(addr->text, text, strlen(text));
	if (strncmp(text, "tcp:", 4) == 0)
		return tcp_parse(addr, text + 4);
	if (strncmp(text, "unix:", 5) != 0 || text[5] == '\0' ||
	    strlen(text + 5) >= sizeof(addr->path))
		return -EINVAL;
	addr->is_unix = true;
	memcpy(addr->path, text + 5, strlen(text + 5));
	return 0;
}

static struct sockaddr_un
unix_address(const struct perf_oob_addr *addr)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	memcpy(sun.sun_path, addr->path, sizeof(sun.sun_path));
	return sun;
}

static int
resolve(const struct perf_oob_addr *addr, bool server, struct addrinfo **list)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = server ? AI_PASSIVE : 0,
	};
	const char *host = addr->host[0] != '\0' ? addr->host : NULL;

	return getaddrinfo(host, addr->port, &hints, list) == 0 ? 0 : -EADDRNOTAVAIL;
}

/*
 * Is the socket left over from a server that was killed? The check uses a socket of another type, which a live server
 * does not notice: it would take a stream for its client.
 */
static bool
unix_is_stale(const struct sockaddr_un *sun)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool stale;

	if (fd < 0)
		return false;
	stale = connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) != 0 &&
		errno == ECONNREFUSED;
	close(fd);
	return stale;
}

static int
bind_and_listen(int family, const struct sockaddr *address, socklen_t length)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1, error;

	if (fd < 0)
		return -errno;
	if (family != AF_UNIX)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address, length) == 0 && listen(fd, 1) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

int
uroce_perf_oob_listen(const struct perf_oob_addr *addr)
{
	struct addrinfo *list, *a;
	int fd;

	if (addr->is_unix) {
		struct sockaddr_un sun = unix_address(addr);

		fd = bind_and_listen(AF_UNIX, (const struct sockaddr *)&sun, sizeof(sun));
		if (fd != -EADDRINUSE || !unix_is_stale(&sun))
			return fd;
		unlink(addr->path);
		return bind_and_listen(AF_UNIX, (const struct sockaddr *)&sun, sizeof(sun));
	}
	fd = resolve(addr, true, &list);
	if (fd != 0)
		return fd;
	fd = -EADDRNOTAVAIL;
	for (a = list; a != NULL && fd < 0; a = a->ai_next)
		fd = bind_and_listen(a->ai_family, a->ai_addr, a->ai_addrlen);
	freeaddrinfo(list);
	return fd;
}

void
uroce_perf_oob_unlisten(const struct perf_oob_addr *addr, int listener)
{
	close(listener);
	if (addr->is_unix)
		unlink(addr->path);
}

static ssize_t
socket_read(struct perf_conn *conn, char *buffer, size_t room)
{
	ssize_t n = recv(conn->fd, buffer, room, 0);

	return n >= 0 ? n : errno == EINTR ? -EAGAIN : -errno;
}

static ssize_t
socket_write(struct perf_conn *conn, const char *bytes, size_t n)
{
	ssize_t sent = send(conn->fd, bytes, n, MSG_NOSIGNAL);

	return sent >= 0 ? sent : errno == EINTR ? -EAGAIN : -errno;
}

static void
socket_wait(struct perf_conn *conn, bool write)
{
	struct pollfd pfd = { .fd = conn->fd, .events = write ? POLLOUT : POLLIN };

	poll(&pfd, 1, 1);
}

static void
socket_close(struct perf_conn *conn)
{
	close(conn->fd);
	conn->fd = -1;
}

static const struct perf_conn_ops socket_ops = {
	.read = socket_read,
	.write = socket_write,
	.wait = socket_wait,
	.close = socket_close,
};

void
uroce_perf_oob_start(struct perf_conn *conn, int fd)
{
	int on = 1;

	conn->fd = fd;
	conn->ops = &socket_ops;
	conn->length = 0;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* has no effect on a UNIX socket */
}

int
uroce_perf_oob_accept(struct perf_conn *conn, int listener)
{
	int fd, ret = -EINTR;

	conn->fd = listener;
	conn->ops = &socket_ops;
	while (!uroce_app_stopped()) {
		fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			uroce_perf_oob_start(conn, fd);
			return 0;
		}
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
			ret = -errno;
			break;
		}
		uroce_perf_conn_wait(conn, false);
	}
	conn->ops = NULL; /* the caller owns the listener */
	return ret;
}

static int
connect_to(struct perf_conn *conn, int family, const struct sockaddr *address, socklen_t length)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	if (connect(fd, address, length) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) {
		uroce_perf_oob_start(conn, fd);
		return 0;
	}
	error = errno;
	close(fd);
	return -error;
}

int
uroce_perf_oob_connect(struct perf_conn *conn, const struct perf_oob_addr *addr)
{
	struct addrinfo *list, *a;
	int ret;

	if (addr->is_unix) {
		struct sockaddr_un sun = unix_address(addr);

		return connect_to(conn, AF_UNIX, (const struct sockaddr *)&sun, sizeof(sun));
	}
	ret = resolve(addr, false, &list);
	if (ret != 0)
		return ret;
	ret = -EADDRNOTAVAIL;
	for (a = list; a != NULL && ret != 0; a = a->ai_next)
		ret = connect_to(conn, a->ai_family, a->ai_addr, a->ai_addrlen);
	freeaddrinfo(list);
	return ret;
}

void
uroce_perf_oob_shutdown(struct perf_conn *conn)
{
	shutdown(conn->fd, SHUT_WR);
}
