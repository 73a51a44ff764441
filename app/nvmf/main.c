/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce-nvmf: arguments, EAL, the port, pollers on their lcores; then the CM's events and signals on the main lcore. Exit
 * status: 0; 1 if something failed; 2 for a wrong argument.
 */

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "eal_start.h"
#include "host.h"
#include "options.h"
#include "program.h"
#include "signals.h"
#include "target.h"
#include "report/telemetry.h"

#define EVENTS_US 1000 /* interval of looks at the CM's events, with pollers on other lcores */

enum {
	STATUS_OK,
	STATUS_FAILED,
	STATUS_USAGE
};

static volatile sig_atomic_t resize_wanted; /* SIGHUP */

static void
on_hangup(int signal)
{
	(void)signal;
	resize_wanted = 1;
}

static int
usage_error(const char *text)
{
	fprintf(stderr, "%s: %s\n", uroce_app_name, text);
	return STATUS_USAGE;
}

static int
open_port(struct app_host *host, const struct nvmf_options *o, unsigned int pollers)
{
	uint16_t port = RTE_MAX_ETHPORTS, first;

	RTE_ETH_FOREACH_DEV(first) {
		port = first;
		break;
	}
	if (port == RTE_MAX_ETHPORTS) {
		fprintf(stderr, "%s: %s\n", uroce_app_name, uroce_app_eal_no_port());
		return -1;
	}
	host->limits = o->limits;
	host->share_memory = o->share_memory;
	if (uroce_app_host_workers(host, pollers) != 0 || uroce_app_host_open(host, port, 1, false) != 0)
		return -1;
	for (unsigned int i = 0; i < o->nb_addrs; i++)
		if (uroce_app_host_address(host, 0, o->addrs[i]) != 0)
			return -1;
	return 0;
}

/* The serial number is the same after a restart: hosts compare it. */
static void
set_serial(struct nvmf_subsystem *s)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (const char *c = s->nqn; *c != '\0'; c++)
		hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
	snprintf(s->serial, sizeof(s->serial), "%016llx", (unsigned long long)hash);
}

static int
add_namespace(struct nvmf_subsystem *s, const char *spec)
{
	struct nvmf_reason why;

	if (strcmp(spec, "none") == 0) {
		uroce_nvmf_subsystem_skip(s);
		return 0;
	}
	if (uroce_nvmf_subsystem_add(s, spec, &why) != 0)
		return 0;
	fprintf(stderr, "%s: %s\n", uroce_app_name, why.text);
	return -1;
}

static int
subsystem_init(struct nvmf_subsystem *s, const struct nvmf_options *o)
{
	uroce_nvmf_subsystem_init(s);
	s->read_only = o->read_only;
	snprintf(s->nqn, sizeof(s->nqn), "%s", o->nqn);
	set_serial(s);
	s->hosts = o->hosts;
	s->nb_hosts = o->nb_hosts;
	s->dh_group = o->dh_group;
	s->io_queues = o->queues;
	snprintf(s->traddr, sizeof(s->traddr), "%.*s", (int)strcspn(o->addrs[0], "/"), o->addrs[0]);
	snprintf(s->trsvcid, sizeof(s->trsvcid), "%u", o->port);
	s->ipv6 = strchr(s->traddr, ':') != NULL;
	for (unsigned int i = 0; i < o->nb_namespaces; i++)
		if (add_namespace(s, o->namespaces[i]) != 0)
			return -1;
	return 0;
}

static int
poller_main(void *arg)
{
	struct nvmf_poller *p = arg;

	while (!__atomic_load_n(&p->stop, __ATOMIC_RELAXED))
		(void)uroce_nvmf_poller_round(p);
	return 0;
}

static int
listen_on(struct nvmf_target *t, uint16_t port)
{
	struct sockaddr_storage addr = { 0 };

	if (t->subsystem.ipv6) {
		struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&addr;

		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		inet_pton(AF_INET6, t->subsystem.traddr, &v6->sin6_addr);
	} else {
		struct sockaddr_in *v4 = (struct sockaddr_in *)&addr;

		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		inet_pton(AF_INET, t->subsystem.traddr, &v4->sin_addr);
	}
	return uroce_nvmf_listen(t, (struct sockaddr *)&addr);
}

/* One round of the main lcore. @param alone	it is the poller, too */
static void
round_of_main(struct nvmf_target *t, bool alone)
{
	if (resize_wanted) {
		resize_wanted = 0;
		(void)uroce_nvmf_subsystem_resize(&t->subsystem);
	}
	(void)uroce_nvmf_events(t);
	uroce_nvmf_subsystem_reclaim(&t->subsystem, t->pollers, t->nb_pollers);
	if (!alone)
		usleep(EVENTS_US);
	for (unsigned int i = 0; alone && i < UROCE_NVMF_IDLE_ROUNDS; i++)
		if (!uroce_nvmf_poller_round(&t->pollers[0]) && i > UROCE_NVMF_IDLE_ROUNDS / 2)
			break;
}

