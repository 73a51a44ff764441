/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The two processes of a test meet through the RDMA CM, and talk over the queue pair that it connects: nothing but
 * the ports under test is needed. Main thread.
 */

#ifndef UROCE_PERF_PEER_CM_H
#define UROCE_PERF_PEER_CM_H

#include <infiniband/verbs.h>

#include "peer/conn.h"

/** Listen on every address of the process's devices. @return NULL and errno */
struct perf_cm *uroce_perf_cm_listen(void);

/** Wait for one client, calling idle, and listen no more: conn owns cm from here on, whatever comes.
 * @return 0; -EINTR: the user wants to stop; -errno */
int uroce_perf_cm_accept(struct perf_conn *conn, struct perf_cm *cm);

/** @return 0 or -errno: -EHOSTUNREACH, -ECONNREFUSED, -ETIMEDOUT, … */
int uroce_perf_cm_connect(struct perf_conn *conn, const union ibv_gid *to);

/** Wait until the peer has disconnected, so that it knows that we are done. */
void uroce_perf_cm_leave(struct perf_conn *conn);

#endif /* UROCE_PERF_PEER_CM_H */
