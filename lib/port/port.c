/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Opens a DPDK port as an RDMA device (uroce_open_port()) and closes it (uroce_close_device()). restart.c stops and
 * starts it in between. Control threads.
 */

#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "base/rcu.h"
#include "base/sized.h"
#include "port/cm/agent.h"
#include "cm/service.h"
#include "port/ethdev/dma.h"
#include "port/ethdev/ethdev.h"
#include "port/ethdev/link.h"
#include "base/log.h"
#include "port/footprint.h"
#include "port/limits.h"
#include "port/port.h"
#include "port/registry.h"
#include "port/worker/shortage.h"
#include "port/telemetry/telemetry.h"
#include "port/ethdev/watch.h"
#include "port/worker/worker.h"
#include "uroce.h"
#include "verbs/device/context.h"

#define MAX_VLAN 4094
#define LEAST_BYTES UROCE_SIZED_UP_TO(struct uroce_port_conf, reserved)

static bool
are_zero(uint16_t port_id, const char *name, const uint8_t *bytes, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (bytes[i] != 0) {
			UROCE_LOG(ERR, "port %u: byte %u of `%s` is %u: set it to 0\n", port_id, i, name, bytes[i]);
			return false;
		}
	return true;
}

int
uroce_port_conf_get(uint16_t port_id, const struct uroce_port_conf *program_conf, struct uroce_port_conf *conf)
{
	int ret = 0;

	*conf = (struct uroce_port_conf){ .size = sizeof(*conf) };
	if (program_conf != NULL)
		ret = uroce_sized_get("uroce_port_conf", conf, sizeof(*conf), LEAST_BYTES, program_conf);
	if (ret < 0)
		return ret;
	if (!are_zero(port_id, "reserved", conf->reserved, RTE_DIM(conf->reserved)) ||
	    !are_zero(port_id, "reserved_end", conf->reserved_end, RTE_DIM(conf->reserved_end)))
		return -EINVAL;
	return uroce_limits_port(conf);
}

int
uroce_port_workers_check(uint16_t port_id, struct uroce_worker *const *workers, unsigned int n)
{
	if (workers == NULL || n == 0 || n > UROCE_MAX_WORKERS) {
		UROCE_LOG(ERR, "port %u: %u workers were passed: pass 1..%u\n", port_id, workers != NULL ? n : 0,
			  UROCE_MAX_WORKERS);
		return -EINVAL;
	}
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = 0; j < i; j++)
			if (workers[i] == workers[j]) {
				UROCE_LOG(ERR, "port %u: workers %u and %u are the same worker: pass each once\n",
					  port_id, j, i);
				return -EINVAL;
			}
	return 0;
}

int
uroce_port_window_check(uint16_t port_id, struct uroce_port_conf *conf, struct uroce_worker *const *workers,
			unsigned int n)
{
	unsigned int least = 0;

	for (unsigned int i = 1; i < n; i++)
		if (workers[i]->conf.log2_window < workers[least]->conf.log2_window)
			least = i;
	if (conf->log2_window == 0)
		conf->log2_window = workers[least]->conf.log2_window;
	if (conf->log2_window <= workers[least]->conf.log2_window)
		return 0;
	UROCE_LOG(ERR,
		  "port %u: log2_window %u exceeds %u, that of worker %u: create the worker by uroce_create_worker_ex() "
		  "with log2_window %u\n",
		  port_id, conf->log2_window, workers[least]->conf.log2_window, least, conf->log2_window);
	return -EINVAL;
}

int
uroce_port_mtu_check(const struct uroce_port *port)
{
	unsigned int path_mtu = 128u << uroce_mtu_of_ethernet(port->mtu);

	for (unsigned int i = 0; i < port->nb_queues; i++) {
		if (path_mtu <= port->queues[i].worker->conf.path_mtu)
			continue;
		UROCE_LOG(ERR,
			  "port %u: Ethernet MTU %u has path MTU %u, and path_mtu of worker %u is %u: raise it, or pass "
			  "mtu %u\n",
			  port->port_id, port->mtu, path_mtu, i, port->queues[i].worker->conf.path_mtu,
			  port->queues[i].worker->conf.path_mtu + UROCE_MTU_OVERHEAD);
		return -EINVAL;
	}
	return 0;
}

