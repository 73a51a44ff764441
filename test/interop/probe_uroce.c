/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The probe on uroce, with the first ethdev port, which the probe's own loop drives. Arguments: EAL's, "--", the
 * device's VLAN or 0, and its addresses with prefix lengths.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "probe.h"

#define PORT_MTU 4200 /* path MTU 4096 */
#define PING_MS  10000

static struct uroce_worker *worker;

static void __rte_noreturn
die(const char *what, int error)
{
	fprintf(stderr, "probe: %s: %s\n", what, strerror(error));
	exit(1);
}

struct ibv_context *
probe_open(int argc, char **argv)
{
	struct uroce_port_conf conf = { .size = sizeof(conf), .mtu = PORT_MTU };
	struct ibv_context *context;
	int used, ret;

	used = rte_eal_init(argc, argv);
	if (used < 0)
		die("rte_eal_init", rte_errno);
	if (used + 1 < argc)
		conf.vlan = (uint16_t)atoi(argv[used + 1]);
	worker = uroce_create_worker(-1);
	if (worker == NULL)
		die("uroce_create_worker", errno);
	context = uroce_open_port(0, &conf, &worker, 1);
	if (context == NULL)
		die("uroce_open_port", errno);
	for (int i = used + 2; i < argc; i++) {
		ret = uroce_add_address(context, argv[i]);
		if (ret != 0)
			die(argv[i], ret);
	}
	return context;
}

bool
probe_progress(void)
{
	uroce_worker_poll(worker);
	return true;
}

void *
probe_alloc(size_t size, bool own)
{
	if (own)
		return rte_malloc("probe", size, PROBE_ALIGN);
	return aligned_alloc(PROBE_ALIGN, RTE_ALIGN(size, PROBE_ALIGN));
}

void
probe_free(void *memory, bool own)
{
	if (own)
		rte_free(memory);
	else
		free(memory);
}

int
probe_ping(struct ibv_context *context, const char *address)
{
	return uroce_ping(context, address, PING_MS);
}

void
probe_counters(struct ibv_context *context)
{
	struct uroce_counter counters[256];
	unsigned int n = uroce_query_counters(context, counters, RTE_DIM(counters));

	for (unsigned int i = 0; i < RTE_MIN(n, RTE_DIM(counters)); i++)
		if (counters[i].value != 0)
			printf(" %s=%llu", counters[i].name, (unsigned long long)counters[i].value);
}
