/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce-perf: arguments, EAL, the end or ends that run in this process, and the exit status: 0; 1 if something failed
 * or a byte was wrong; 2 for a wrong argument.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include "bench.h"
#include "eal_start.h"
#include "peer/local.h"
#include "prompt/commands.h"
#include "prompt/prompt.h"
#include "peer/remote.h"
#include "peer/service.h"
#include "signals.h"
#include "stats.h"

enum {
	STATUS_OK,
	STATUS_FAILED,
	STATUS_USAGE
};

/* Files that are opened before EAL starts. */
struct perf_files {
	FILE *json;   /* --json; NULL: none */
	FILE *script; /* --cmdline-file; NULL: none */
};

static bool
is_prompted(const struct perf_options *o)
{
	return o->interactive || o->cmdline_file != NULL;
}

static struct perf_stats stats; /* counters of the ends in this process */

static int
usage_error(const char *text)
{
	fprintf(stderr, "uroce-perf: %s\n", text);
	return STATUS_USAGE;
}

/* Are there lcores for --workers? */
static int
workers_check(const struct perf_options *o, unsigned int nb_lcores)
{
	if (o->workers <= nb_lcores)
		return 0;
	fprintf(stderr, "uroce-perf: --workers %u needs as many lcores, EAL has %u: add EAL's -l 0-%u, or lower --workers\n",
		o->workers, nb_lcores, o->workers - 1);
	return -1;
}

/* Get the number of lcores to use, if --workers does not say it: each worker needs a queue of its own on every port. */
static unsigned int
lcores_used(const struct perf_options *o, unsigned int nb_lcores)
{
	struct rte_eth_dev_info info;
	unsigned int n = nb_lcores;
	uint16_t port;

	if (o->workers != 0)
		return o->workers;
	if (o->mode == PERF_LAT)
		return 1; /* one message at a time occupies one lcore */
	RTE_ETH_FOREACH_DEV(port) {
		if (rte_eth_dev_info_get(port, &info) == 0)
			n = RTE_MIN(n,
				    (unsigned int)RTE_MIN(info.max_rx_queues, info.max_tx_queues));
	}
	n = RTE_MAX(n, 1u);
	if (n < nb_lcores)
		fprintf(stderr, "uroce-perf: uses %u of %u lcores, since a port has only %u queues\n", n, nb_lcores, n);
	return n;
}

/* Apply --impair and --congestion. */
static int
spoil(struct app_host *host, const struct perf_options *o)
{
	if (o->no_congestion && uroce_app_host_control(host, false) != 0)
		return -1;
	return uroce_app_host_impair(host, o->impair);
}

/* Open EAL's ports, with a worker for each lcore; the addresses are assigned in turn. */
static int
host_open(struct app_host *host, const struct perf_options *o, const unsigned int *lcores,
	  unsigned int nb_lcores)
{
	uint16_t port;

	host->go_back_n = o->go_back_n;
	host->share_memory = o->share_memory;
	host->limits = o->limits;
	if (workers_check(o, nb_lcores) != 0 || uroce_app_host_workers(host, lcores_used(o, nb_lcores)) != 0)
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
			return "EAL has a DPDK port: add --server or --client ADDR; or, to run both ends in this "
			       "process, use --no-pci and no --vdev";
		if (o->nb_addrs != 0 && o->nb_addrs != 2)
			return "both ends run in this process: give --addr twice, for the client and the server, or "
			       "leave it out";
		return NULL;
	}
	if (ports == 0)
		return uroce_app_eal_no_port();
	if (o->nb_addrs == 0)
		return "the port needs an address: add --addr IP/PREFIX, e.g. --addr 10.0.0.1/24";
	return NULL;
}

/* Start --stats-period; an end that is not in this process is NULL. */
static int
stats_start(const struct perf_options *o, const struct app_host *client, const struct app_host *server)
{
	static const char *const names[PERF_STATS_ENDS] = { "client", "server" };
	const struct app_host *const hosts[PERF_STATS_ENDS] = { client, server };

	return uroce_perf_stats_start(&stats, o->stats_period_s, names, hosts);
}

