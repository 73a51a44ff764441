/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Telemetry of a device: port, addresses, numbers of objects, and counters by uroce's and Linux's names. EAL's
 * telemetry threads, with the registry's lock.
 */

#include <errno.h>
#include <pthread.h>

#include <arpa/inet.h>

#include "base/dpdk_compat.h"
#include "port/footprint.h"
#include "port/cm/agent.h"
#include "port/telemetry/hw_counters.h"
#include "port/ethdev/link.h"
#include "port/registry.h"
#include "port/telemetry/telemetry.h"
#include "port/worker/worker.h"
#include "uroce.h"

#define MAX_COUNTERS 256
#define MAX_LISTED   256 /* strings in an array; rte_telemetry has about the same limit */

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

static void
add_workers(const struct uroce_port *port, struct rte_tel_data *d)
{
	struct rte_tel_data *workers = rte_tel_data_alloc();

	if (workers == NULL)
		return;
	rte_tel_data_start_array(workers, RTE_TEL_INT_VAL);
	for (unsigned int i = 0; i < port->nb_queues; i++)
		rte_tel_data_add_array_int(workers, port->queues[i].worker->index);
	rte_tel_data_add_dict_container(d, "workers", workers, 0);
}

/* How the port chooses the queue of a frame, and its flow rules. */
static void
add_steering(struct uroce_port *port, struct rte_tel_data *d)
{
	static const char *const kinds[] = {
		[UROCE_RULE_BTH] = "bth", [UROCE_RULE_RAW] = "raw", [UROCE_RULE_UDP] = "udp", [UROCE_RULE_NONE] = "none",
	};
	const struct uroce_steer *s = &port->steer;
	const char *by = s->rss.reta_size == 0 ? "unknown" : s->rss.ignores_peer ? "qpn" : "flow_label";

	rte_tel_data_add_dict_string(d, "steering", port->open_queues == 1 ? "none" : by);
	pthread_mutex_lock(&port->lock);
	rte_tel_data_add_dict_string(d, "flow_rule_kind", kinds[s->rules.kind]);
	rte_tel_data_add_dict_int(d, "flow_rules", (int)s->rules.count);
	pthread_mutex_unlock(&port->lock);
}

static void
add_objects(struct uroce_device *dev, struct rte_tel_data *d)
{
	uint32_t mrs;

	pthread_mutex_lock(&dev->mrs.lock);
	mrs = dev->mrs.count;
	pthread_mutex_unlock(&dev->mrs.lock);
	pthread_mutex_lock(&dev->lock);
	rte_tel_data_add_dict_int(d, "qps", (int)dev->qp_count);
	rte_tel_data_add_dict_int(d, "cqs", (int)dev->cq_count);
	rte_tel_data_add_dict_int(d, "srqs", (int)dev->srq_count);
	rte_tel_data_add_dict_int(d, "mrs", (int)mrs);
	rte_tel_data_add_dict_int(d, "pds", (int)dev->pd_count);
	rte_tel_data_add_dict_int(d, "ahs", (int)dev->ah_count);
	pthread_mutex_unlock(&dev->lock);
}

static void
add_limits(const struct uroce_port *port, struct rte_tel_data *d)
{
	const struct uroce_device *dev = &port->dev;
	const struct uroce_port_queue *q = &port->queues[0];
	struct uroce_port_footprint f;

	uroce_port_footprint(port, &f);
	rte_tel_data_add_dict_uint(d, "memory_bytes", f.total);
	rte_tel_data_add_dict_int(d, "rx_mbufs", q->pool != NULL ? (int)q->pool->size : 0);
	rte_tel_data_add_dict_int(d, "rx_desc", q->nb_rx_desc);
	rte_tel_data_add_dict_int(d, "tx_desc", q->nb_tx_desc);
	rte_tel_data_add_dict_int(d, "max_qp", 1 << dev->qps.log2);
	rte_tel_data_add_dict_int(d, "max_mr", 1 << dev->mrs.log2);
	rte_tel_data_add_dict_int(d, "max_cq", (int)dev->max_cq);
	rte_tel_data_add_dict_int(d, "neighbors", (int)__atomic_load_n(&port->neighbors.count, __ATOMIC_RELAXED));
	rte_tel_data_add_dict_int(d, "max_neighbors", (int)port->neighbors.capacity);
	rte_tel_data_add_dict_int(d, "log2_window", dev->log2_window);
}

int
uroce_telemetry_info(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	struct ibv_port_attr attr = { 0 };
	char mac[RTE_ETHER_ADDR_FMT_SIZE];

	if (argument != NULL)
		return -EINVAL;
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
	add_objects(&port->dev, d);
	add_limits(port, d);
	add_workers(port, d);
	add_steering(port, d);
	add_addresses(port, d);
	add_groups(port, d);
	return 0;
}

int
uroce_telemetry_stats(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	struct uroce_counter counters[MAX_COUNTERS];
	unsigned int n;

	if (argument != NULL)
		return -EINVAL;
	n = uroce_port_query_counters(port, counters, RTE_DIM(counters));
	rte_tel_data_start_dict(d);
	for (unsigned int i = 0; i < RTE_MIN(n, RTE_DIM(counters)); i++)
		rte_tel_data_add_dict_uint(d, counters[i].name, counters[i].value);
	return 0;
}

int
uroce_telemetry_hw_counters(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	if (argument != NULL)
		return -EINVAL;
	rte_tel_data_start_dict(d);
	for (unsigned int i = 0; i < uroce_hw_counter_count; i++)
		rte_tel_data_add_dict_uint(d, uroce_hw_counters[i].name,
					  uroce_hw_counter_read(port, &uroce_hw_counters[i]));
	return 0;
}

int
uroce_telemetry_cm(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	const struct uroce_agent *a = port->agent; /* the registry's lock keeps it alive */
	uint64_t values[MAX_COUNTERS];
	const char *names[MAX_COUNTERS];
	unsigned int n;

	if (argument != NULL)
		return -EINVAL;
	if (a == NULL)
		return -ENOENT;
	rte_tel_data_start_dict(d);
	for (unsigned int i = 0; i < UROCE_AGENT_COUNTER_COUNT; i++)
		rte_tel_data_add_dict_uint(d, uroce_agent_counter_names[i],
					  __atomic_load_n(&a->counters[i], __ATOMIC_RELAXED));
	n = uroce_cm_query_counters(a->ibcm.cm, names, values, RTE_DIM(values));
	for (unsigned int i = 0; i < RTE_MIN(n, RTE_DIM(values)); i++)
		rte_tel_data_add_dict_uint(d, names[i], values[i]);
	return 0;
}
