/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Runs the server in the client's process: on the client's lcores, or on its own.
 */

#ifndef UROCE_PERF_PEER_LOCAL_H
#define UROCE_PERF_PEER_LOCAL_H

#include <stdbool.h>

#include "measure/client.h"
#include "measure/servers.h"

struct perf_local {
	struct perf_peer peer; /* first */
	struct perf_servers servers;
	struct app_host host;
	struct app_host *client;
	bool own_lcores; /* the server's rounds run on lcores of their own; else on the client's */
};

/**
 * Open both hosts, with `workers` workers each: two net_ring ports and an address each.
 * @param lcores	at least as many as workers; the first is the main lcore. The client's workers run on the first
 *			ones, the server's on the next ones; if there are too few, both ends share each worker
 * @param addrs	the client's and the server's, with prefix lengths; NULL: defaults
 * @return 0 or -1, a message printed; call uroce_perf_local_close() in any case
 */
int uroce_perf_local_open(struct perf_local *local, struct app_host *client, unsigned int workers,
			  const unsigned int *lcores, unsigned int nb_lcores, uint32_t qps,
			  const char *const *addrs);
void uroce_perf_local_close(struct perf_local *local, struct app_host *client);

#endif /* UROCE_PERF_PEER_LOCAL_H */
