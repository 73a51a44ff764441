/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Starts and stops the lanes of a server, and takes their result. The main thread runs the last rounds of all lanes,
 * while no other thread runs any.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_launch.h>

#include "measure/servers.h"
#include "measure/verify.h"

#define SETTLE_S 5 /* for credits and replies that the peer has not acknowledged */

static void
servers_free(struct perf_servers *s)
{
	while (s->nb_alloc > 0)
		free(s->servers[--s->nb_alloc]);
}

static int
servers_alloc(struct perf_servers *s, unsigned int n)
{
	for (; s->nb_alloc < n; s->nb_alloc++) {
		struct perf_server *server = uroce_perf_lines_alloc(sizeof(*server));

		if (server == NULL) {
			servers_free(s);
			return -1;
		}
		server->stop = &s->stop;
		s->servers[s->nb_alloc] = server;
		s->lanes.ends[s->nb_alloc] = &server->end;
	}
	s->lanes.n = n;
	return 0;
}

int
uroce_perf_servers_create(struct perf_servers *s, unsigned int n, struct app_host *host,
			  const struct perf_params *params, const union ibv_gid *peer, const union ibv_gid *ours,
			  char *error, size_t room)
{
	memset(s, 0, sizeof(*s));
	if (servers_alloc(s, n) != 0) {
		snprintf(error, room, "out of memory for %u lanes", n);
		return -1;
	}
	if (uroce_perf_lanes_create(&s->lanes, host, params, true, peer, ours, error, room) != 0) {
		servers_free(s);
		return -1;
	}
	for (unsigned int i = 0; i < n; i++)
		uroce_perf_server_init(s->servers[i]);
	s->first = n;
	s->retransmits_before = uroce_app_host_retransmits(host);
	return 0;
}

void
uroce_perf_servers_destroy(struct perf_servers *s)
{
	uroce_perf_servers_stop(s);
	uroce_perf_lanes_destroy(&s->lanes);
	servers_free(s);
}

static struct app_host *
host_of(const struct perf_servers *s)
{
	return s->servers[0]->end.host;
}

void
uroce_perf_servers_start(struct perf_servers *s, unsigned int first)
{
	struct app_host *host = host_of(s);

	s->first = first;
	uroce_app_host_pause(host, s->lanes.n);
	for (unsigned int i = first; i < s->lanes.n; i++)
		RTE_VERIFY(rte_eal_remote_launch(uroce_perf_server_lcore, s->servers[i], host->lcores[i]) == 0);
}

void
uroce_perf_servers_stop(struct perf_servers *s)
{
	if (s->first >= s->lanes.n)
		return;
	/* pairs with the acquire in uroce_perf_server_lcore() */
	__atomic_store_n(&s->stop, true, __ATOMIC_RELEASE);
	for (; s->first < s->lanes.n; s->first++)
		rte_eal_wait_lcore(host_of(s)->lcores[s->first]);
	uroce_app_host_resume(host_of(s), s->lanes.n);
}

static void
counters_check(struct perf_server *s, const uint64_t *counts)
{
	for (uint32_t i = 0; i < s->end.nb_qps; i++) {
		const struct perf_qp *q = &s->end.qps[i];
		/* pairs with the responder's atomic in receive_atomic() */
		uint64_t value = __atomic_load_n((uint64_t *)q->in, __ATOMIC_ACQUIRE);

		if (value != uroce_perf_pattern(q->index, counts[q->index]))
			uroce_perf_server_note(s, "queue pair %u: the counter is wrong after %llu operations", q->index,
					       (unsigned long long)counts[q->index]);
	}
}

/* Has the peer acknowledged all credits of the lane? */
static bool
is_credited(const struct perf_server *s)
{
	for (uint32_t i = 0; i < s->end.nb_qps; i++) {
		if (s->end.qps[i].credit_busy)
			return false;
	}
	return true;
}

/* Have all messages arrived, and has the peer acknowledged all credits? */
static bool
is_settled(const struct perf_servers *s, uint64_t ops)
{
	uint64_t received = 0;

	for (unsigned int i = 0; i < s->lanes.n; i++) {
		if (s->servers[i]->passive)
			return true;
		if (!is_credited(s->servers[i]))
			return false;
		received += s->servers[i]->verdict.received;
	}
	return received >= ops;
}

static uint64_t
errors_of(const struct perf_servers *s)
{
	uint64_t errors = 0;

	for (unsigned int i = 0; i < s->lanes.n; i++)
		errors += s->servers[i]->verdict.errors;
	return errors;
}

static unsigned int
rounds_run(struct perf_servers *s)
{
	unsigned int work = 0;

	for (unsigned int i = 0; i < s->lanes.n; i++)
		work += uroce_perf_server_round(s->servers[i]);
	return work;
}

void
uroce_perf_servers_verdict(struct perf_servers *s)
{
	struct perf_verdict *sum = &s->verdict;

	memset(sum, 0, sizeof(*sum));
	for (unsigned int i = 0; i < s->lanes.n; i++) {
		const struct perf_verdict *v = &s->servers[i]->verdict;

		sum->received += v->received;
		sum->verified_bytes += v->verified_bytes;
		sum->errors += v->errors;
		if (sum->text[0] == '\0')
			memcpy(sum->text, v->text, sizeof(sum->text));
	}
	sum->retransmits = uroce_app_host_retransmits(host_of(s)) - s->retransmits_before;
}

/* A lossy transport may lose messages; UD may also duplicate them. */
static void
received_check(struct perf_servers *s, uint64_t ops)
{
	struct perf_server *first = s->servers[0];
	const struct perf_params *p = &first->end.params;
	const uint64_t received = s->verdict.received;

	if (first->passive || received == ops || (uroce_perf_is_lossy(p) && received < ops) || p->transport == PERF_UD)
		return;
	uroce_perf_server_note(first, "the server has received %llu messages, but the client has sent %llu",
			       (unsigned long long)received, (unsigned long long)ops);
}

void
uroce_perf_servers_finish(struct perf_servers *s, uint64_t ops, const uint64_t *counts,
			  unsigned int (*idle)(void *arg), void *arg)
{
	const struct perf_params *p = &s->servers[0]->end.params;
	const uint64_t hz = rte_get_tsc_hz();
	uint64_t now = rte_rdtsc();
	const uint64_t deadline = now + (uroce_perf_is_lossy(p) ? hz / 1000 * UROCE_PERF_LOST_MS : SETTLE_S * hz);
	unsigned int work = 0;

	/* also take messages that arrived while another process had the CPU until the deadline */
	while (!is_settled(s, ops) && errors_of(s) == 0 && (now < deadline || work > 0)) {
		now = rte_rdtsc();
		work = idle(arg);
		work += rounds_run(s);
	}
	uroce_perf_servers_verdict(s);
	received_check(s, ops);
	for (unsigned int i = 0; i < s->lanes.n && counts != NULL && p->verify; i++)
		counters_check(s->servers[i], counts);
	uroce_perf_servers_verdict(s);
}
