/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Probes the peer before the clock starts, by an empty WRITE or by ICMP. Pings the peer when a message of a lossy
 * transport seems lost: time alone cannot tell a lost message from one that waits for a peer without a CPU. The
 * client's thread.
 */

#include <arpa/inet.h>
#include <string.h>

#include <rte_cycles.h>

#include "measure/ping.h"
#include "measure/run.h"
#include "signals.h"

/* Three pings settle a run. After the reply to the first, all earlier frames have arrived. After the second, the
 * peer's program has handled them, between two polls of its worker. With the third, its replies have arrived. */
#define QUESTIONS 3

int
uroce_perf_ping(const struct perf_end *end, unsigned int timeout_ms)
{
	int ret = 0;

	for (uint32_t i = 0; i < RTE_MIN(end->nb_qps, end->host->nb_devs) && ret == 0; i++) {
		const union ibv_gid *gid = &end->qps[i].remote.gid;
		const bool v4 = uroce_app_gid_is_v4(gid);
		char address[INET6_ADDRSTRLEN];

		inet_ntop(v4 ? AF_INET : AF_INET6, gid->raw + (v4 ? 12 : 0), address, sizeof(address));
		ret = uroce_ping(end->host->devs[i].ctx, address, timeout_ms);
	}
	return ret;
}

/* Wait until the server's thread has run: during a ping, the waiting thread polls all workers of the process, so a
 * reply does not prove it. */
static bool
server_has_looked(struct perf_run *r)
{
	const uint64_t deadline = rte_rdtsc() + rte_get_tsc_hz() / 1000 * UROCE_PERF_LOST_MS;
	const uint64_t *rounds = r->rounds;
	uint64_t before;

	if (rounds == NULL)
		return true;
	/* pairs with the release in uroce_perf_server_lcore() */
	before = __atomic_load_n(rounds, __ATOMIC_ACQUIRE);
	while (__atomic_load_n(rounds, __ATOMIC_ACQUIRE) - before < 2) { /* the first round may have started earlier */
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

/* Wait for n completions of probes. */
static void
probe_wait(struct perf_run *r, uint32_t n)
{
	const uint64_t deadline = rte_rdtsc() + UROCE_PERF_STALL_S * rte_get_tsc_hz();
	struct ibv_wc wcs[UROCE_BURST];

	while (n > 0 && !r->failed && !uroce_app_stopped()) {
		int got;

		uroce_perf_run_poll(r);
		got = uroce_perf_end_completions(&r->end, wcs, RTE_DIM(wcs));
		for (int i = 0; i < got; i++) {
			if (wcs[i].status != IBV_WC_SUCCESS) {
				r->errors++;
				uroce_perf_run_fail(r,
						    "the peer does not respond: %s: check the addresses, the ports "
						    "and the link",
						    uroce_wc_status_str(wcs[i].status));
			}
			n--;
		}
		if (got == 0 && rte_rdtsc() > deadline)
			uroce_perf_run_fail(r, "the peer does not respond: check the addresses, the ports and the "
					       "link");
	}
}

/* Probe by ICMP: the loss of a message of a lossy transport would prove nothing. */
static void
probe_by_ping(struct perf_run *r)
{
	int ret = uroce_perf_ping(&r->end, UROCE_PERF_STALL_S * 1000);

	if (ret != 0)
		uroce_perf_run_fail(r,
				    "the peer does not respond: %s: check the addresses, the ports and the link",
				    strerror(ret));
}

void
uroce_perf_probe(struct perf_run *r)
{
	uint32_t n = 0;

	if (uroce_perf_is_lossy(&r->end.params)) {
		if (r->end.lane == 0) /* the peer's ports are the same on all lanes */
			probe_by_ping(r);
		return;
	}

	for (uint32_t i = 0; i < r->end.nb_qps && !r->failed; i++) {
		struct perf_qp *q = &r->end.qps[i];
		struct ibv_send_wr *bad, wr = {
			/* an empty WRITE: the key is not checked (R19) */
			.wr_id = uroce_perf_wr_id(q, 0),
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
		};
		int ret = ibv_post_send(q->ibv, &wr, &bad);

		if (ret != 0)
			uroce_perf_run_fail(r, "cannot post to queue pair %u: %s", q->index,
					    strerror(ret));
		else
			n++;
	}
	probe_wait(r, n);
}
