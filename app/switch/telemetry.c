/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The counters of the switch, as telemetry and as a table. EAL's telemetry threads read them while the main thread
 * counts; the ports exist until the main thread stops the telemetry.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_telemetry.h>

#include "base/dpdk_compat.h"
#include "telemetry.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the two below */
static const struct uroce_switch *shown;
static const uint64_t *refused;

static void
add(struct rte_tel_data *d, const char *name, const uint64_t *counter)
{
	rte_tel_data_add_dict_uint(d, name, __atomic_load_n(counter, __ATOMIC_RELAXED));
}

static int
list(const char *cmd, const char *params, struct rte_tel_data *d)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	RTE_SET_USED(cmd);
	RTE_SET_USED(params);
	rte_tel_data_start_array(d, RTE_TEL_STRING_VAL);
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; shown != NULL && i < shown->nb_ports; i++) {
		uroce_switch_port_name(&shown->ports[i], name);
		rte_tel_data_add_array_string(d, name);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

static void
add_port(struct rte_tel_data *d, const struct switch_port *p)
{
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "link", p->up ? "up" : "down");
	add(d, "received", &p->received);
	add(d, "received_bytes", &p->received_bytes);
	add(d, "sent", &p->sent);
	add(d, "sent_bytes", &p->sent_bytes);
	add(d, "dropped", &p->dropped);
	add(d, "marked", &p->marked);
	add(d, "malformed", &p->malformed);
	add(d, "forged", &p->forged);
}

static int
port(const char *cmd, const char *params, struct rte_tel_data *d)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	int ret = -ENODEV;

	RTE_SET_USED(cmd);
	if (params == NULL)
		return -EINVAL;
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; shown != NULL && i < shown->nb_ports && ret != 0; i++) {
		uroce_switch_port_name(&shown->ports[i], name);
		if (strcmp(name, params) != 0)
			continue;
		add_port(d, &shown->ports[i]);
		ret = 0;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

static int
info(const char *cmd, const char *params, struct rte_tel_data *d)
{
	int ret = -ENODEV;

	RTE_SET_USED(cmd);
	RTE_SET_USED(params);
	pthread_mutex_lock(&lock);
	if (shown != NULL) {
		rte_tel_data_start_dict(d);
		rte_tel_data_add_dict_uint(d, "ports", shown->nb_ports);
		rte_tel_data_add_dict_int(d, "stations", rte_hash_count(shown->fdb.hash));
		add(d, "not_learned", &shown->fdb.unlearned);
		add(d, "clients_refused", refused);
		ret = 0;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

/* EAL cannot unregister a command, and registers each once. */
void
uroce_switch_telemetry_start(const struct uroce_switch *s, const uint64_t *refusals)
{
	pthread_mutex_lock(&lock);
	shown = s;
	refused = refusals;
	pthread_mutex_unlock(&lock);
	rte_telemetry_register_cmd("/uroce_switch/list", list, "Names of the ports");
	rte_telemetry_register_cmd("/uroce_switch/port", port, "Counters of a port. Parameter: name");
	rte_telemetry_register_cmd("/uroce_switch/info", info, "Stations known, and clients refused");
}

void
uroce_switch_telemetry_stop(void)
{
	pthread_mutex_lock(&lock);
	shown = NULL;
	pthread_mutex_unlock(&lock);
}

void
uroce_switch_report(const struct uroce_switch *s, uint64_t refused)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	fprintf(stderr, "%-16s %-4s %12s %15s %12s %15s %10s %10s %10s %10s\n", "port", "link", "received", "bytes",
		"sent", "bytes", "dropped", "marked", "malformed", "forged");
	for (unsigned int i = 0; i < s->nb_ports; i++) {
		const struct switch_port *p = &s->ports[i];

		uroce_switch_port_name(p, name);
		fprintf(stderr, "%-16s %-4s %12" PRIu64 " %15" PRIu64 " %12" PRIu64 " %15" PRIu64 " %10" PRIu64
			" %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n",
			name, p->up ? "up" : "down", p->received, p->received_bytes, p->sent, p->sent_bytes, p->dropped,
			p->marked, p->malformed, p->forged);
	}
	fprintf(stderr, "%" PRIi32 " stations, %" PRIu64 " not learned, %" PRIu64 " clients refused\n",
		rte_hash_count(s->fdb.hash), s->fdb.unlearned, refused);
}