static int
json_write(const struct perf_row *rows, unsigned int n, FILE *json, const char *name)
{
	if (json == NULL || uroce_perf_report_json(json, rows, n) == 0)
		return 0;
	fprintf(stderr, "uroce-perf: cannot write the results to --json %s\n", name);
	return -1;
}

/* Run tests one after the other, as the prompt asks. */
static int
tests_run_by_prompt(struct perf_session *s, const struct perf_options *o, const struct perf_files *files)
{
	int ret;

	if (uroce_perf_session_init(s, o) != 0)
		return -1;
	ret = uroce_perf_prompt_start(s, uroce_perf_commands(s), files->script);
	if (ret == 0) {
		uroce_perf_session_run(s);
		uroce_perf_prompt_join();
		ret = json_write(s->rows, s->nb_rows, files->json, o->json);
	}
	if (s->failed)
		ret = -1;
	uroce_perf_session_fini(s);
	return ret;
}

/* With open hosts: run the tests, and print the results. */
static int
tests_run(struct perf_bench *b, struct app_host *server, const struct perf_files *files)
{
	/* with --json -, standard output is for programs */
	FILE *people = files->json == stdout ? stderr : stdout;
	const struct perf_options *o = b->options;
	int ret;

	if (stats_start(o, b->host, server) != 0) {
		json_write(NULL, 0, files->json, o->json);
		return -1;
	}
	if (is_prompted(o)) {
		struct perf_session s = {
			.hosts = { b->host, server },
			.nb_hosts = server != NULL ? 2 : 1,
			.bench = b,
		};

		ret = tests_run_by_prompt(&s, o, files);
		uroce_perf_stats_stop(&stats);
		return ret;
	}
	ret = uroce_perf_bench_run(b);
	uroce_perf_stats_stop(&stats);
	uroce_perf_bench_report(people, b);
	return ret | json_write(b->rows, b->nb_rows, files->json, o->json);
}

static int
run_client(const struct perf_options *o, const struct perf_files *files, const unsigned int *lcores,
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
		b->lane_lcores = 1;
		b->place.cores = host->nb_workers;
		ret = tests_run(b, NULL, files);
		if (ret == 0)
			uroce_perf_conn_send(&remote->conn, "bye");
	} else {
		json_write(NULL, 0, files->json, o->json);
	}
	if (remote->conn.cm != NULL) { /* the CM needs the port; the server's own stays open */
		uroce_perf_remote_close(remote);
		uroce_app_host_close(host);
	} else { /* the server closes its port after ours */
		uroce_app_host_close(host);
		uroce_perf_remote_close(remote);
	}
	free(remote);
	free(host);
	free(b);
	return ret;
}

static int
run_both(const struct perf_options *o, const struct perf_files *files, const unsigned int *lcores,
	 unsigned int nb_lcores)
{
	struct perf_bench *b = calloc(1, sizeof(*b));
	struct app_host *client = calloc(1, sizeof(*client));
	struct perf_local *local = calloc(1, sizeof(*local));
	struct perf_options options = *o;
	const unsigned int workers = RTE_MAX(o->workers, 1u);
	int ret = -1;

	RTE_VERIFY(b != NULL && client != NULL && local != NULL);
	*b = (struct perf_bench){
		.options = &options,
		.host = client,
		.peer = &local->peer,
	};
	client->go_back_n = o->go_back_n;
	client->limits = o->limits;
	if (workers_check(o, nb_lcores) == 0 &&
	    uroce_perf_local_open(local, client, workers, lcores, nb_lcores, o->qps,
				  o->nb_addrs == 2 ? o->addrs : NULL) == 0 &&
	    spoil(client, o) == 0 && spoil(&local->host, o) == 0) {
		b->lane_lcores = local->own_lcores ? 2 : 1;
		b->place = (struct perf_floor_place){
			true, local->own_lcores ? lcores[workers] : (unsigned int)LCORE_ID_ANY, workers,
		};
		options.peer = local->host.devs[0].addrs[0].gid;
		ret = tests_run(b, &local->host, files);
	} else {
		json_write(NULL, 0, files->json, o->json);
	}
	uroce_perf_local_close(local, client);
	free(local);
	free(client);
	free(b);
	return ret;
}

