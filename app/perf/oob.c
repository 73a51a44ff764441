/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sockets of the handshake between two processes. Non-blocking: whoever waits here calls `idle`,
 * because the thread that waits is also the one that polls a worker. Main thread.
 */

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_debug.h>

#include "oob.h"
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
 * Is there a server behind this path? If not it is left over from one that was killed. A socket of
 * another type finds out without the server's noticing: it would take a stream for its client.
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

/* Let the workers get on; sleep for a moment only when they have nothing to do. */
static void
wait_for(struct perf_conn *conn, short events)
{
	struct pollfd pfd = { .fd = conn->fd, .events = events };
	bool busy = conn->idle != NULL && conn->idle(conn->idle_arg) > 0;

	poll(&pfd, 1, busy ? 0 : 1);
}

static void
conn_start(struct perf_conn *conn, int fd)
{
	int on = 1;

	conn->fd = fd;
	conn->length = 0;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* fails on a UNIX socket */
}

int
uroce_perf_oob_accept(struct perf_conn *conn, int listener)
{
	int fd;

	conn->fd = listener;
	while (!uroce_app_stopped()) {
		fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			conn_start(conn, fd);
			return 0;
		}
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			return -errno;
		wait_for(conn, POLLIN);
	}
	return -EINTR;
}

static int
connect_to(struct perf_conn *conn, int family, const struct sockaddr *address, socklen_t length)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	if (connect(fd, address, length) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) {
		conn_start(conn, fd);
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
uroce_perf_conn_close(struct perf_conn *conn)
{
	if (conn->fd >= 0)
		close(conn->fd);
	conn->fd = -1;
}

void
uroce_perf_conn_shutdown(struct perf_conn *conn)
{
	shutdown(conn->fd, SHUT_WR);
}

static uint64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

int
uroce_perf_conn_send(struct perf_conn *conn, const char *format, ...)
{
	const uint64_t deadline = now_ms() + UROCE_PERF_OOB_TIMEOUT_MS;
	char line[UROCE_PERF_OOB_LINE_BYTES];
	size_t length, sent = 0;
	va_list args;
	ssize_t n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	RTE_VERIFY(n >= 0);
	length = RTE_MIN((size_t)n, sizeof(line) - 2);
	line[length++] = '\n';
	while (sent < length) {
		n = send(conn->fd, line + sent, length - sent, MSG_NOSIGNAL);
		if (n > 0)
			sent += (size_t)n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return -ECONNRESET;
		else if (now_ms() > deadline)
			return -ETIMEDOUT;
		else
			wait_for(conn, POLLOUT);
	}
	return 0;
}

/* Take the first line out of the buffer. */
static int
line_take(struct perf_conn *conn, char *line, size_t room)
{
	char *end = memchr(conn->buffer, '\n', conn->length);
	size_t length = end == NULL ? 0 : (size_t)(end - conn->buffer);

	if (end == NULL)
		return conn->length >= UROCE_PERF_OOB_LINE_BYTES ? -EPROTO : -EAGAIN;
	if (length >= room)
		return -EPROTO;
	for (size_t i = 0; i < length; i++) {
		if (conn->buffer[i] < ' ' || conn->buffer[i] > '~')
			return -EPROTO;
	}
	memcpy(line, conn->buffer, length);
	line[length] = '\0';
	conn->length -= length + 1;
	memmove(conn->buffer, end + 1, conn->length);
	return 0;
}

int
uroce_perf_conn_recv(struct perf_conn *conn, char *line, size_t room, unsigned int timeout_ms)
{
	const uint64_t deadline = timeout_ms == 0 ? 0 : now_ms() + timeout_ms;
	ssize_t n;
	int ret;

	for (;;) {
		ret = line_take(conn, line, room);
		if (ret != -EAGAIN)
			return ret;
		n = recv(conn->fd, conn->buffer + conn->length, sizeof(conn->buffer) - conn->length,
			 0);
		if (n > 0) {
			conn->length += (size_t)n;
			continue;
		}
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return -ECONNRESET;
		if (timeout_ms == 0)
			return -EAGAIN;
		if (conn->interruptible && uroce_app_stopped())
			return -EINTR;
		if (now_ms() > deadline)
			return -ETIMEDOUT;
		wait_for(conn, POLLIN);
	}
}
