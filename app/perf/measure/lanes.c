/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates, connects and destroys the lanes of an end. Main thread.
 */

#include "measure/lanes.h"

unsigned int
uroce_perf_lanes_count(const struct perf_params *p, const struct app_host *host)
{
	const uint32_t qps = (p->qps + host->nb_devs - 1) / host->nb_devs; /* of a port */

	if (p->mode == PERF_LAT || (uroce_perf_is_lossy(p) && p->verify))
		return 1;
	return RTE_MIN(host->nb_workers, qps);
}

int
uroce_perf_lanes_create(struct perf_lanes *l, struct app_host *host, const struct perf_params *params, bool server,
			const union ibv_gid *peer, const union ibv_gid *ours, char *error, size_t room)
{
	const unsigned int n = l->n;

	for (l->n = 0; l->n < n; l->n++) {
		if (uroce_perf_end_create(l->ends[l->n], host, params, server, l->n, n, peer, ours, error, room) != 0) {
			uroce_perf_lanes_destroy(l);
			return -1;
		}
	}
	return 0;
}

int
uroce_perf_lanes_connect(struct perf_lanes *l, char *error, size_t room)
{
	for (unsigned int i = 0; i < l->n; i++) {
		if (uroce_perf_end_connect(l->ends[i], error, room) != 0)
			return -1;
	}
	return 0;
}

void
uroce_perf_lanes_destroy(struct perf_lanes *l)
{
	while (l->n > 0)
		uroce_perf_end_destroy(l->ends[--l->n]);
}

/* The inverse of uroce_perf_end_qp_index(). */
struct perf_qp *
uroce_perf_lanes_qp(const struct perf_lanes *l, uint32_t i)
{
	const uint32_t devs = l->ends[0]->host->nb_devs, turn = i / devs;

	return &l->ends[turn % l->n]->qps[turn / l->n * devs + i % devs];
}
