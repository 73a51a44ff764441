/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The client's view of a server in another process.
 */

#ifndef UROCE_PERF_PEER_REMOTE_H
#define UROCE_PERF_PEER_REMOTE_H

#include "peer/message.h"
#include "peer/oob.h"
#include "measure/client.h"

struct perf_remote {
	struct perf_peer peer; /* first */
	struct perf_conn conn;
	unsigned int ticks;
};

/** Connect to the server. @return 0 or -1, a message printed */
int uroce_perf_remote_open(struct perf_remote *remote, struct app_host *host,
			   const struct perf_options *o);
void uroce_perf_remote_close(struct perf_remote *remote);

#endif /* UROCE_PERF_PEER_REMOTE_H */
