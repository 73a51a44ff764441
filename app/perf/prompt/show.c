/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The command show. Hosts live as long as the session, and endpoints are not destroyed while they are shown. The
 * prompt's thread; the calls of uroce.h and ethdev that it makes are safe on any thread.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_ether.h>

#include "address.h"
#include "measure/endpoints.h"
#include "prompt/show.h"

/* The state of one command show while it visits the endpoints. */
struct show {
	struct perf_session *session;
	FILE *out;
	bool all;
	bool one;
	uint64_t number;
	unsigned int found;
	char *error;
	size_t room;
};

/* The counters at the last `clear counters`. */
static struct uroce_counter cleared[PERF_MAX_HOSTS][UROCE_APP_MAX_PORTS][UROCE_PERF_COUNTERS];
static unsigned int nb_cleared[PERF_MAX_HOSTS][UROCE_APP_MAX_PORTS];

/* The workers' loads when they were last shown. */
static struct uroce_worker_load loads[PERF_MAX_HOSTS][UROCE_MAX_WORKERS];

static const char *
host_name(const struct perf_session *s, unsigned int i)
{
	if (s->nb_hosts == 1)
		return s->options.role == PERF_SERVER ? "server" : "client";
	return i == 0 ? "client" : "server";
}

static bool
is_wanted(const struct show *v, uint64_t number)
{
	return !v->one || v->number == number;
}

/* @return 0; -EINVAL: nothing has the requested number */
static int
missing(struct show *v, const char *what)
{
	if (v->found > 0)
		return 0;
	snprintf(v->error, v->room, "there is no %s%" PRIu64, what, v->number);
	return -EINVAL;
}

/* ---- ports */

static void
addresses_show(FILE *out, const struct app_device *dev)
{
	char text[INET6_ADDRSTRLEN];

	for (unsigned int i = 0; i < dev->nb_addrs; i++) {
		const union ibv_gid *gid = &dev->addrs[i].gid;
		const bool v4 = uroce_app_gid_is_v4(gid);

		inet_ntop(v4 ? AF_INET : AF_INET6, gid->raw + (v4 ? 12 : 0), text, sizeof(text));
		fprintf(out, "%s%s", i == 0 ? "" : ", ", text);
	}
	fprintf(out, "\n");
}

static void
port_show(struct show *v, const char *host, const struct app_device *dev)
{
	char name[RTE_ETH_NAME_MAX_LEN] = "?", mac[RTE_ETHER_ADDR_FMT_SIZE];
	struct ibv_port_attr attr = { 0 };
	struct rte_ether_addr address = { 0 };
	struct rte_eth_stats stats = { 0 };
	FILE *out = v->out;

	rte_eth_dev_get_name_by_port(dev->port_id, name);
	rte_eth_macaddr_get(dev->port_id, &address);
	rte_ether_format_addr(mac, sizeof(mac), &address);
	rte_eth_stats_get(dev->port_id, &stats);
	uroce_query_port(dev->ctx, 1, &attr);
	fprintf(out, "port %u, %s of the %s: %s, %s, MAC %s, path MTU %u\n", dev->port_id,
		uroce_get_device_name(dev->ctx->device), host, name, uroce_port_state_str(attr.state), mac,
		dev->mtu);
	fprintf(out, "  addresses   ");
	addresses_show(out, dev);
	fprintf(out, "  received    %" PRIu64 " packets, %" PRIu64 " bytes, %" PRIu64 " missed, %" PRIu64 " errors\n",
		stats.ipackets, stats.ibytes, stats.imissed, stats.ierrors);
	fprintf(out, "  sent        %" PRIu64 " packets, %" PRIu64 " bytes, %" PRIu64 " errors\n", stats.opackets,
		stats.obytes, stats.oerrors);
}