/* Close the connections, so that the hosts notice at once. */
static void
finish(struct nvmf_target *t, bool alone)
{
	uint64_t until = rte_rdtsc() + UROCE_NVMF_LEAVE_S * rte_get_tsc_hz();

	uroce_nvmf_subsystem_end(&t->subsystem);
	while (__atomic_load_n(&t->nb_queues, __ATOMIC_RELAXED) != 0 && rte_rdtsc() < until)
		round_of_main(t, alone);
}

static int
serve(struct nvmf_target *t, struct app_host *host, const struct nvmf_options *o)
{
	unsigned int lcores[UROCE_MAX_WORKERS];
	unsigned int n = uroce_app_lcores(lcores);
	bool alone = n == 1;
	int ret = 0;

	t->nb_pollers = alone ? 1 : n - 1;
	for (unsigned int i = 0; ret == 0 && i < t->nb_pollers; i++)
		ret = uroce_nvmf_poller_init(&t->pollers[i], &t->subsystem, host->devs[0].ctx, host->workers[i], i);
	for (unsigned int i = 0; ret == 0 && !alone && i < t->nb_pollers; i++)
		ret = rte_eal_remote_launch(poller_main, &t->pollers[i], lcores[i + 1]);
	if (ret == 0)
		ret = listen_on(t, o->port);
	if (ret == 0) {
		printf("%s: serving %u namespace%s of %s at %s, port %u\n", uroce_app_name, t->subsystem.nb_namespaces,
		       t->subsystem.nb_namespaces == 1 ? "" : "s", t->subsystem.nqn, t->subsystem.traddr, o->port);
		fflush(stdout);
	}
	uroce_nvmf_telemetry_start(t);
	while (ret == 0 && !uroce_app_stopped())
		round_of_main(t, alone);
	uroce_nvmf_telemetry_stop();
	finish(t, alone);
	uroce_nvmf_listen_end(t);
	for (unsigned int i = 0; i < t->nb_pollers; i++)
		__atomic_store_n(&t->pollers[i].stop, true, __ATOMIC_RELAXED);
	rte_eal_mp_wait_lcore();
	for (unsigned int i = 0; i < t->nb_pollers; i++)
		uroce_nvmf_poller_fini(&t->pollers[i]);
	return ret == 0 ? 0 : -1;
}

static int
run(const struct nvmf_options *o)
{
	static struct nvmf_target target;
	static struct app_host host;
	unsigned int lcores[UROCE_MAX_WORKERS];
	unsigned int n = uroce_app_lcores(lcores);
	int ret;

	signal(SIGHUP, on_hangup);
	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit of file sizes (ulimit -f) fails, and the host is told */
	ret = subsystem_init(&target.subsystem, o);
	if (ret == 0)
		ret = open_port(&host, o, n == 1 ? 1 : n - 1);
	if (ret == 0)
		ret = serve(&target, &host, o);
	uroce_app_host_close(&host);
	uroce_nvmf_subsystem_fini(&target.subsystem);
	return ret == 0 ? STATUS_OK : STATUS_FAILED;
}

int
main(int argc, char **argv)
{
	const int nb_eal = uroce_app_eal_args(argc, argv);
	struct nvmf_options options;
	char error[512];
	int status;

	for (int i = 1; i < nb_eal; i++) {
		if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
			printf("%s", uroce_app_usage);
			return STATUS_OK;
		}
		if (strcmp(argv[i], "--version") == 0) { /* EAL has no --version */
			printf("%s " UROCE_VERSION "\n", uroce_app_name);
			return STATUS_OK;
		}
	}
	if (argc > 1 && nb_eal == argc)
		return usage_error("the arguments have no --, which separates EAL's from this program's, e.g. "
				   "uroce-nvmf --no-pci -- --addr 10.0.0.1/24 --namespace FILE: see --help");
	if (uroce_nvmf_options_parse(&options, nb_eal < argc ? argc - nb_eal : 1, argv + RTE_MIN(nb_eal, argc - 1), error,
				     sizeof(error)) != 0)
		return usage_error(error);
	if (options.help || options.version) {
		printf("%s%s", options.help ? uroce_app_usage : uroce_app_name,
		       options.help ? "" : " " UROCE_VERSION "\n");
		return STATUS_OK;
	}
	uroce_app_signals_init();
	if (uroce_app_eal_init(nb_eal, argv) != 0)
		return STATUS_FAILED;
	status = run(&options);
	uroce_app_eal_fini();
	return status;
}
