/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The connection over which the two processes of a test agree: lines of text over a socket of the operating system
 * (oob.c), or over a queue pair that the RDMA CM has connected (cm.c).
 */

#ifndef UROCE_PERF_PEER_CONN_H
#define UROCE_PERF_PEER_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <rte_common.h>

#include <uroce_config.h>

struct perf_conn;
struct perf_cm;

struct perf_conn_ops {
	/* Read available bytes. @return bytes; 0: the peer has closed; -EAGAIN: none available; -errno: broken */
	ssize_t (*read)(struct perf_conn *conn, char *buffer, size_t room);
	/* Write bytes. @return bytes accepted; else as above */
	ssize_t (*write)(struct perf_conn *conn, const char *bytes, size_t n);
	/* Sleep for a moment, or until the connection can be read or written. */
	void (*wait)(struct perf_conn *conn, bool write);
	void (*close)(struct perf_conn *conn);
};

/* One connection. One thread. */
struct perf_conn {
	const struct perf_conn_ops *ops; /* NULL: not connected */
	int fd;
	struct perf_cm *cm;
	/* Called during a wait, to poll the workers of this thread. @return frames moved */
	unsigned int (*idle)(void *arg);
	void *idle_arg;
	bool interruptible; /* Ctrl-C ends a wait for a line */
	size_t length;      /* bytes in buffer */
	char buffer[4 * UROCE_PERF_OOB_LINE_BYTES];
};

/** Send one line; adds `\n`. @return 0; -ECONNRESET: the peer has closed; -ETIMEDOUT */
int uroce_perf_conn_send(struct perf_conn *conn, const char *format, ...) __rte_format_printf(2, 3);

/**
 * Receive one line, without its `\n`.
 * @param timeout_ms	0: do not wait
 * @return	0; -EAGAIN: no complete line yet; -ETIMEDOUT; -ECONNRESET: the peer has closed; -EINTR: the user wants
 *		to stop; -EPROTO: the line is too long or not text
 */
int uroce_perf_conn_recv(struct perf_conn *conn, char *line, size_t room, unsigned int timeout_ms);

/** Poll the workers; sleep for a moment if they have no work. */
void uroce_perf_conn_wait(struct perf_conn *conn, bool write);

void uroce_perf_conn_close(struct perf_conn *conn);

/** Get the milliseconds of a monotonic clock. */
uint64_t uroce_perf_now_ms(void);

#endif /* UROCE_PERF_PEER_CONN_H */