static int
check(uint16_t port_id, const struct uroce_port_conf *conf)
{
	if (!rte_eth_dev_is_valid_port(port_id)) {
		UROCE_LOG(ERR, "DPDK has no port %u: it has %u ports; check EAL's arguments (-a, --vdev)\n", port_id,
			  rte_eth_dev_count_avail());
		return -ENODEV;
	}
	if (conf->vlan > MAX_VLAN) {
		UROCE_LOG(ERR, "port %u: VLAN %u is not in 1..%u: pass a VLAN in this range, or 0 for none\n", port_id,
			  conf->vlan, MAX_VLAN);
		return -EINVAL;
	}
	return 0;
}

/* The EUI-64 of the MAC address, as in Linux for RoCE. */
static uint64_t
guid_of(const struct rte_ether_addr *mac)
{
	uint8_t gid[16];
	uint64_t guid;

	uroce_gid_link_local(gid, mac);
	memcpy(&guid, gid + 8, sizeof(guid));
	return guid;
}

static int
device_init(struct uroce_port *port, unsigned int index, const struct uroce_port_conf *conf)
{
	const struct uroce_device_ops *ops = conf->poll_progress != 0 ? &uroce_driven_port_ops : &uroce_port_ops;
	char name[IBV_SYSFS_NAME_MAX];
	struct uroce_device_conf dev_conf = {
		.name = conf->name != NULL ? conf->name : name,
		.node_guid = guid_of(&port->mac),
		.index = (uint16_t)index,
		.port_id = port->port_id,
		.vlan = port->vlan,
		.numa_node = port->numa_node,
		.log2_max_qp = conf->log2_max_qp,
		.log2_max_mr = conf->log2_max_mr,
		.log2_window = conf->log2_window,
		.max_cq = conf->max_cq,
		.go_back_n = conf->go_back_n != 0,
		.congestion = conf->congestion,
		.poll_progress = conf->poll_progress != 0,
		.comp_vectors = port->nb_queues,
	};
	int ret;

	snprintf(name, sizeof(name), "uroce%u", index);
	ret = uroce_device_init(&port->dev, ops, &dev_conf);
	if (ret < 0)
		UROCE_LOG(ERR, "port %u: cannot create the device %s: %s\n", port->port_id, dev_conf.name,
			  rte_strerror(-ret));
	return ret;
}

static struct uroce_port *
port_alloc(uint16_t port_id, const struct uroce_port_conf *conf,
	   struct uroce_worker *const *workers, unsigned int nb_workers)
{
	int node = rte_eth_dev_socket_id(port_id);
	struct uroce_port *port;

	if (node < 0)
		node = workers[0]->numa_node;
	port = rte_zmalloc_socket("uroce_port", sizeof(*port), alignof(struct uroce_port), node);
	if (port == NULL)
		return NULL;
	port->port_id = port_id;
	port->numa_node = node;
	if (uroce_port_set_workers(port, workers, nb_workers) < 0) {
		rte_free(port);
		return NULL;
	}
	port->vlan = conf->vlan;
	port->no_loopback = conf->no_loopback != 0;
	port->conf = *conf;
	port->conf.name = NULL;
	port->conf.congestion = NULL;
	port->upkeep_ns = UINT64_MAX;
	uroce_groups_init(&port->groups);
	pthread_mutex_init(&port->lock, NULL);
	pthread_mutex_init(&port->life, NULL);
	return port;
}

static void
port_free(struct uroce_port *port)
{
	pthread_mutex_destroy(&port->life);
	pthread_mutex_destroy(&port->lock);
	uroce_port_free_queues(port);
	rte_free(port);
}

static int
neighbors_init(struct uroce_port *port, const struct uroce_port_conf *conf)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", port->port_id);
	return uroce_neighbors_init(&port->neighbors, name, conf->max_neighbors, port->numa_node);
}

/* @return 0 or -errno */
static int
port_init(struct uroce_port *port, unsigned int index, const struct uroce_port_conf *conf)
{
	int ret;

	ret = uroce_ethdev_start(port, conf);
	if (ret < 0)
		return ret;
	ret = uroce_port_mtu_check(port);
	if (ret < 0)
		goto stop_ethdev;
	ret = neighbors_init(port, conf);
	if (ret < 0)
		goto stop_ethdev;
	ret = uroce_gids_init(port);
	if (ret < 0)
		goto fini_neighbors;
	ret = device_init(port, index, conf);
	if (ret < 0)
		goto fini_gids;
	uroce_port_dma_init(port);
	uroce_ethdev_listen(port, port->published);
	return 0;
fini_gids:
	uroce_gids_fini(port);
fini_neighbors:
	uroce_neighbors_fini(&port->neighbors);
stop_ethdev:
	uroce_ethdev_stop(port);
	return ret;
}

static void
port_fini(struct uroce_port *port)
{
	uroce_neighbors_fini(&port->neighbors);
	uroce_gids_fini(port);
	uroce_ethdev_stop(port);
}