/* Serve a client on the main thread, while the prompt only shows. */
static int
serve(struct app_host *host, const struct perf_options *o, const struct perf_files *files)
{
	struct perf_session s = { .hosts = { host }, .nb_hosts = 1 };
	int ret = -1;

	if (!is_prompted(o))
		return uroce_perf_serve(host, o);
	if (uroce_perf_session_init(&s, o) != 0)
		return -1;
	if (uroce_perf_prompt_start(&s, uroce_perf_commands(&s), files->script) == 0) {
		ret = uroce_perf_serve(host, o);
		uroce_perf_session_end(&s);
		uroce_perf_prompt_join();
	}
	if (s.failed)
		ret = -1;
	uroce_perf_session_fini(&s);
	return ret;
}

static int
run_server(const struct perf_options *o, const struct perf_files *files, const unsigned int *lcores,
	   unsigned int nb_lcores)
{
	struct app_host *host = calloc(1, sizeof(*host));
	int ret = -1;

	RTE_VERIFY(host != NULL);
	if (host_open(host, o, lcores, nb_lcores) == 0 && stats_start(o, NULL, host) == 0)
		ret = serve(host, o, files);
	uroce_perf_stats_stop(&stats);
	uroce_app_host_close(host);
	free(host);
	return ret;
}

static int
run(const struct perf_options *o, const struct perf_files *files)
{
	unsigned int lcores[UROCE_MAX_WORKERS];
	unsigned int nb_lcores = uroce_app_lcores(lcores);
	const char *wrong = check_ports(o);
	int ret;

	if (wrong != NULL)
		return usage_error(wrong);
	if (o->role == PERF_SERVER)
		ret = run_server(o, files, lcores, nb_lcores);
	else if (o->role == PERF_CLIENT)
		ret = run_client(o, files, lcores, nb_lcores);
	else
		ret = run_both(o, files, lcores, nb_lcores);
	return ret == 0 ? STATUS_OK : STATUS_FAILED;
}

/* Reject a directory: it can be opened but not read. */
static FILE *
script_open(const char *name)
{
	FILE *script = fopen(name, "re");
	struct stat st;

	if (script != NULL && fstat(fileno(script), &st) == 0 && S_ISDIR(st.st_mode)) {
		fclose(script);
		script = NULL;
		errno = EISDIR;
	}
	if (script == NULL)
		fprintf(stderr, "uroce-perf: cannot read --cmdline-file %s: %s\n", name, strerror(errno));
	return script;
}

/* Open the files before EAL starts, so that a wrong name is reported at once. */
static int
files_open(const struct perf_options *o, struct perf_files *files)
{
	memset(files, 0, sizeof(*files));
	if (o->json != NULL) {
		files->json = strcmp(o->json, "-") == 0 ? stdout : fopen(o->json, "we");
		if (files->json == NULL) {
			fprintf(stderr, "uroce-perf: cannot write to --json %s: %s\n", o->json, strerror(errno));
			return -1;
		}
	}
	if (o->cmdline_file == NULL)
		return 0;
	files->script = script_open(o->cmdline_file);
	return files->script != NULL ? 0 : -1;
}

static int
files_close(const struct perf_files *files)
{
	if (files->script != NULL)
		fclose(files->script);
	return files->json != NULL && files->json != stdout ? fclose(files->json) : 0;
}

int
main(int argc, char **argv)
{
	const int nb_eal = uroce_app_eal_args(argc, argv);
	struct perf_options options;
	char error[512];
	struct perf_files files;
	int status;

	for (int i = 1; i < nb_eal; i++) {
		if (strcmp(argv[i], "--version") == 0) { /* EAL has no --version */
			printf("uroce-perf " UROCE_VERSION "\n");
			return STATUS_OK;
		}
		if (uroce_perf_options_has(argv[i])) {
			snprintf(error, sizeof(error),
				 "%s is not an EAL argument: put -- before it, e.g. uroce-perf --no-huge -- %s",
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
		fprintf(stderr, "uroce-perf: an atomic has 8 bytes: --size is ignored\n");
	if (files_open(&options, &files) != 0)
		return STATUS_USAGE;
	uroce_app_signals_init();
	if (uroce_app_eal_init(nb_eal, argv) != 0)
		return STATUS_FAILED;
	status = run(&options, &files);
	if (files_close(&files) != 0)
		status = STATUS_FAILED;
	uroce_app_eal_fini();
	return status;
}
