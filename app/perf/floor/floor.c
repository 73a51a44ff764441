/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * --floor: measures the floors of a run before and after it, on the lcores of the run. Main thread.
 */

#include <stdlib.h>

#include <rte_lcore.h>

#include "measure/endpoint.h"
#include "floor/floor.h"

/* larger than any cache */
#define WINDOW_BYTES UROCE_PERF_BUFFER_BYTES

/* Get the size of the run's buffers. */
static int
load_of(const struct perf_params *p, struct perf_floor_load *load)
{
	static struct app_host host = { .nb_devs = 1 };
	struct perf_end *end = calloc(1, sizeof(*end));

	if (end == NULL)
		return -ENOMEM;
	end->params = *p;
	end->host = &host;
	end->lanes = 1;
	uroce_perf_layout(end);
	*load = (struct perf_floor_load){
		.message_bytes = RTE_MIN(p->size, WINDOW_BYTES),
		.packet_bytes = p->mtu,
		.window_bytes = RTE_MIN((size_t)end->slots * end->stride * p->qps, (size_t)WINDOW_BYTES),
	};
	free(end);
	return 0;
}

int
uroce_perf_floor_take(struct perf_floor *f, const struct perf_params *p,
		      const struct perf_floor_place *place, double rtt_ns)
{
	struct perf_floor_load load;
	struct perf_floor now = { 0 };
	int ret = load_of(p, &load);

	/* a smaller message is in the cache line of the packet's header, so it costs only packets */
	if (ret == 0 && p->size >= RTE_CACHE_LINE_SIZE)
		ret = uroce_perf_floor_bytes(&now, &load);
	if (ret == 0 && now.gbps > 0 && place->both_ends && place->lcore != LCORE_ID_ANY)
		ret = uroce_perf_floor_pair(&now, &load, place->lcore);
	if (ret == 0 && place->both_ends)
		ret = uroce_perf_floor_rings(&now, place->lcore, rtt_ns);
	if (ret != 0)
		return ret;
	if (now.gbps >= f->gbps) {
		f->gbps = now.gbps;
		f->copy = now.copy;
	}
	f->pair_gbps = RTE_MAX(f->pair_gbps, now.pair_gbps);
	f->cores = place->cores;
	f->mops = RTE_MAX(f->mops, now.mops);
	f->rtt_ns = f->rtt_ns == 0 ? now.rtt_ns : RTE_MIN(f->rtt_ns, now.rtt_ns);
	f->span = now.span;
	f->span_ns = now.span_ns;
	f->span_p999_ns = now.span_p999_ns;
	f->rtt_p999_ns = f->rtt_p999_ns == 0 ? now.rtt_p999_ns : RTE_MIN(f->rtt_p999_ns, now.rtt_p999_ns);
	return 0;
}