/* Publish the device, and unless the port is stopped, add it to its workers. */
static void
come(struct uroce_port *port)
{
	uroce_watch_start(port);
	if (!port->stopped) {
		uroce_steer_start(port);
		uroce_port_attach(port);
	}
	uroce_registry_publish(port);
}

static void
go(struct uroce_port *port)
{
	if (uroce_groups_leaving(&port->groups))
		uroce_workers_progress(); /* worker 0 reports the left groups, so that routers stop forwarding */
	uroce_registry_unpublish(port);
	uroce_watch_stop(port);
	if (!port->stopped) {
		uroce_port_detach(port);
		uroce_steer_stop(port);
	}
}

/* Log the remedy if there was no memory for the device. Call after its parts have been freed. */
static void
log_shortage(const struct uroce_port *port)
{
	struct uroce_port_footprint f;
	char what[64];

	snprintf(what, sizeof(what), "port %u: a device with %u worker%s", port->port_id, port->nb_queues,
		 port->nb_queues != 1 ? "s" : "");
	uroce_port_footprint(port, &f);
	uroce_log_shortage(what, f.total);
}

struct ibv_context *
uroce_open_port(uint16_t port_id, const struct uroce_port_conf *program_conf,
		struct uroce_worker *const *workers, unsigned int nb_workers)
{
	struct uroce_port_conf conf;
	struct uroce_port *port;
	int index, ret;

	ret = uroce_port_conf_get(port_id, program_conf, &conf);
	if (ret == 0)
		ret = check(port_id, &conf);
	if (ret == 0)
		ret = uroce_port_workers_check(port_id, workers, nb_workers);
	if (ret < 0)
		goto failed;
	ret = uroce_workers_get(workers, nb_workers);
	if (ret < 0)
		goto failed;
	ret = uroce_port_window_check(port_id, &conf, workers, nb_workers);
	if (ret < 0)
		goto put_workers;
	index = uroce_registry_reserve(port_id);
	ret = index;
	if (ret < 0)
		goto put_workers;
	ret = -ENOMEM;
	port = port_alloc(port_id, &conf, workers, nb_workers);
	if (port == NULL)
		goto release_index;
	ret = port_init(port, (unsigned int)index, &conf);
	if (ret == -ENOMEM)
		log_shortage(port);
	if (ret < 0)
		goto free_port;
	come(port);
	uroce_telemetry_init();
	uroce_cm_device_opened(&port->dev);
	return &port->dev.vctx.context;
free_port:
	port_free(port);
release_index:
	uroce_registry_release((unsigned int)index);
put_workers:
	uroce_workers_put(workers, nb_workers);
failed:
	errno = -ret;
	return NULL;
}

/* Does the application have objects of the device? Checked before the port is detached, which drops frames in flight.
 * The objects of the CM's agent do not count: closing the device destroys them. */
static bool
in_use(struct uroce_device *dev)
{
	struct uroce_port *port = uroce_port_of(dev);
	uint32_t own;
	bool used;

	uroce_registry_lock();
	own = port->agent != NULL;
	pthread_mutex_lock(&dev->lock);
	used = dev->pd_count > own * UROCE_AGENT_PDS || dev->cq_count > own * UROCE_AGENT_CQS ||
	       dev->qp_count > own * UROCE_AGENT_QPS || dev->xrcd_count > 0 ||
	       dev->channel_count > own * UROCE_AGENT_CHANNELS || dev->context_count > 0;
	pthread_mutex_unlock(&dev->lock);
	uroce_registry_unlock();
	return used;
}

static int
port_close(struct uroce_port *port)
{
	struct uroce_worker *workers[UROCE_MAX_WORKERS];
	unsigned int nb_workers = port->nb_queues;
	unsigned int index = port->dev.index;
	int ret;

	if (!uroce_cm_device_closing(&port->dev, in_use))
		return EBUSY;
	go(port);
	ret = uroce_device_fini(&port->dev);
	if (ret < 0) {
		come(port); /* the application has just created an object: keep the device */
		uroce_cm_device_opened(&port->dev);
		return -ret;
	}
	for (unsigned int i = 0; i < nb_workers; i++)
		workers[i] = port->queues[i].worker;
	port_fini(port);
	port_free(port);
	uroce_registry_release(index);
	uroce_workers_put(workers, nb_workers);
	return 0;
}

int
uroce_close_device(struct ibv_context *context)
{
	return uroce_context_close(context) ? 0 : port_close(uroce_port_of_context(context));
}
