/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The run: one loop polls the workers, the event channel and the connections. Main thread.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "program.h"
#include "rping.h"
#include "signals.h"

#define IDLE_ROUNDS 200 /* empty rounds before a sleep */
#define IDLE_US     20

static int
say(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", uroce_app_name, what, strerror(errno));
	return -1;
}

static int
server_start(struct rping *r)
{
	char text[INET6_ADDRSTRLEN] = "";
	const struct sockaddr_storage *a = &r->server;
	const void *host = a->ss_family == AF_INET
				   ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
				   : (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr;

	if (uroce_rdma_create_id(r->channel, &r->listener, NULL, RDMA_PS_TCP) != 0)
		return say("cannot create a CM ID");
	inet_ntop(a->ss_family, host, text, sizeof(text));
	if (uroce_rdma_bind_addr(r->listener, (struct sockaddr *)&r->server) != 0) {
		fprintf(stderr,
			"%s: cannot bind to %s, port %u: %s: -a must be one of --addr, and the port free\n",
			uroce_app_name, text, r->options->port, strerror(errno));
		return -1;
	}
	if (uroce_rdma_listen(r->listener, UROCE_RPING_BACKLOG) != 0)
		return say("cannot listen");
	printf("waiting for a client at %s, port %u\n", text, r->options->port);
	fflush(stdout);
	return 0;
}

static int
client_start(struct rping *r)
{
	struct sockaddr *source = r->source.ss_family != 0 ? (struct sockaddr *)&r->source : NULL;
	struct rping_conn *conn;
	struct rdma_cm_id *id;

	if (uroce_rdma_create_id(r->channel, &id, NULL, RDMA_PS_TCP) != 0)
		return say("cannot create a CM ID");
	conn = uroce_rping_conn_create(r->options, id, false);
	if (conn == NULL) {
		(void)uroce_rdma_destroy_id(id);
		return say("cannot create a connection");
	}
	TAILQ_INSERT_TAIL(&r->conns, conn, link);
	if (uroce_rdma_resolve_addr(id, source, (struct sockaddr *)&r->server,
				    UROCE_RPING_RESOLVE_MS) == 0)
		return 0;
	return say(source != NULL ? "cannot resolve the address; -I must be one of --addr"
				  : "cannot resolve the address");
}

static void
reap(struct rping *r, struct rping_conn *conn)
{
	TAILQ_REMOVE(&r->conns, conn, link);
	if (conn->server) {
		r->server_over = true;
		r->failed |= conn->failed && !r->options->persistent;
	} else {
		r->client_over = true;
		r->failed |= conn->failed;
		if (!conn->failed)
			printf("%u pings%s\n", conn->round,
			       r->options->validate ? ", every byte right" : "");
	}
	uroce_rping_conn_destroy(conn);
}

/* Poll worker 0 of each host; other workers have lcores of their own. */
static unsigned int
poll_workers(struct rping *r)
{
	unsigned int work = 0;

	for (unsigned int i = 0; i < 2; i++)
		if (r->hosts[i].nb_workers > 0 && !r->hosts[i].borrowed)
			work += uroce_worker_poll(r->hosts[i].workers[0]);
	return work;
}

void
uroce_rping_round(struct rping *r)
{
	unsigned int work = poll_workers(r) + uroce_rping_events(r);
	struct rping_conn *conn, *next;

	for (conn = TAILQ_FIRST(&r->conns); conn != NULL; conn = next) {
		next = TAILQ_NEXT(conn, link);
		work += uroce_rping_poll(conn);
		if (conn->phase == RPING_LEAVING && rte_rdtsc() > conn->leave_tsc)
			conn->phase = RPING_OVER;
		if (conn->phase == RPING_OVER)
			reap(r, conn);
	}
	r->idle = work > 0 ? 0 : r->idle + 1;
	if (r->idle > IDLE_ROUNDS)
		usleep(IDLE_US);
}

static bool
over(const struct rping *r)
{
	switch (r->options->role) {
	case RPING_CLIENT: return r->client_over;
	case RPING_SERVER: return r->server_over && !r->options->persistent;
	default: return r->client_over && (r->server_over || !r->server_busy);
	}
}

/* Disconnect all, and poll for a while longer, so that the last replies to the peers are sent. */
static void
finish(struct rping *r)
{
	uint64_t until;
	struct rping_conn *conn;

	TAILQ_FOREACH(conn, &r->conns, link)
		uroce_rping_conn_leave(conn);
	while (!TAILQ_EMPTY(&r->conns))
		uroce_rping_round(r);
	until = rte_rdtsc() + UROCE_RPING_LINGER_MS * rte_get_tsc_hz() / 1000;
	while (rte_rdtsc() < until)
		uroce_rping_round(r);
}

int
uroce_rping_run(struct rping *r)
{
	int ret = 0;

	TAILQ_INIT(&r->conns);
	r->channel = uroce_rdma_create_event_channel();
	if (r->channel == NULL)
		return say("cannot create an event channel");
	if (fcntl(r->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		ret = say("cannot make the event channel non-blocking");
	if (ret == 0 && r->options->role != RPING_CLIENT)
		ret = server_start(r);
	if (ret == 0 && r->options->role != RPING_SERVER)
		ret = client_start(r);
	while (ret == 0 && !over(r) && !uroce_app_stopped())
		uroce_rping_round(r);
	finish(r);
	if (r->listener != NULL)
		(void)uroce_rdma_destroy_id(r->listener);
	uroce_rdma_destroy_event_channel(r->channel);
	return ret != 0 || r->failed ? -1 : 0;
}
