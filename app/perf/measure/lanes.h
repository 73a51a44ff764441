/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One end of one run as a whole: its lanes, one for each worker that takes part.
 */

#ifndef UROCE_PERF_MEASURE_LANES_H
#define UROCE_PERF_MEASURE_LANES_H

#include "measure/endpoint.h"

struct perf_lanes {
	unsigned int n;
	struct perf_end *ends[UROCE_MAX_WORKERS]; /* n of them, allocated by the owner */
};

/** Get the number of lanes of a run: one for each worker, but no more than QPs on a port. One if only one message is in
 * flight, or if the order of pings and messages proves a loss. */
unsigned int uroce_perf_lanes_count(const struct perf_params *p, const struct app_host *host);

/** Create all ends, or none. The parameters are those of uroce_perf_end_create(). @return 0; -1: the reason is in error */
int uroce_perf_lanes_create(struct perf_lanes *l, struct app_host *host, const struct perf_params *params, bool server,
			    const union ibv_gid *peer, const union ibv_gid *ours, char *error, size_t room);
/** Connect all QPs, whose remote parts are filled, and post receives. @return as above */
int uroce_perf_lanes_connect(struct perf_lanes *l, char *error, size_t room);
void uroce_perf_lanes_destroy(struct perf_lanes *l);

/** Get QP i of the run. */
struct perf_qp *uroce_perf_lanes_qp(const struct perf_lanes *l, uint32_t i);

#endif /* UROCE_PERF_MEASURE_LANES_H */
