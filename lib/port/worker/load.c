/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce_query_worker(): how busy a worker is. Any thread, while the worker runs.
 */

#include "base/clock.h"
#include "base/sized.h"
#include "port/worker/worker.h"
#include "uroce.h"

int
uroce_query_worker(struct uroce_worker *w, struct uroce_worker_load *load)
{
	struct uroce_worker_load own = {
		.busy_ns = __atomic_load_n(&w->load.busy_ns, __ATOMIC_RELAXED),
		.rounds = __atomic_load_n(&w->load.rounds, __ATOMIC_RELAXED),
		.busy_rounds = __atomic_load_n(&w->load.busy_rounds, __ATOMIC_RELAXED),
		.late_rounds = __atomic_load_n(&w->late_rounds, __ATOMIC_RELAXED),
		.latest_ns = __atomic_load_n(&w->latest_ns, __ATOMIC_RELAXED),
	};
	/* read last, so that the busy share is at most 1 */
	own.total_ns = RTE_MAX(__atomic_load_n(&w->now_ns, __ATOMIC_RELAXED), uroce_clock_ns()) - w->since_ns;
	return -uroce_sized_put("uroce_worker_load", &own, sizeof(own),
				UROCE_SIZED_UP_TO(struct uroce_worker_load, busy_rounds), load);
}