static int
ports_show(struct show *v)
{
	struct perf_session *s = v->session;

	for (unsigned int h = 0; h < s->nb_hosts; h++) {
		for (unsigned int d = 0; d < s->hosts[h]->nb_devs; d++) {
			const struct app_device *dev = &s->hosts[h]->devs[d];

			if (!is_wanted(v, dev->port_id))
				continue;
			port_show(v, host_name(s, h), dev);
			v->found++;
		}
	}
	return missing(v, "port ");
}

/* ---- objects of a test */

static const char *
state_name(enum ibv_qp_state state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return (unsigned int)state < RTE_DIM(names) ? names[state] : "?";
}

static void
qp_detail(FILE *out, const struct ibv_qp_attr *a)
{
	const union ibv_gid *gid = &a->ah_attr.grh.dgid;
	const bool v4 = uroce_app_gid_is_v4(gid);
	char peer[INET6_ADDRSTRLEN];

	inet_ntop(v4 ? AF_INET : AF_INET6, gid->raw + (v4 ? 12 : 0), peer, sizeof(peer));
	fprintf(out, "  peer %s, hop limit %u, traffic class %u, path MTU %u\n", peer, a->ah_attr.grh.hop_limit,
		a->ah_attr.grh.traffic_class, 128u << a->path_mtu);
	fprintf(out, "  timeout %u, retries %u, RNR retries %u, RNR timer %u\n", a->timeout, a->retry_cnt,
		a->rnr_retry, a->min_rnr_timer);
	fprintf(out, "  READs and atomics: %u out, %u in; send queue %u, receive queue %u, inline %u\n",
		a->max_rd_atomic, a->max_dest_rd_atomic, a->cap.max_send_wr, a->cap.max_recv_wr,
		a->cap.max_inline_data);
}

static void
qp_show(struct show *v, struct perf_end *end, struct perf_qp *q)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	if (uroce_query_qp(q->ibv, &a, IBV_QP_STATE, &init) != 0)
		return;
	fprintf(v->out, "%-6s %5u 0x%06x %-5s 0x%06x 0x%06x 0x%06x %12" PRIu64 " %12" PRIu64 " %12" PRIu64 "\n",
		end->server ? "server" : "client", q->index, q->ibv->qp_num, state_name(a.qp_state), a.dest_qp_num,
		a.sq_psn, a.rq_psn, __atomic_load_n(&q->posted, __ATOMIC_RELAXED),
		__atomic_load_n(&q->done, __ATOMIC_RELAXED), __atomic_load_n(&q->received, __ATOMIC_RELAXED));
	if (v->one)
		qp_detail(v->out, &a);
}

static void
qps_of(struct perf_end *end, void *arg)
{
	struct show *v = arg;
	uint32_t shown = 0;

	for (uint32_t i = 0; i < end->nb_qps; i++) {
		if (!is_wanted(v, end->qps[i].index))
			continue;
		v->found++;
		if (v->all || v->one || shown++ < UROCE_PERF_SHOWN_QPS)
			qp_show(v, end, &end->qps[i]);
	}
	if (!v->all && shown > UROCE_PERF_SHOWN_QPS)
		fprintf(v->out, "%-6s and %u more: show qp all\n", end->server ? "server" : "client",
			shown - UROCE_PERF_SHOWN_QPS);
}

static void
mrs_of(struct perf_end *end, void *arg)
{
	struct show *v = arg;

	for (unsigned int d = 0; d < end->host->nb_devs; d++) {
		const struct ibv_mr *mr = end->mrs[d];

		fprintf(v->out, "%-6s %-8s %18p %12zu 0x%08x 0x%08x %s\n", end->server ? "server" : "client",
			uroce_get_device_name(mr->context->device), mr->addr, mr->length, mr->lkey, mr->rkey,
			end->buffer_mapped ? "copied" : "by reference");
		v->found++;
	}
}

static void
cqs_of(struct perf_end *end, void *arg)
{
	struct show *v = arg;

	for (unsigned int d = 0; d < end->host->nb_devs; d++) {
		const struct ibv_cq *cq = end->cqs[d];

		fprintf(v->out, "%-6s %-8s %9d %12u\n", end->server ? "server" : "client",
			uroce_get_device_name(cq->context->device), cq->cqe,
			(end->nb_qps + end->host->nb_devs - 1 - d) / end->host->nb_devs);
		v->found++;
	}
}

