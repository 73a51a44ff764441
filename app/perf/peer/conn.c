/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends and receives lines over a connection. A wait calls `idle`, since the waiting thread also polls a worker. Main
 * thread.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_debug.h>

#include "peer/conn.h"
#include "signals.h"

void
uroce_perf_conn_wait(struct perf_conn *conn, bool write)
{
	if (conn->idle == NULL || conn->idle(conn->idle_arg) == 0)
		conn->ops->wait(conn, write);
}

void
uroce_perf_conn_close(struct perf_conn *conn)
{
	if (conn->ops != NULL)
		conn->ops->close(conn);
	conn->ops = NULL;
}

uint64_t
uroce_perf_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

int
uroce_perf_conn_send(struct perf_conn *conn, const char *format, ...)
{
	const uint64_t deadline = uroce_perf_now_ms() + UROCE_PERF_OOB_TIMEOUT_MS;
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
		n = conn->ops->write(conn, line + sent, length - sent);
		if (n > 0)
			sent += (size_t)n;
		else if (n != -EAGAIN)
			return -ECONNRESET;
		else if (uroce_perf_now_ms() > deadline)
			return -ETIMEDOUT;
		else
			uroce_perf_conn_wait(conn, true);
	}
	return 0;
}

/* Take the first line from the buffer. */
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
	const uint64_t deadline = timeout_ms == 0 ? 0 : uroce_perf_now_ms() + timeout_ms;
	ssize_t n;
	int ret;

	for (;;) {
		ret = line_take(conn, line, room);
		if (ret != -EAGAIN)
			return ret;
		n = conn->ops->read(conn, conn->buffer + conn->length,
				    sizeof(conn->buffer) - conn->length);
		if (n > 0) {
			conn->length += (size_t)n;
			continue;
		}
		if (n != -EAGAIN)
			return -ECONNRESET;
		if (timeout_ms == 0)
			return -EAGAIN;
		if (conn->interruptible && uroce_app_stopped())
			return -EINTR;
		if (uroce_perf_now_ms() > deadline)
			return -ETIMEDOUT;
		uroce_perf_conn_wait(conn, false);
	}
}
