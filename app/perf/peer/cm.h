/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Connects the two processes of a test through the RDMA CM; they talk over the connected queue pair, and need nothing
 * but the ports under test. Main thread.
 */

#ifndef UROCE_PERF_PEER_CM_H
#define UROCE_PERF_PEER_CM_H

#include <infiniband/verbs.h>

#include "peer/conn.h"

/** Listen on every address of the process's devices. @return NULL and errno on failure */
struct perf_cm *uroce_perf_cm_listen(void);

/** Wait for one client, calling idle, and stop listening. From here on conn owns cm, also after an error.
 * @return 0; -EINTR: the user wants to stop; -errno */
int uroce_perf_cm_accept(struct perf_conn *conn, struct perf_cm *cm);

/** Connect to the server. @return 0 or -errno: -EHOSTUNREACH, -ECONNREFUSED, -ETIMEDOUT, … */
int uroce_perf_cm_connect(struct perf_conn *conn, const union ibv_gid *to);

/** Wait until the peer has disconnected, so that it knows that this end is done. */
void uroce_perf_cm_leave(struct perf_conn *conn);

#endif /* UROCE_PERF_PEER_CM_H */
