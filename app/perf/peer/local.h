/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Runs the server in the client's process: on the client's lcore, or on its own.
 */

#ifndef UROCE_PERF_PEER_LOCAL_H
#define UROCE_PERF_PEER_LOCAL_H

#include <stdbool.h>

#include "measure/run.h"

struct perf_local {
	struct perf_peer peer; /* first */
	struct perf_server server;
	struct app_host host;
	unsigned int lcore;   /* runs the server's rounds; LCORE_ID_ANY: the client's lcore does */
	struct perf_run *run; /* the client's current run; NULL: none */
	bool stop;            /* main thread: release; server's lcore: acquire */
};

/**
 * Open both hosts: two net_ring ports and an address each.
 * @param lcores	the first is the main lcore, and the client's
 * @param addrs	the client's and the server's, with prefix lengths; NULL: defaults
 * @return 0 or -1, a message printed; call uroce_perf_local_close() in any case
 */
int uroce_perf_local_open(struct perf_local *local, struct app_host *client,
			  const unsigned int *lcores, unsigned int nb_lcores, uint32_t qps,
			  const char *const *addrs);
void uroce_perf_local_close(struct perf_local *local, struct app_host *client);

#endif /* UROCE_PERF_PEER_LOCAL_H */
