/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Out of band: with --oob, the two processes of a test agree over a TCP or UNIX socket.
 */

#ifndef UROCE_PERF_PEER_OOB_H
#define UROCE_PERF_PEER_OOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "peer/conn.h"

struct perf_oob_addr {
	bool is_unix;
	char host[256]; /* empty: server: any address; client: this machine */
	char port[6];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char text[300]; /* as given, for messages */
};

/** Parse "tcp:PORT", "tcp:HOST:PORT", "tcp:[::1]:PORT" or "unix:PATH"; NULL: the default. @return 0 or -EINVAL */
int uroce_perf_oob_parse(struct perf_oob_addr *addr, const char *text);

/** Listen. @return a socket or -errno */
int uroce_perf_oob_listen(const struct perf_oob_addr *addr);
/** Wait for one client, calling idle. @return 0; -EINTR: the user wants to stop; -errno */
int uroce_perf_oob_accept(struct perf_conn *conn, int listener);
/** Stop listening. */
void uroce_perf_oob_unlisten(const struct perf_oob_addr *addr, int listener);
/** @return 0 or -errno */
int uroce_perf_oob_connect(struct perf_conn *conn, const struct perf_oob_addr *addr);
/** Use a stream socket that is connected and non-blocking; from here on conn owns it. */
void uroce_perf_oob_start(struct perf_conn *conn, int fd);
/** Shut down sending; the peer reads the end of the stream. */
void uroce_perf_oob_shutdown(struct perf_conn *conn);

#endif /* UROCE_PERF_PEER_OOB_H */
