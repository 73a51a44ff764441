/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce-perf: arguments, EAL, which end or ends this process is, and the exit status: 0; 1 when
 * something failed or a byte was wrong; 2 for a wrong argument.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include "bench.h"
#include "eal_start.h"
#include "local.h"
#include "remote.h"
#include "service.h"
#include "signals.h"

enum {
	STATUS_OK,
	STATUS_FAILED,
	STATUS_USAGE
};

static int
usage_error(const char *text)
{
	fprintf(stderr, "uroce-perf: %s\n", text);
	return STATUS_USAGE;
}

/* A worker has a queue of its own on every port: as many lcores as all ports have queues for. */
static unsigned int
lcores_used(const struct perf_options *o, unsigned int nb_lcores)
{
	struct rte_eth_dev_info info;
	unsigned int n = nb_lcores;
	uint16_t port;

	if (o->mode == PERF_LAT)
		return 1; /* one message at a time keeps one busy */
	RTE_ETH_FOREACH_DEV(port) {
		if (rte_eth_dev_info_get(port, &info) == 0)
			n = RTE_MIN(n,
				    (unsigned int)RTE_MIN(info.max_rx_queues, info.max_tx_queues));
	}
	n = RTE_MAX(n, 1u);
	if (n < nb_lcores)
		fprintf(stderr, "uroce-perf: %u of %u lcores: the port has no queue for more\n", n,
			nb_lcores);
	return n;
}

/* The network, and what is done about it. */
static int
spoil(struct app_host *host, const struct perf_options *o)
{
	if (o->no_congestion && uroce_app_host_uncontrol(host) != 0)
		return -1;
	return uroce_app_host_impair(host, o->impair);
}

/* Every port that EAL has, with a worker for each lcore; addresses in turn. */
static int
host_open(struct app_host *host, const struct perf_options *o, const unsigned int *lcores,
	  unsigned int nb_lcores)
{
	uint16_t port;

	host->go_back_n = o->go_back_n;
	if (uroce_app_host_workers(host, lcores_used(o, nb_lcores)) != 0)
		return -1;
	RTE_ETH_FOREACH_DEV(port) {
		if (host->nb_devs < RTE_MIN(o->nb_addrs, (unsigned int)UROCE_APP_MAX_PORTS) &&
		    uroce_app_host_open(host, port, o->qps, false) != 0)
			return -1;
	}
	for (unsigned int i = 0; i < o->nb_addrs; i++) {
		if (uroce_app_host_address(host, i % host->nb_devs, o->addrs[i]) != 0)
			return -1;
	}
	if (spoil(host, o) != 0)
		return -1;
	return uroce_app_host_launch(host, lcores);
}

/* Do ports, role and addresses fit each other? */
static const char *
check_ports(const struct perf_options *o)
{
	const unsigned int ports = rte_eth_dev_count_avail();

	if (o->role == PERF_BOTH) {
		if (ports == 0 && uroce_app_eal_device_given())
			return uroce_app_eal_no_port();
		if (ports > 0)
			return "there is a DPDK port: say --server or --client ADDR, or --no-pci and no "
			       "--vdev to run both ends in this process";
		if (o->nb_addrs != 0 && o->nb_addrs != 2)
			return "both ends are in this process: give --addr twice, for the client and the "
			       "server, or leave it out";
		return NULL;
	}
	if (ports == 0)
		return uroce_app_eal_no_port();
	if (o->nb_addrs == 0)
		return "the port needs an address: give --addr IP/PREFIX, as --addr 10.0.0.1/24";
	return NULL;
}

/* Of what there was any. */
static void
congestion_write(FILE *out, const struct app_host *host)
{
	static const char *const names[] = { "np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled",
					     "rp_cnp_ignored" };

	for (unsigned int i = 0; i < RTE_DIM(names); i++) {
		uint64_t value = uroce_app_host_counter(host, names[i]);

		if (value != 0)
			fprintf(out, "%s: %" PRIu64 "\n", names[i], value);
	}
}

static int
results_write(const struct perf_bench *b, FILE *json)
{
	/* standard output is either for people or for programs */
	FILE *people = json == stdout ? stderr : stdout;

	uroce_perf_report_table(people, b->rows, b->nb_rows);
	congestion_write(people, b->host);
	if (json == NULL || uroce_perf_report_json(json, b->rows, b->nb_rows) == 0)
		return 0;
	fprintf(stderr, "uroce-perf: --json %s: it could not be written\n", b->options->json);
	return -1;
}

