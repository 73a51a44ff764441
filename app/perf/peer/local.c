/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Runs both ends in one process, over two net_ring ports. The main thread is the client's first lane and, between runs,
 * the only one; with twice as many lcores as workers, the server's rounds run on lcores of their own.
 */

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "peer/local.h"

static const char *const default_addrs[2] = { "10.0.0.1/24", "10.0.0.2/24" };

/* Between runs, this thread polls all workers. */
static unsigned int
idle_all(void *arg)
{
	const struct perf_local *local = arg;
	unsigned int work = 0;

	for (unsigned int i = 0; i < local->host.nb_workers; i++)
		work += uroce_worker_poll(local->host.workers[i]);
	for (unsigned int i = 0; i < local->client->nb_workers && local->own_lcores; i++)
		work += uroce_worker_poll(local->client->workers[i]);
	return work;
}

/* Lane i of the client and lane i of the server exchange their frames over queue i. */
static int
begin(struct perf_peer *peer, struct perf_client *c, char *error, size_t room)
{
	struct perf_local *local = (struct perf_local *)peer;
	struct perf_servers *s = &local->servers;
	const struct perf_end *end = c->lanes.ends[0];

	if (uroce_perf_servers_create(s, c->lanes.n, &local->host, &end->params, &end->qps[0].local.gid, NULL, error,
				      room) != 0)
		return -1;
	for (uint32_t i = 0; i < end->params.qps; i++) {
		struct perf_qp *ours = uroce_perf_lanes_qp(&c->lanes, i), *theirs = uroce_perf_lanes_qp(&s->lanes, i);

		theirs->remote = ours->local;
		ours->remote = theirs->local;
	}
	if (uroce_perf_lanes_connect(&s->lanes, error, room) != 0) {
		uroce_perf_servers_destroy(s);
		return -1;
	}
	for (unsigned int i = 0; i < c->lanes.n; i++) {
		c->runs[i]->shared = local->own_lcores ? NULL : s->servers[i];
		c->runs[i]->rounds = local->own_lcores ? &s->servers[i]->rounds : NULL;
	}
	uroce_perf_servers_start(s, local->own_lcores ? 0 : c->lanes.n);
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
finish(struct perf_peer *peer, const struct perf_client *c, struct perf_verdict *verdict, char *error, size_t room)
{
	struct perf_local *local = (struct perf_local *)peer;
	const struct perf_run *run = c->runs[0];
	const struct perf_params *p = &run->end.params;
	uint64_t *counts = NULL;

	uroce_perf_servers_stop(&local->servers);
	if (!run->failed && uroce_perf_ops[p->op].atomic) {
		counts = calloc(p->qps, sizeof(*counts));
		for (uint32_t i = 0; counts != NULL && i < p->qps; i++)
			counts[i] = uroce_perf_lanes_qp(&c->lanes, i)->done;
	}
	if (!run->failed)
		uroce_perf_servers_finish(&local->servers, run->posted, counts, idle_all, local);
	else
		uroce_perf_servers_verdict(&local->servers);
	free(counts);
	*verdict = local->servers.verdict;
	uroce_perf_servers_destroy(&local->servers);
	RTE_SET_USED(error);
	RTE_SET_USED(room);
	return 0;
}

/* The server's workers are the client's, if both ends share lcores. */
static int
workers_create(struct perf_local *local, unsigned int n, const unsigned int *lcores)
{
	struct app_host *client = local->client, *server = &local->host;

	if (uroce_app_host_workers(client, n) != 0)
		return -1;
	memcpy(client->lcores, lcores, n * sizeof(lcores[0]));
	if (local->own_lcores) {
		memcpy(server->lcores, lcores + n, n * sizeof(lcores[0]));
		return uroce_app_host_workers(server, n);
	}
	memcpy(server->workers, client->workers, sizeof(server->workers));
	server->nb_workers = n;
	server->borrowed = true;
	return 0;
}

int
uroce_perf_local_open(struct perf_local *local, struct app_host *client, unsigned int workers,
		      const unsigned int *lcores, unsigned int nb_lcores, uint32_t qps,
		      const char *const *addrs)
{
	struct app_host *hosts[2] = { client, &local->host };
	uint16_t ports[2];

	memset(local, 0, sizeof(*local));
	local->client = client;
	local->own_lcores = nb_lcores >= 2 * workers;
	local->host.go_back_n = client->go_back_n;
	local->host.limits = client->limits;
	local->peer = (struct perf_peer){ .begin = begin, .alive = alive, .finish = finish };
	if (uroce_app_ring_ports(ports, workers) != 0 || workers_create(local, workers, lcores) != 0)
		return -1;
	for (unsigned int i = 0; i < 2; i++) {
		const char *addr = addrs == NULL ? default_addrs[i] : addrs[i];

		/* no loopback: frames go through the rings although both devices are in one process */
		if (uroce_app_host_open(hosts[i], ports[i], qps, true) != 0 ||
		    uroce_app_host_address(hosts[i], 0, addr) != 0)
			return -1;
	}
	local->peer.host = &local->host;
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