/* Endpoints exist while a test runs. */
static int
ends_show(struct show *v, void (*fn)(struct perf_end *end, void *arg))
{
	if (uroce_perf_endpoints_visit(fn, v) == 0) {
		fprintf(v->out, "none: they exist only while a test runs\n");
		return 0;
	}
	if (v->found == 0) {
		snprintf(v->error, v->room, "there is no number %" PRIu64 ": the first is 0", v->number);
		return -EINVAL;
	}
	return 0;
}

static int
qps_show(struct show *v)
{
	fprintf(v->out, "%-6s %5s %8s %-5s %8s %8s %8s %12s %12s %12s\n", "end", "index", "QPN", "state", "to QPN",
		"sq PSN", "rq PSN", "posted", "done", "received");
	return ends_show(v, qps_of);
}

static int
mrs_show(struct show *v)
{
	fprintf(v->out, "%-6s %-8s %18s %12s %10s %10s %s\n", "end", "device", "address", "bytes", "lkey", "rkey",
		"payloads leave");
	return ends_show(v, mrs_of);
}

static int
cqs_show(struct show *v)
{
	fprintf(v->out, "%-6s %-8s %9s %12s\n", "end", "device", "entries", "queue pairs");
	return ends_show(v, cqs_of);
}

/* ---- counters */

static uint64_t
since_cleared(unsigned int host, unsigned int dev, const struct uroce_counter *c)
{
	for (unsigned int i = 0; i < nb_cleared[host][dev]; i++) {
		if (strcmp(cleared[host][dev][i].name, c->name) == 0)
			return c->value - cleared[host][dev][i].value;
	}
	return c->value;
}

static unsigned int
counters_read(const struct app_device *dev, struct uroce_counter *counters)
{
	unsigned int n = uroce_query_counters(dev->ctx, counters, UROCE_PERF_COUNTERS);

	return RTE_MIN(n, (unsigned int)UROCE_PERF_COUNTERS);
}

static int
counters_show(struct show *v)
{
	struct perf_session *s = v->session;
	struct uroce_counter counters[UROCE_PERF_COUNTERS];

	for (unsigned int h = 0; h < s->nb_hosts; h++) {
		for (unsigned int d = 0; d < s->hosts[h]->nb_devs; d++) {
			const struct app_device *dev = &s->hosts[h]->devs[d];
			unsigned int n;

			if (!is_wanted(v, dev->port_id))
				continue;
			v->found++;
			n = counters_read(dev, counters);
			fprintf(v->out, "%s of the %s\n", uroce_get_device_name(dev->ctx->device), host_name(s, h));
			for (unsigned int i = 0; i < n; i++) {
				uint64_t value = since_cleared(h, d, &counters[i]);

				if (value != 0 || v->all)
					fprintf(v->out, "  %-32s %20" PRIu64 "\n", counters[i].name, value);
			}
		}
	}
	return missing(v, "port ");
}

void
uroce_perf_show_clear(struct perf_session *s)
{
	for (unsigned int h = 0; h < s->nb_hosts; h++) {
		for (unsigned int d = 0; d < s->hosts[h]->nb_devs; d++)
			nb_cleared[h][d] = counters_read(&s->hosts[h]->devs[d], cleared[h][d]);
	}
}

/* ---- the session */

