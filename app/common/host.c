/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Opens and closes devices and workers, and the two net_ring ports of a run within one process. Main thread.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ring.h>

#include <uroce_netem.h>

#include "address.h"
#include "conf.h"
#include "host.h"
#include "program.h"

#define RETRANSMITS_COUNTER "retransmitted_packets"
#define HANDED_OVER_COUNTER "handed_over"

int
uroce_app_host_workers(struct app_host *host, unsigned int n)
{
	struct uroce_worker_conf conf;
	struct uroce_port_conf unused;

	uroce_app_conf(host->limits, &conf, &unused, NULL, 0); /* the options were checked */
	for (; host->nb_workers < n; host->nb_workers++) {
		struct uroce_worker *worker = uroce_create_worker_ex(&conf);

		if (worker == NULL) {
			fprintf(stderr, "%s: cannot create worker %u: %s\n", uroce_app_name, host->nb_workers,
				strerror(errno));
			return -1;
		}
		host->workers[host->nb_workers] = worker;
	}
	return 0;
}

static uint32_t
mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << mtu;
}

static void
open_explain(uint16_t port_id, int error)
{
	const char *hint = "";

	if (error == ENOMEM)
		hint = ": reserve more hugepages, or raise EAL's -m";
	else if (error == EPERM) /* some drivers return -1; the library logs what net_memif needs */
		hint = ": the driver cannot start the port";
	fprintf(stderr, "%s: cannot open port %u: %s%s\n", uroce_app_name, port_id, strerror(error), hint);
}

int
uroce_app_host_open(struct app_host *host, uint16_t port_id, uint32_t qps, bool no_loopback)
{
	struct app_device *dev = &host->devs[host->nb_devs];
	struct uroce_worker_conf unused;
	struct uroce_port_conf conf;
	struct ibv_port_attr port;

	uroce_app_conf(host->limits, &unused, &conf, NULL, 0); /* the options were checked */
	conf.no_loopback = no_loopback;
	conf.go_back_n = host->go_back_n;
	conf.share_memory = host->share_memory;
	conf.no_owner = 1; /* dpdk-dumpcap sees only ports without an owner */
	if (conf.log2_max_qp == 0 && qps > (1u << UROCE_LOG2_MAX_QP) / 2)
		conf.log2_max_qp = UROCE_LOG2_MAX_QP + 1;
	dev->ctx = uroce_open_port(port_id, &conf, host->workers, host->nb_workers);
	if (dev->ctx == NULL) {
		open_explain(port_id, errno);
		return -1;
	}
	dev->port_id = port_id;
	host->nb_devs++;
	if (uroce_query_device(dev->ctx, &dev->attr) != 0 ||
	    uroce_query_port(dev->ctx, 1, &port) != 0) {
		fprintf(stderr, "%s: cannot query port %u\n", uroce_app_name, port_id);
		return -1;
	}
	dev->mtu = mtu_bytes(port.active_mtu);
	return 0;
}

static int
gid_index_find(struct ibv_context *ctx, const union ibv_gid *gid, uint8_t *index)
{
	struct ibv_gid_entry entry;

	for (unsigned int i = 0; i < UROCE_MAX_GID; i++) {
		if (uroce_query_gid_ex(ctx, 1, i, &entry, 0) == 0 &&
		    memcmp(&entry.gid, gid, sizeof(*gid)) == 0) {
			*index = (uint8_t)i;
			return 0;
		}
	}
	return -ENOENT;
}

int
uroce_app_host_address(struct app_host *host, unsigned int dev_index, const char *cidr)
{
	struct app_device *dev = &host->devs[dev_index];
	struct app_address *address = &dev->addrs[dev->nb_addrs];
	int ret = uroce_app_cidr_parse(cidr, &address->gid) != 0
			  ? EINVAL
			  : uroce_add_address(dev->ctx, cidr);

	if (ret == 0 && gid_index_find(dev->ctx, &address->gid, &address->index) != 0)
		ret = ENOENT;
	if (ret != 0) {
		fprintf(stderr, "%s: --addr %s: %s\n", uroce_app_name, cidr,
			ret == EEXIST ? "is given twice: leave one of them out" : strerror(ret));
		return -1;
	}
	dev->nb_addrs++;
	return 0;
}

int
uroce_app_host_launch(struct app_host *host, const unsigned int *lcores)
{
	memcpy(host->lcores, lcores, host->nb_workers * sizeof(lcores[0]));
	for (unsigned int i = 1; i < host->nb_workers; i++) {
		int ret = uroce_worker_launch(host->workers[i], lcores[i]);

		if (ret != 0) {
			fprintf(stderr, "%s: cannot start a worker on lcore %u: %s\n", uroce_app_name, lcores[i],
				strerror(ret));
			return -1;
		}
		host->nb_launched = i;
	}
	return 0;
}

void
uroce_app_host_stop(struct app_host *host)
{
	for (; host->nb_launched > 0; host->nb_launched--)
		uroce_worker_stop(host->workers[host->nb_launched]);
}

void
uroce_app_host_pause(struct app_host *host, unsigned int n)
{
	for (unsigned int i = 1; i < n && i <= host->nb_launched; i++)
		RTE_VERIFY(uroce_worker_stop(host->workers[i]) == 0);
}

void
uroce_app_host_resume(struct app_host *host, unsigned int n)
{
	for (unsigned int i = 1; i < n && i <= host->nb_launched; i++)
		RTE_VERIFY(uroce_worker_launch(host->workers[i], host->lcores[i]) == 0);
}

