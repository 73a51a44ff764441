/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The server's side of one row of the result: its lanes, and their common result.
 */

#ifndef UROCE_PERF_MEASURE_SERVERS_H
#define UROCE_PERF_MEASURE_SERVERS_H

#include "measure/lanes.h"
#include "measure/server.h"

struct perf_servers {
	struct perf_lanes lanes; /* the ends of the servers */
	struct perf_server *servers[UROCE_MAX_WORKERS];
	unsigned int nb_alloc;
	unsigned int first; /* the lanes from this one on run on lcores of their own */
	bool stop;          /* atomic: ends their rounds */
	uint64_t retransmits_before;
	struct perf_verdict verdict; /* of all lanes */
};

/** Create n lanes; the parameters are those of uroce_perf_lanes_create(). *s is overwritten.
 * @return 0; -1: the reason is in error, and there is nothing to destroy */
int uroce_perf_servers_create(struct perf_servers *s, unsigned int n, struct app_host *host,
			      const struct perf_params *params, const union ibv_gid *peer, const union ibv_gid *ours,
			      char *error, size_t room);
void uroce_perf_servers_destroy(struct perf_servers *s);

/** Run the rounds of the lanes from `first` on on the lcores of their workers. The QPs are connected; the caller runs
 * the rounds of the other lanes. */
void uroce_perf_servers_start(struct perf_servers *s, unsigned int first);
/** End these rounds. */
void uroce_perf_servers_stop(struct perf_servers *s);

/**
 * The client is done, the rounds have ended: take the remaining messages of all lanes, and check the counts.
 * @param ops	messages that the client has sent
 * @param counts	atomics: operations on each QP; else NULL
 * @param idle	polls the workers of this thread
 */
void uroce_perf_servers_finish(struct perf_servers *s, uint64_t ops, const uint64_t *counts,
			       unsigned int (*idle)(void *arg), void *arg);
/** The result of a run that has failed at the client: the errors so far. */
void uroce_perf_servers_verdict(struct perf_servers *s);

#endif /* UROCE_PERF_MEASURE_SERVERS_H */