static int
run_client(const struct perf_options *o, FILE *json, const unsigned int *lcores,
	   unsigned int nb_lcores)
{
	struct perf_bench *b = calloc(1, sizeof(*b));
	struct app_host *host = calloc(1, sizeof(*host));
	struct perf_remote *remote = calloc(1, sizeof(*remote));
	int ret = -1;

	RTE_VERIFY(b != NULL && host != NULL && remote != NULL);
	*b = (struct perf_bench){ .options = o, .host = host, .peer = &remote->peer };
	if (host_open(host, o, lcores, nb_lcores) == 0 &&
	    uroce_perf_remote_open(remote, host, o) == 0) {
		b->lcores = host->nb_workers;
		b->place.cores = host->nb_workers;
		ret = uroce_perf_bench_run(b);
		if (ret == 0)
			uroce_perf_conn_send(&remote->conn, "bye");
	}
	ret |= results_write(b, json);
	if (remote->conn.cm != NULL) { /* it needs the port; the server gives us time for ours */
		uroce_perf_remote_close(remote);
		uroce_app_host_close(host);
	} else { /* the server waits with its own port */
		uroce_app_host_close(host);
		uroce_perf_remote_close(remote);
	}
	free(remote);
	free(host);
	free(b);
	return ret;
}

static int
run_both(const struct perf_options *o, FILE *json, const unsigned int *lcores,
	 unsigned int nb_lcores)
{
	struct perf_bench *b = calloc(1, sizeof(*b));
	struct app_host *client = calloc(1, sizeof(*client));
	struct perf_local *local = calloc(1, sizeof(*local));
	struct perf_options options = *o;
	int ret = -1;

	RTE_VERIFY(b != NULL && client != NULL && local != NULL);
	*b = (struct perf_bench){
		.options = &options,
		.host = client,
		.peer = &local->peer,
		.lcores = RTE_MIN(nb_lcores, 2u),
		.place = { true, nb_lcores > 1 ? lcores[1] : (unsigned int)LCORE_ID_ANY, 1 },
	};
	client->go_back_n = o->go_back_n;
	if (uroce_perf_local_open(local, client, lcores, nb_lcores, o->qps,
				  o->nb_addrs == 2 ? o->addrs : NULL) == 0) {
		options.peer = local->host.devs[0].addrs[0].gid;
		if (spoil(client, o) == 0 && spoil(&local->host, o) == 0)
			ret = uroce_perf_bench_run(b);
	}
	ret |= results_write(b, json);
	uroce_perf_local_close(local, client);
	free(local);
	free(client);
	free(b);
	return ret;
}

static int
run_server(const struct perf_options *o, const unsigned int *lcores, unsigned int nb_lcores)
{
	struct app_host *host = calloc(1, sizeof(*host));
	int ret = -1;

	RTE_VERIFY(host != NULL);
	if (host_open(host, o, lcores, nb_lcores) == 0)
		ret = uroce_perf_serve(host, o);
	uroce_app_host_close(host);
	free(host);
	return ret;
}

static int
run(const struct perf_options *o, FILE *json)
{
	unsigned int lcores[UROCE_MAX_WORKERS];
	unsigned int nb_lcores = uroce_app_lcores(lcores);
	const char *wrong = check_ports(o);
	int ret;

	if (wrong != NULL)
		return usage_error(wrong);
	if (o->role == PERF_SERVER)
		ret = run_server(o, lcores, nb_lcores);
	else if (o->role == PERF_CLIENT)
		ret = run_client(o, json, lcores, nb_lcores);
	else
		ret = run_both(o, json, lcores, nb_lcores);
	return ret == 0 ? STATUS_OK : STATUS_FAILED;
}

static int
json_open(const struct perf_options *o, FILE **json)
{
	*json = NULL;
	if (o->json == NULL)
		return 0;
	*json = strcmp(o->json, "-") == 0 ? stdout : fopen(o->json, "we");
	if (*json != NULL)
		return 0;
	fprintf(stderr, "uroce-perf: --json %s: %s\n", o->json, strerror(errno));
	return -1;
}

int
main(int argc, char **argv)
{
	const int nb_eal = uroce_app_eal_args(argc, argv);
	struct perf_options options;
	char error[512];
	FILE *json;
	int status;

	for (int i = 1; i < nb_eal; i++) {
		if (strcmp(argv[i], "--version") == 0) { /* EAL has none */
			printf("uroce-perf " UROCE_VERSION "\n");
			return STATUS_OK;
		}
		if (uroce_perf_options_has(argv[i])) {
			snprintf(error, sizeof(error),
				 "%s is not EAL's: put -- before it, as in "
				 "uroce-perf --no-huge -- %s",
				 argv[i], argv[i]);
			return usage_error(error);
		}
	}
	if (uroce_perf_options_parse(&options, nb_eal < argc ? argc - nb_eal : 1,
				     argv + RTE_MIN(nb_eal, argc - 1), error, sizeof(error)) != 0)
		return usage_error(error);
	if (options.help || options.version) {
		printf("%s", options.help ? uroce_app_usage : "uroce-perf " UROCE_VERSION "\n");
		return STATUS_OK;
	}
	if (options.size_ignored)
		fprintf(stderr, "uroce-perf: atomics are 8 bytes: --size is left aside\n");
	if (json_open(&options, &json) != 0)
		return STATUS_USAGE;
	uroce_app_signals_init();
	if (uroce_app_eal_init(nb_eal, argv) != 0)
		return STATUS_FAILED;
	status = run(&options, json);
	if (json != NULL && json != stdout && fclose(json) != 0)
		status = STATUS_FAILED;
	uroce_app_eal_fini();
	return status;
}