int
uroce_app_host_impair(struct app_host *host, const char *impairment)
{
	for (unsigned int d = 0; impairment != NULL && d < host->nb_devs; d++) {
		struct app_device *dev = &host->devs[d];

		dev->netem = uroce_netem_attach(dev->port_id, impairment);
		if (dev->netem == NULL) {
			fprintf(stderr, "%s: --impair: cannot impair port %u: %s\n", uroce_app_name, dev->port_id,
				strerror(errno));
			return -1;
		}
		host->impaired = true;
	}
	return 0;
}

void
uroce_app_host_unimpair(struct app_host *host)
{
	for (unsigned int d = 0; d < host->nb_devs; d++) {
		uroce_netem_detach(host->devs[d].netem);
		host->devs[d].netem = NULL;
	}
	host->impaired = false;
}

int
uroce_app_host_control(struct app_host *host, bool on)
{
	const struct uroce_congestion conf = { .size = sizeof(conf), .off = !on };

	for (unsigned int d = 0; d < host->nb_devs; d++) {
		int ret = uroce_set_congestion(host->devs[d].ctx, &conf);

		if (ret == 0)
			continue;
		fprintf(stderr, "%s: port %u: %s\n", uroce_app_name, host->devs[d].port_id, strerror(ret));
		return -1;
	}
	return 0;
}

void
uroce_app_host_close(struct app_host *host)
{
	int ret;

	uroce_app_host_stop(host);
	while (host->nb_devs > 0) {
		uroce_netem_detach(host->devs[--host->nb_devs].netem);
		ret = uroce_close_device(host->devs[host->nb_devs].ctx);
		if (ret != 0)
			fprintf(stderr, "%s: cannot close a device: %s\n", uroce_app_name, strerror(ret));
	}
	while (host->nb_workers > 0) {
		struct uroce_worker *worker = host->workers[--host->nb_workers];

		ret = host->borrowed ? 0 : uroce_destroy_worker(worker);
		if (ret != 0)
			fprintf(stderr, "%s: cannot destroy a worker: %s\n", uroce_app_name, strerror(ret));
	}
}

const struct app_address *
uroce_app_device_address(const struct app_device *dev, bool v4, const union ibv_gid *wanted)
{
	const struct app_address *found = NULL;

	for (unsigned int i = 0; i < dev->nb_addrs; i++) {
		const struct app_address *a = &dev->addrs[i];

		if (wanted != NULL && memcmp(&a->gid, wanted, sizeof(a->gid)) == 0)
			return a;
		if (found == NULL && uroce_app_gid_is_v4(&a->gid) == v4)
			found = a;
	}
	return found;
}

static uint64_t
counter_of(const struct app_device *dev, const char *name)
{
	struct uroce_counter counters[256];
	unsigned int n = uroce_query_counters(dev->ctx, counters, RTE_DIM(counters));

	for (unsigned int i = 0; i < RTE_MIN(n, RTE_DIM(counters)); i++) {
		if (strcmp(counters[i].name, name) == 0)
			return counters[i].value;
	}
	return 0;
}

/* The workers count, and all devices of the host share them: the counters of one device are enough. Borrowed workers
 * count for the host that owns them. */
uint64_t
uroce_app_host_counter(const struct app_host *host, const char *name)
{
	return host->borrowed || host->nb_devs == 0 ? 0 : counter_of(&host->devs[0], name);
}

uint64_t
uroce_app_host_handed_over(const struct app_host *host)
{
	uint64_t frames = 0;

	for (unsigned int d = 0; d < host->nb_devs; d++)
		frames += counter_of(&host->devs[d], HANDED_OVER_COUNTER);
	return frames;
}

uint64_t
uroce_app_host_late_rounds(const struct app_host *host)
{
	uint64_t rounds = 0;

	for (unsigned int i = 0; i < host->nb_workers && !host->borrowed; i++) {
		struct uroce_worker_load load = { .size = sizeof(load) };

		uroce_query_worker(host->workers[i], &load);
		rounds += load.late_rounds;
	}
	return rounds;
}

uint64_t
uroce_app_host_retransmits(const struct app_host *host)
{
	return uroce_app_host_counter(host, RETRANSMITS_COUNTER);
}

int
uroce_app_ring_ports(uint16_t ports[2], unsigned int queues)
{
	struct rte_ring *rings[2][UROCE_MAX_WORKERS];
	char name[RTE_RING_NAMESIZE];

	for (unsigned int d = 0; d < 2; d++) {
		for (unsigned int q = 0; q < queues; q++) {
			snprintf(name, sizeof(name), "uroce_app_%u_%u", d, q);
			rings[d][q] = rte_ring_create(name, UROCE_APP_RING_FRAMES, SOCKET_ID_ANY,
						      RING_F_SP_ENQ | RING_F_SC_DEQ);
			if (rings[d][q] == NULL) {
				fprintf(stderr, "%s: out of memory for a ring: reserve more hugepages, or raise EAL's "
					"-m\n",
					uroce_app_name);
				return -1;
			}
		}
	}
	for (unsigned int d = 0; d < 2; d++) {
		int port;

		snprintf(name, sizeof(name), "uroce_app%u", d);
		port = rte_eth_from_rings(name, rings[d], queues, rings[1 - d], queues, 0);
		if (port < 0) {
			fprintf(stderr, "%s: cannot create a net_ring port\n", uroce_app_name);
			return -1;
		}
		ports[d] = (uint16_t)port;
	}
	return 0;
}
