/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce-rping: arguments, EAL, ports, and the exit status: 0; 1 if something failed or a byte was wrong; 2 for a
 * wrong argument.
 */

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_ethdev.h>

#include "eal_start.h"
#include "program.h"
#include "rping.h"
#include "signals.h"

enum {
	STATUS_OK,
	STATUS_FAILED,
	STATUS_USAGE
};

static const char *const default_addrs[2] = { "10.0.0.1/24", "10.0.0.2/24" };

static int
usage_error(const char *text)
{
	fprintf(stderr, "%s: %s\n", uroce_app_name, text);
	return STATUS_USAGE;
}

static const char *
check_ports(const struct rping_options *o)
{
	const unsigned int ports = rte_eth_dev_count_avail();

	if (o->role == RPING_BOTH) {
		if (ports == 0 && uroce_app_eal_device_given())
			return uroce_app_eal_no_port();
		if (ports > 0)
			return "EAL has a DPDK port: add -s or -c -a ADDR; or, to run both ends in this process, use "
			       "--no-pci and no --vdev";
		if (o->nb_addrs != 0 && o->nb_addrs != 2)
			return "both ends run in this process: give --addr twice, for the client and the server, or "
			       "leave it out";
		return NULL;
	}
	if (ports == 0)
		return uroce_app_eal_no_port();
	return o->nb_addrs == 0
		       ? "the port needs an address: add --addr IP/PREFIX, e.g. --addr 10.0.0.1/24"
		       : NULL;
}

/* Open EAL's ports, as many as there are addresses, with the main lcore's worker; the addresses are assigned in turn.
 */
static int
open_ports(struct rping *r)
{
	const struct rping_options *o = r->options;
	struct app_host *host = &r->hosts[0];
	uint16_t port;

	host->limits = o->limits;
	if (uroce_app_host_workers(host, 1) != 0)
		return -1;
	RTE_ETH_FOREACH_DEV(port) {
		if (host->nb_devs < RTE_MIN(o->nb_addrs, (unsigned int)UROCE_APP_MAX_PORTS) &&
		    uroce_app_host_open(host, port, 1, false) != 0)
			return -1;
	}
	for (unsigned int i = 0; i < o->nb_addrs; i++)
		if (uroce_app_host_address(host, i % host->nb_devs, o->addrs[i]) != 0)
			return -1;
	r->server = o->addr;
	r->source = o->source;
	return 0;
}

static void
sockaddr_of(struct sockaddr_storage *to, const char *cidr, uint16_t port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)to;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;
	char text[INET6_ADDRSTRLEN];

	memset(to, 0, sizeof(*to));
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(cidr, "/"), cidr);
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
	} else {
		RTE_VERIFY(inet_pton(AF_INET6, text, &v6->sin6_addr) ==
			   1); /* the options were checked */
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
	}
}

/* Open two net_ring ports, the client's first, with the main lcore's worker for both. */
static int
open_rings(struct rping *r)
{
	const struct rping_options *o = r->options;
	uint16_t ports[2];

	r->hosts[0].limits = r->hosts[1].limits = o->limits;
	if (uroce_app_ring_ports(ports, 1) != 0 || uroce_app_host_workers(&r->hosts[0], 1) != 0)
		return -1;
	r->hosts[1].workers[0] = r->hosts[0].workers[0];
	r->hosts[1].nb_workers = 1;
	r->hosts[1].borrowed = true;
	for (unsigned int i = 0; i < 2; i++) {
		const char *addr = o->nb_addrs == 2 ? o->addrs[i] : default_addrs[i];

		/* no loopback: frames go through the rings although both devices are in one process */
		if (uroce_app_host_open(&r->hosts[i], ports[i], 1, true) != 0 ||
		    uroce_app_host_address(&r->hosts[i], 0, addr) != 0)
			return -1;
		sockaddr_of(i == 0 ? &r->source : &r->server, addr, i == 0 ? 0 : o->port);
	}
	return 0;
}

static int
run(const struct rping_options *o)
{
	const char *error = check_ports(o);
	struct rping *r;
	int ret;

	if (error != NULL)
		return usage_error(error);
	r = calloc(1, sizeof(*r));
	RTE_VERIFY(r != NULL);
	r->options = o;
	ret = o->role == RPING_BOTH ? open_rings(r) : open_ports(r);
	if (ret == 0)
		ret = uroce_rping_run(r);
	uroce_app_host_close(&r->hosts[1]);
	uroce_app_host_close(&r->hosts[0]);
	free(r);
	return ret == 0 ? STATUS_OK : STATUS_FAILED;
}

/* EAL's -s takes a mask of service cores. */
static bool
is_coremask(int argc, char **argv, int i)
{
	return strncmp(argv[i], "-s", 2) == 0 && (argv[i][2] != '\0' || (i + 1 < argc && argv[i + 1][0] != '-'));
}

int
main(int argc, char **argv)
{
	const int nb_eal = uroce_app_eal_args(argc, argv);
	struct rping_options options;
	char error[512];
	int status;

	for (int i = 1; i < nb_eal; i++) {
		if (strcmp(argv[i], "--version") == 0) { /* EAL has no --version */
			printf("%s " UROCE_VERSION "\n", uroce_app_name);
			return STATUS_OK;
		}
		if (nb_eal == argc && uroce_rping_options_has(argv[i]) && !is_coremask(argc, argv, i)) {
			snprintf(error, sizeof(error),
				 "%s is not an EAL argument: put -- before it, e.g. uroce-rping --no-huge -- %s",
				 argv[i], argv[i]);
			return usage_error(error);
		}
	}
	if (uroce_rping_options_parse(&options, nb_eal < argc ? argc - nb_eal : 1,
				      argv + RTE_MIN(nb_eal, argc - 1), error, sizeof(error)) != 0)
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
