/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Registers the telemetry commands with EAL, and passes each command to its function. EAL's telemetry threads run the
 * functions one at a time, under the registry's lock, which keeps devices from being closed.
 */

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_common.h>

#include "base/log.h"
#include "port/registry.h"
#include "port/telemetry/telemetry.h"
#include "uroce_config.h"

static const struct {
	const char *name;
	uroce_telemetry_fn answer;
	const char *help; /* fewer than 64 characters, the limit of rte_telemetry */
} commands[] = {
	{ "/uroce/info", uroce_telemetry_info, "A device's port and addresses. Parameter: name" },
	{ "/uroce/stats", uroce_telemetry_stats, "A device's counters. Parameter: name" },
	{ "/uroce/hw_counters", uroce_telemetry_hw_counters, "Counters under Linux's names. Parameter: name" },
	{ "/uroce/cm", uroce_telemetry_cm, "Counters of the connection manager. Parameter: name" },
	{ "/uroce/qp", uroce_telemetry_qp, "A device's first QPs, or one. Parameters: name[,qpn]" },
	{ "/uroce/qps", uroce_telemetry_qps, "A page of QPs. Parameters: name[,from[,state]]" },
	{ "/uroce/top", uroce_telemetry_top, "QPs with the highest counter. Parameters: name[,counter]" },
	{ "/uroce/mrs", uroce_telemetry_mrs, "A page of memory keys. Parameters: name[,from]" },
	{ "/uroce/mr", uroce_telemetry_mr, "A memory region or window. Parameters: name,rkey" },
	{ "/uroce/cqs", uroce_telemetry_cqs, "A page of CQs. Parameters: name[,from]" },
	{ "/uroce/cq", uroce_telemetry_cq, "A CQ. Parameters: name,number" },
	{ "/uroce/srqs", uroce_telemetry_srqs, "A page of SRQs. Parameters: name[,from]" },
	{ "/uroce/srq", uroce_telemetry_srq, "An SRQ. Parameters: name,number" },
};

static struct uroce_port *
find(const char *name, size_t length)
{
	for (unsigned int i = 0; i < UROCE_MAX_DEVICES; i++) {
		struct uroce_port *port = uroce_registry_port(i);

		if (port != NULL && strlen(port->dev.ibv.name) == length &&
		    strncmp(port->dev.ibv.name, name, length) == 0)
			return port;
	}
	return NULL;
}

static uroce_telemetry_fn
find_command(const char *name)
{
	for (unsigned int i = 0; i < RTE_DIM(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return commands[i].answer;
	return NULL;
}

/* Run a command about a device. Its parameters are the device's name, a comma, and the function's argument. */
static int
device_command(const char *cmd, const char *params, struct rte_tel_data *d)
{
	const char *comma = params != NULL ? strchr(params, ',') : NULL;
	uroce_telemetry_fn answer = find_command(cmd);
	struct uroce_port *port;
	int ret = -EINVAL;

	if (params == NULL || answer == NULL)
		return ret;
	uroce_registry_lock();
	port = find(params, comma != NULL ? (size_t)(comma - params) : strlen(params));
	if (port != NULL)
		ret = answer(port, comma != NULL ? comma + 1 : NULL, d);
	uroce_registry_unlock();
	return ret;
}

static int
list(const char *cmd, const char *params, struct rte_tel_data *d)
{
	RTE_SET_USED(cmd);
	RTE_SET_USED(params);
	rte_tel_data_start_array(d, RTE_TEL_STRING_VAL);
	uroce_registry_lock();
	for (unsigned int i = 0; i < UROCE_MAX_DEVICES; i++) {
		const struct uroce_port *port = uroce_registry_port(i);

		if (port != NULL)
			rte_tel_data_add_array_string(d, port->dev.ibv.name);
	}
	uroce_registry_unlock();
	return 0;
}

static int
worker(const char *cmd, const char *params, struct rte_tel_data *d)
{
	int ret;

	RTE_SET_USED(cmd);
	uroce_registry_lock();
	ret = uroce_telemetry_worker(params, d);
	uroce_registry_unlock();
	return ret;
}

static void
init(void)
{
	int ret = 0;

	ret |= rte_telemetry_register_cmd("/uroce/list", list, "Names of the open RDMA devices");
	ret |= rte_telemetry_register_cmd("/uroce/worker", worker, "The workers, or one. Parameter: [number]");
	for (unsigned int i = 0; i < RTE_DIM(commands); i++)
		ret |= rte_telemetry_register_cmd(commands[i].name, device_command, commands[i].help);
	if (ret != 0)
		UROCE_LOG(NOTICE, "cannot register telemetry commands: some /uroce/... commands are missing\n");
}

void
uroce_telemetry_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init);
}
