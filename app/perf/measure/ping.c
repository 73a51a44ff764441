/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Pings the peer by ICMP before the clock starts, and when a message of a lossy transport seems lost: time alone
 * cannot tell a lost message from one that waits for a peer without a CPU. The client's thread.
 */

#include <arpa/inet.h>

#include <rte_cycles.h>

#include "measure/ping.h"
#include "measure/run.h"

/* What was sent before the first question has arrived when the answer to it is here; the peer's program, between two
 * polls of its worker, has seen it when the second is; and what that has sent is here with the third. */
#define QUESTIONS 3

int
uroce_perf_ping(const struct perf_end *end, unsigned int timeout_ms)
{
	int ret = 0;

	for (uint32_t i = 0; i < RTE_MIN(end->params.qps, end->host->nb_devs) && ret == 0; i++) {
		const union ibv_gid *gid = &end->qps[i].remote.gid;
		const bool v4 = uroce_app_gid_is_v4(gid);
		char address[INET6_ADDRSTRLEN];

		inet_ntop(v4 ? AF_INET : AF_INET6, gid->raw + (v4 ? 12 : 0), address, sizeof(address));
		ret = uroce_ping(end->host->devs[i].ctx, address, timeout_ms);
	}
	return ret;
}

/* Whoever waits for a ping polls all workers of the process: an answer does not say that the server's thread ran. */
static bool
server_has_looked(struct perf_run *r)
{
	const uint64_t deadline = rte_rdtsc() + rte_get_tsc_hz() / 1000 * UROCE_PERF_LOST_MS;
	const uint64_t *rounds = r->peer->rounds;
	uint64_t before;

	if (rounds == NULL)
		return true;
	/* pairs with the release in server_lcore() */
	before = __atomic_load_n(rounds, __ATOMIC_ACQUIRE);
	while (__atomic_load_n(rounds, __ATOMIC_ACQUIRE) - before < 2) { /* the first may have begun before */
		if (rte_rdtsc() > deadline)
			return false;
		uroce_perf_run_poll(r);
	}
	return true;
}

bool
uroce_perf_is_settled(struct perf_run *r)
{
	for (unsigned int i = 0; i < QUESTIONS; i++) {
		if (uroce_perf_ping(&r->end, UROCE_PERF_LOST_MS) != 0 || !server_has_looked(r))
			return false;
		uroce_perf_run_poll(r);
	}
	return true;
}
