/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Telemetry: /uroce/list, /uroce/info, /uroce/stats, /uroce/qp, /uroce/cm, each but the first with
 * a device's name. Called on EAL's telemetry thread; the registry's lock keeps devices from going
 * away meanwhile.
 */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <rte_telemetry.h>

#include "port/agent.h"
#include "port/link.h"
#include "port/log.h"
#include "port/registry.h"
#include "port/telemetry.h"
#include "port/worker.h"
#include "uroce.h"
#include "verbs/qp.h"

#define MAX_COUNTERS 256
#define MAX_LISTED   256 /* QPs; rte_telemetry's own limit is about this */

typedef int (*answer_fn)(struct uroce_port *port, const char *argument, struct rte_tel_data *d);

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

/* Parameters are the device's name, a comma, and what else the command takes. */
static int
answer(const char *params, struct rte_tel_data *d, answer_fn fn)
{
	const char *comma = params != NULL ? strchr(params, ',') : NULL;
	struct uroce_port *port;
	int ret = -EINVAL;

	if (params == NULL)
		return ret;
	uroce_registry_lock();
	port = find(params, comma != NULL ? (size_t)(comma - params) : strlen(params));
	if (port != NULL)
		ret = fn(port, comma != NULL ? comma + 1 : NULL, d);
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

static void
add_addresses(struct uroce_port *port, struct rte_tel_data *d)
{
	struct rte_tel_data *addresses = rte_tel_data_alloc();
	char text[INET6_ADDRSTRLEN];

	if (addresses == NULL)
		return;
	rte_tel_data_start_array(addresses, RTE_TEL_STRING_VAL);
	pthread_mutex_lock(&port->lock);
	for (unsigned int i = 0; i < UROCE_MAX_GID; i++)
		if (port->gids[i].used)
			rte_tel_data_add_array_string(
				addresses,
				uroce_gid_format(port->gids[i].subnet.gid, text, sizeof(text)));
	pthread_mutex_unlock(&port->lock);
	rte_tel_data_add_dict_container(d, "addresses", addresses, 0);
}

static void
add_groups(struct uroce_port *port, struct rte_tel_data *d)
{
	struct rte_tel_data *groups = rte_tel_data_alloc();
	char text[INET6_ADDRSTRLEN];

	if (groups == NULL)
		return;
	rte_tel_data_start_array(groups, RTE_TEL_STRING_VAL);
	pthread_mutex_lock(&port->lock);
	for (unsigned int i = 0; i < port->published->group_count && i < MAX_LISTED; i++)
		rte_tel_data_add_array_string(
			groups, uroce_gid_format(port->published->groups[i], text, sizeof(text)));
	pthread_mutex_unlock(&port->lock);
	rte_tel_data_add_dict_container(d, "groups", groups, 0);
}

static int
info_answer(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	struct ibv_port_attr attr = { 0 };
	char mac[RTE_ETHER_ADDR_FMT_SIZE];

	RTE_SET_USED(argument);
	rte_tel_data_start_dict(d);
	rte_ether_format_addr(mac, sizeof(mac), &port->mac);
	rte_tel_data_add_dict_string(d, "name", port->dev.ibv.name);
	rte_tel_data_add_dict_int(d, "port_id", port->port_id);
	rte_tel_data_add_dict_string(d, "mac", mac);
	rte_tel_data_add_dict_int(d, "vlan", port->vlan);
	rte_tel_data_add_dict_int(d, "mtu", port->mtu);
	rte_tel_data_add_dict_int(d, "queues", port->nb_queues);
	if (uroce_port_query(&port->dev, &attr) == 0)
		rte_tel_data_add_dict_string(d, "link",
					     attr.state == IBV_PORT_ACTIVE ? "up" : "down");
	add_addresses(port, d);
	add_groups(port, d);
	return 0;
}

static int
info(const char *cmd, const char *params, struct rte_tel_data *d)
{
	RTE_SET_USED(cmd);
	return answer(params, d, info_answer);
}

static int
stats_answer(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	struct uroce_counter counters[MAX_COUNTERS];
	unsigned int n;

	RTE_SET_USED(argument);
	n = uroce_query_counters(&port->dev.vctx.context, counters, RTE_DIM(counters));
	rte_tel_data_start_dict(d);
	for (unsigned int i = 0; i < RTE_MIN(n, RTE_DIM(counters)); i++)
		rte_tel_data_add_dict_u64(d, counters[i].name, counters[i].value);
	return 0;
}

static int
stats(const char *cmd, const char *params, struct rte_tel_data *d)
{
	RTE_SET_USED(cmd);
	return answer(params, d, stats_answer);
}

static void
qp_describe(const struct uroce_qp *qp, struct rte_tel_data *d)
{
	static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };
	uint32_t state = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);
	char text[INET6_ADDRSTRLEN];

	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_int(d, "qpn", (int)qp->ibv.qp_num);
	rte_tel_data_add_dict_string(d, "state", state < RTE_DIM(states) ? states[state] : "?");
	rte_tel_data_add_dict_int(d, "dest_qpn", (int)qp->attr.dest_qp_num);
	rte_tel_data_add_dict_string(d, "peer",
				     uroce_gid_format(qp->path.dgid.raw, text, sizeof(text)));
	rte_tel_data_add_dict_int(d, "loopback", qp->path.out != 0);
	rte_tel_data_add_dict_int(d, "mtu", (int)qp->mtu_bytes);
	rte_tel_data_add_dict_int(d, "psn", (int)qp->req.psn);
	rte_tel_data_add_dict_int(d, "unacked", (int)qp->req.unacked);
	rte_tel_data_add_dict_int(d, "expected_psn", (int)qp->resp.psn);
	rte_tel_data_add_dict_int(d, "send_queue", (int)(qp->sq.tail - qp->sq.head));
	rte_tel_data_add_dict_int(d, "recv_queue", (int)(qp->rq.tail - qp->rq.head));
}

