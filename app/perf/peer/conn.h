/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The connection over which the two processes of a test agree: text, line by line, over a socket of the operating
 * system (oob.c) or over a queue pair that the RDMA CM has connected (cm.c).
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
	/* What is there. @return bytes; 0: the peer has closed; -EAGAIN: nothing; or it is broken */
	ssize_t (*read)(struct perf_conn *conn, char *buffer, size_t room);
	/* @return bytes taken, or as above */
	ssize_t (*write)(struct perf_conn *conn, const char *bytes, size_t n);
	/* Sleep a moment, unless it can be read or written. */
	void (*wait)(struct perf_conn *conn, bool write);
	void (*close)(struct perf_conn *conn);
};

/* One connection. Single-threaded. */
struct perf_conn {
	const struct perf_conn_ops *ops; /* NULL: not connected */
	int fd;
	struct perf_cm *cm;
	/* Called while waiting, so that the workers of this thread get on. @return frames moved */
	unsigned int (*idle)(void *arg);
	void *idle_arg;
	bool interruptible; /* Ctrl-C ends waiting for a line */
	size_t length;      /* bytes in buffer */
	char buffer[4 * UROCE_PERF_OOB_LINE_BYTES];
};

/** Send one line, `\n` is added. @return 0; -ECONNRESET: the peer is gone; -ETIMEDOUT */
int uroce_perf_conn_send(struct perf_conn *conn, const char *format, ...) __rte_format_printf(2, 3);

/**
 * Receive one line, without its `\n`.
 * @param timeout_ms	0: only what is there
 * @return	0; -EAGAIN: no whole line there; -ETIMEDOUT; -ECONNRESET: the peer is gone; -EINTR: the
 *		user wants to stop; -EPROTO: the line is too long or not text
 */
int uroce_perf_conn_recv(struct perf_conn *conn, char *line, size_t room, unsigned int timeout_ms);

/** Let the workers get on; sleep for a moment only when they have nothing to do. */
void uroce_perf_conn_wait(struct perf_conn *conn, bool write);

void uroce_perf_conn_close(struct perf_conn *conn);

/** Milliseconds of a clock that only goes forwards. */
uint64_t uroce_perf_now_ms(void);

#endif /* UROCE_PERF_PEER_CONN_H */