static int
config_show(struct show *v)
{
	const struct perf_options *o = &v->session->options;
	FILE *out = v->out;

	if (v->session->bench == NULL) {
		fprintf(out, "the client selects the tests\n");
		return 0;
	}
	fprintf(out, "op %s\ntransport %s\nmode %s\n", uroce_perf_ops[o->op].name,
		uroce_perf_transports[o->transport].name, uroce_perf_modes[o->mode]);
	if (o->all_sizes)
		fprintf(out, "size all\n");
	else
		fprintf(out, "size %u\n", o->size);
	fprintf(out, "mtu %u\nqps %u\ndepth %u\n", o->mtu, o->qps, o->depth);
	if (o->buffers != 0)
		fprintf(out, "buffers %u\n", o->buffers);
	if (o->iters != 0)
		fprintf(out, "iters %" PRIu64 "\n", o->iters);
	else
		fprintf(out, "time %g\n", o->time_s);
	fprintf(out, "verify %s\n", o->verify ? "on" : "off");
	if (o->fault >= 0)
		fprintf(out, "fault %" PRId64 "\n", o->fault);
	fprintf(out, "impair %s\ncongestion %s\n", o->impair != NULL ? o->impair : "off",
		o->no_congestion ? "off" : "on");
	return 0;
}

/* Show the worker's load since it was last shown. */
static void
worker_show(struct show *v, unsigned int h, unsigned int w)
{
	const struct app_host *host = v->session->hosts[h];
	struct uroce_worker_load load = { .size = sizeof(load) }, *before = &loads[h][w];
	double total_ns;

	uroce_query_worker(host->workers[w], &load);
	total_ns = (double)(load.total_ns - before->total_ns);
	fprintf(v->out, "worker %u of the %s: queue %u of %u port%s", w, host_name(v->session, h), w, host->nb_devs,
		host->nb_devs == 1 ? "" : "s");
	if (w == 0 && host->borrowed)
		fprintf(v->out, ", the client's worker too\n");
	else
		fprintf(v->out, ", busy %.1f %% of %.3f s, with %" PRIu64 " of %" PRIu64 " rounds\n",
			total_ns > 0 ? RTE_MIN((double)(load.busy_ns - before->busy_ns) * 100 / total_ns, 100.0) : 0,
			total_ns / 1e9,
			load.busy_rounds - before->busy_rounds, load.rounds - before->rounds);
	*before = load;
}

static int
workers_show(struct show *v)
{
	struct perf_session *s = v->session;

	for (unsigned int h = 0; h < s->nb_hosts; h++) {
		for (unsigned int w = 0; w < s->hosts[h]->nb_workers; w++) {
			if (!is_wanted(v, w))
				continue;
			v->found++;
			worker_show(v, h, w);
		}
	}
	return missing(v, "worker ");
}

static int
results_show(struct show *v)
{
	const struct perf_session *s = v->session;

	if (s->bench == NULL)
		snprintf(v->error, v->room, "the client has the results: use its prompt");
	else if (uroce_perf_session_state(v->session) == PERF_SESSION_RUNNING)
		snprintf(v->error, v->room, "a test is running: use wait first");
	else if (s->bench->nb_rows == 0)
		snprintf(v->error, v->room, "no test has run yet: use start");
	else {
		uroce_perf_bench_report(v->out, s->bench);
		return 0;
	}
	return -EINVAL;
}

static const struct {
	const char *what;
	int (*show)(struct show *v);
} shows[] = {
	{ "port", ports_show },
	{ "qp", qps_show },
	{ "mr", mrs_show },
	{ "cq", cqs_show },
	{ "counters", counters_show },
	{ "config", config_show },
	{ "worker", workers_show },
	{ "results", results_show },
};

int
uroce_perf_show(struct perf_session *s, FILE *out, const char *what, const char *which, char *error,
		size_t room)
{
	struct show v = { .session = s, .out = out, .error = error, .room = room };

	v.all = which != NULL && strcmp(which, "all") == 0;
	v.one = which != NULL && !v.all;
	if (v.one && uroce_app_number_parse(which, 0, UINT32_MAX, &v.number) != 0) {
		snprintf(error, room, "show %s %.64s: use a number, or all", what, which);
		return -EINVAL;
	}
	for (unsigned int i = 0; i < RTE_DIM(shows); i++) {
		if (strcmp(what, shows[i].what) == 0)
			return shows[i].show(&v);
	}
	snprintf(error, room, "show %.64s: see help show", what);
	return -EINVAL;
}