/* Without a number, the QPs there are. */
static int
qp_answer(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	unsigned long wanted = argument != NULL ? strtoul(argument, NULL, 0) : 0;
	struct uroce_worker *reader = port->queues[0].worker;
	struct uroce_device *dev = &port->dev;
	unsigned int listed = 0;
	int ret = 0;

	if (argument == NULL)
		rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
	/* a worker's turn is an RCU reader section: no QP is freed meanwhile */
	uroce_worker_enter(reader);
	if (argument != NULL) {
		const struct uroce_qp *qp = uroce_qp_lookup(dev, (uint32_t)wanted);

		if (qp != NULL && wanted <= UROCE_QPN_MASK)
			qp_describe(qp, d);
		else
			ret = -ENOENT;
	}
	for (uint32_t i = 0; argument == NULL && i < 1u << dev->qps.log2 && listed < MAX_LISTED;
	     i++) {
		const struct uroce_qp *qp = __atomic_load_n(&dev->qps.qps[i], __ATOMIC_ACQUIRE);

		if (qp != NULL) {
			rte_tel_data_add_array_int(d, (int)qp->ibv.qp_num);
			listed++;
		}
	}
	uroce_worker_exit(reader);
	return ret;
}

static int
qps(const char *cmd, const char *params, struct rte_tel_data *d)
{
	RTE_SET_USED(cmd);
	return answer(params, d, qp_answer);
}

static int
cm_answer(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	const struct uroce_agent *a = port->agent; /* stays while the registry is locked */
	uint64_t values[MAX_COUNTERS];
	const char *names[MAX_COUNTERS];
	unsigned int n;

	RTE_SET_USED(argument);
	if (a == NULL)
		return -ENOENT;
	rte_tel_data_start_dict(d);
	for (unsigned int i = 0; i < UROCE_AGENT_COUNTER_COUNT; i++)
		rte_tel_data_add_dict_u64(d, uroce_agent_counter_names[i],
					  __atomic_load_n(&a->counters[i], __ATOMIC_RELAXED));
	n = uroce_cm_query_counters(a->ibcm.cm, names, values, RTE_DIM(values));
	for (unsigned int i = 0; i < RTE_MIN(n, RTE_DIM(values)); i++)
		rte_tel_data_add_dict_u64(d, names[i], values[i]);
	return 0;
}

static int
cm(const char *cmd, const char *params, struct rte_tel_data *d)
{
	RTE_SET_USED(cmd);
	return answer(params, d, cm_answer);
}

static void
init(void)
{
	int ret = 0;

	ret |= rte_telemetry_register_cmd("/uroce/list", list, "Names of the open RDMA devices");
	ret |= rte_telemetry_register_cmd("/uroce/info", info,
					  "A device's port and addresses. Parameter: name");
	ret |= rte_telemetry_register_cmd("/uroce/stats", stats,
					  "A device's counters. Parameter: name");
	ret |= rte_telemetry_register_cmd("/uroce/qp", qps,
					  "A device's QPs, or one. Parameters: name[,qpn]");
	ret |= rte_telemetry_register_cmd(
		"/uroce/cm", cm, "What connection management has counted. Parameter: name");
	if (ret != 0)
		UROCE_LOG(NOTICE, "no telemetry\n");
}

void
uroce_telemetry_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init);
}
