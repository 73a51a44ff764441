/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Runs both ends in one process, over two net_ring ports. The main thread is the client's and, between runs, the only
 * one; with two lcores, the server's rounds run on an lcore of their own.
 */

#include <stdlib.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "peer/local.h"

static const char *const default_addrs[2] = { "10.0.0.1/24", "10.0.0.2/24" };

static int
server_lcore(void *arg)
{
	struct perf_local *local = arg;
	struct uroce_worker *worker = local->host.workers[0];

	/* pairs with the release in stop_lcore() */
	while (!__atomic_load_n(&local->stop, __ATOMIC_ACQUIRE)) {
		uroce_worker_poll(worker);
		uroce_perf_server_round(&local->server);
		/* pairs with the acquire in ping.c, which waits for rounds */
		__atomic_store_n(&local->server.rounds, local->server.rounds + 1, __ATOMIC_RELEASE);
	}
	return 0;
}

static void
stop_lcore(struct perf_local *local)
{
	if (local->lcore == LCORE_ID_ANY)
		return;
	/* pairs with the acquire in server_lcore() */
	__atomic_store_n(&local->stop, true, __ATOMIC_RELEASE);
	rte_eal_wait_lcore(local->lcore);
}

/* Between runs, this thread polls both workers. */
static unsigned int
idle_both(void *arg)
{
	struct perf_local *local = arg;

	return uroce_worker_poll(local->host.workers[0]) + uroce_perf_run_idle(local->run);
}

static int
begin(struct perf_peer *peer, struct perf_end *end, char *error, size_t room)
{
	struct perf_local *local = (struct perf_local *)peer;
	struct perf_end *server = &local->server.end;

	if (uroce_perf_end_create(server, &local->host, &end->params, true, &end->qps[0].local.gid,
				  NULL, error, room) != 0)
		return -1;
	for (uint32_t i = 0; i < end->params.qps; i++) {
		server->qps[i].remote = end->qps[i].local;
		end->qps[i].remote = server->qps[i].local;
	}
	if (uroce_perf_end_connect(server, error, room) != 0) {
		uroce_perf_end_destroy(server);
		return -1;
	}
	uroce_perf_server_init(&local->server);
	local->run = container_of(end, struct perf_run, end);
	local->stop = false;
	if (local->lcore != LCORE_ID_ANY) {
		RTE_VERIFY(rte_eal_remote_launch(server_lcore, local, local->lcore) == 0);
		peer->rounds = &local->server.rounds;
	} else {
		peer->shared = &local->server;
	}
	return 0;
}

static int
alive(struct perf_peer *peer, char *error, size_t room)
{
	RTE_SET_USED(peer);
	RTE_SET_USED(error);
	RTE_SET_USED(room);
	return 0; /* the server lives in this process */
}

static int
finish(struct perf_peer *peer, const struct perf_run *run, struct perf_verdict *verdict,
       char *error, size_t room)
{
	struct perf_local *local = (struct perf_local *)peer;
	const struct perf_params *p = &run->end.params;
	uint64_t *counts = NULL;

	stop_lcore(local);
	if (!run->failed && uroce_perf_ops[p->op].atomic) {
		counts = calloc(p->qps, sizeof(*counts));
		for (uint32_t i = 0; counts != NULL && i < p->qps; i++)
			counts[i] = run->end.qps[i].done;
	}
	if (!run->failed)
		uroce_perf_server_finish(&local->server, run->posted, counts, idle_both, local);
	free(counts);
	*verdict = local->server.verdict;
	peer->shared = NULL;
	peer->rounds = NULL;
	uroce_perf_end_destroy(&local->server.end);
	RTE_SET_USED(error);
	RTE_SET_USED(room);
	return 0;
}

int
uroce_perf_local_open(struct perf_local *local, struct app_host *client,
		      const unsigned int *lcores, unsigned int nb_lcores, uint32_t qps,
		      const char *const *addrs)
{
	struct app_host *hosts[2] = { client, &local->host };
	uint16_t ports[2];

	memset(local, 0, sizeof(*local));
	local->lcore = nb_lcores > 1 ? lcores[1] : LCORE_ID_ANY;
	local->host.go_back_n = client->go_back_n;
	local->peer = (struct perf_peer){ .begin = begin, .alive = alive, .finish = finish };
	if (uroce_app_ring_ports(ports, 1) != 0 || uroce_app_host_workers(client, 1) != 0)
		return -1;
	if (local->lcore == LCORE_ID_ANY) {
		local->host.workers[0] = client->workers[0];
		local->host.nb_workers = 1;
		local->host.borrowed = true;
	} else if (uroce_app_host_workers(&local->host, 1) != 0) {
		return -1;
	}
	for (unsigned int i = 0; i < 2; i++) {
		const char *addr = addrs == NULL ? default_addrs[i] : addrs[i];

		/* no loopback: frames go through the rings although both devices are in one process */
		if (uroce_app_host_open(hosts[i], ports[i], qps, true) != 0 ||
		    uroce_app_host_address(hosts[i], 0, addr) != 0)
			return -1;
	}
	local->peer.mtu = local->host.devs[0].mtu;
	local->peer.rd_atomic = (uint32_t)local->host.devs[0].attr.max_qp_rd_atom;
	return 0;
}

void
uroce_perf_local_close(struct perf_local *local, struct app_host *client)
{
	uroce_app_host_close(&local->host);
	uroce_app_host_close(client);
}
