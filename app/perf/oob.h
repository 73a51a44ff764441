/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Out of band: the TCP or UNIX socket over which the two processes of a test agree. Text, line by
 * line.
 */

#ifndef UROCE_PERF_OOB_H
#define UROCE_PERF_OOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include <rte_common.h>

#include <uroce_config.h>

struct perf_oob_addr {
	bool is_unix;
	char host[256]; /* empty: any as server, this machine as client */
	char port[6];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char text[300]; /* as it was given, for messages */
};

/* One connection. Single-threaded. */
struct perf_conn {
	int fd;
	/* Called while waiting, so that the workers of this thread get on. @return frames moved */
	unsigned int (*idle)(void *arg);
	void *idle_arg;
	bool interruptible; /* Ctrl-C ends waiting for a line */
	size_t length;      /* bytes in buffer */
	char buffer[4 * UROCE_PERF_OOB_LINE_BYTES];
};

/** "tcp:PORT", "tcp:HOST:PORT", "tcp:[::1]:PORT", "unix:PATH"; NULL: the default. @return 0 or
 * -EINVAL */
int uroce_perf_oob_parse(struct perf_oob_addr *addr, const char *text);

/** Listen. @return a socket or -errno */
int uroce_perf_oob_listen(const struct perf_oob_addr *addr);
/** Wait for one client, calling idle. @return 0; -EINTR: the user wants to stop; -errno */
int uroce_perf_oob_accept(struct perf_conn *conn, int listener);
/** Stop listening. */
void uroce_perf_oob_unlisten(const struct perf_oob_addr *addr, int listener);
/** @return 0 or -errno */
int uroce_perf_oob_connect(struct perf_conn *conn, const struct perf_oob_addr *addr);
void uroce_perf_conn_close(struct perf_conn *conn);
/** Nothing more will be sent; the peer sees the end. */
void uroce_perf_conn_shutdown(struct perf_conn *conn);

/** Send one line, `\n` is added. @return 0; -ECONNRESET: the peer is gone; -ETIMEDOUT */
int uroce_perf_conn_send(struct perf_conn *conn, const char *format, ...) __rte_format_printf(2, 3);

/**
 * Receive one line, without its `\n`.
 * @param timeout_ms	0: only what is there
 * @return	0; -EAGAIN: no whole line there; -ETIMEDOUT; -ECONNRESET: the peer is gone; -EINTR:
 *the user wants to stop; -EPROTO: the line is too long or not text
 */
int uroce_perf_conn_recv(struct perf_conn *conn, char *line, size_t room, unsigned int timeout_ms);

#endif /* UROCE_PERF_OOB_H */
