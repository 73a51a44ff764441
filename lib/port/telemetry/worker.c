/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Telemetry of workers: lcore, load, traffic, pools. It does not take a worker's turn. EAL's telemetry threads,
 * with the registry's lock.
 */

#include <errno.h>

#include <rte_cycles.h>
#include <rte_lcore.h>

#include "base/dpdk_compat.h"
#include "base/rcu.h"
#include "port/footprint.h"
#include "port/registry.h"
#include "port/telemetry/page.h"
#include "port/sleep/wake.h"
#include "port/telemetry/telemetry.h"
#include "port/worker/worker.h"
#include "uroce.h"
#include "verbs/qp/qp.h"

static uint64_t
read_relaxed(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static uint64_t
cycles(uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * rte_get_tsc_hz() / 1000000000);
}

static void
describe_load(struct uroce_worker *w, struct rte_tel_data *d)
{
	struct uroce_worker_load load = { .size = sizeof(load) };

	uroce_query_worker(w, &load);
	rte_tel_data_add_dict_uint(d, "rounds", load.rounds);
	rte_tel_data_add_dict_uint(d, "busy_rounds", load.busy_rounds);
	rte_tel_data_add_dict_uint(d, "late_rounds", load.late_rounds);
	rte_tel_data_add_dict_uint(d, "latest_ns", load.latest_ns);
	rte_tel_data_add_dict_uint(d, "busy_cycles", cycles(load.busy_ns));
	rte_tel_data_add_dict_uint(d, "total_cycles", cycles(load.total_ns));
}

static void
describe_engine(const struct uroce_engine *e, struct rte_tel_data *d)
{
	uint64_t received = 0;

	for (unsigned int i = 0; i < UROCE_VERDICT_COUNT; i++)
		received += read_relaxed(&e->verdicts[i]);
	rte_tel_data_add_dict_uint(d, "received_packets", received);
	rte_tel_data_add_dict_uint(d, "sent_packets", read_relaxed(&e->counters[UROCE_SENT_PACKETS]));
	rte_tel_data_add_dict_uint(d, "received_bytes", read_relaxed(&e->counters[UROCE_RECEIVED_BYTES]));
	rte_tel_data_add_dict_uint(d, "sent_bytes", read_relaxed(&e->counters[UROCE_SENT_BYTES]));
	rte_tel_data_add_dict_uint(d, "retransmitted_packets",
				  read_relaxed(&e->counters[UROCE_RETRANSMITTED_PACKETS]));
	rte_tel_data_add_dict_uint(d, "no_mbuf", read_relaxed(&e->counters[UROCE_NO_MBUF]));
	rte_tel_data_add_dict_int(d, "recovering_qps", (int)__atomic_load_n(&e->recoveries.lent, __ATOMIC_RELAXED));
	rte_tel_data_add_dict_int(d, "rated_qps", (int)__atomic_load_n(&e->rated, __ATOMIC_RELAXED));
	rte_tel_data_add_dict_int(d, "early_frames",
				  (int)e->reorder.frames_count -
					(int)__atomic_load_n(&e->reorder.frames_free, __ATOMIC_RELAXED));
}

static void
describe_limits(const struct uroce_worker *w, struct rte_tel_data *d)
{
	struct uroce_worker_conf conf = w->conf;
	struct uroce_worker_footprint f;

	conf.inbox_frames = rte_ring_get_capacity(w->inbox); /* it may have grown */
	uroce_worker_footprint(&conf, &f);
	rte_tel_data_add_dict_uint(d, "memory_bytes", f.total);
	rte_tel_data_add_dict_int(d, "header_mbufs", (int)conf.header_mbufs);
	rte_tel_data_add_dict_int(d, "payload_mbufs", (int)conf.payload_mbufs);
	rte_tel_data_add_dict_int(d, "inbox_frames", (int)conf.inbox_frames);
	rte_tel_data_add_dict_int(d, "reorder_frames", (int)conf.reorder_frames);
	rte_tel_data_add_dict_int(d, "log2_window", (int)conf.log2_window);
}

static unsigned int
count_qps(const struct uroce_worker *w, const struct uroce_port *port)
{
	const struct uroce_qps *qps = &port->dev.qps;
	unsigned int n = 0;

	for (uint32_t i = 0; i < 1u << qps->log2; i++) {
		/* pairs with the release in publish() of verbs/qp/qp.c */
		const struct uroce_qp *qp = __atomic_load_n(&qps->qps[i], __ATOMIC_ACQUIRE);

		n += qp != NULL && uroce_qp_engine(qp) == &w->engine;
	}
	return n;
}

/* Describe the worker's queues, one of each device that it drives, and its QPs. */
static void
describe_devices(const struct uroce_worker *w, struct rte_tel_data *d)
{
	struct rte_tel_data *queues = rte_tel_data_alloc();
	uint64_t steered = 0, handed_over = 0;
	unsigned int qps = 0;
	char text[IBV_SYSFS_NAME_MAX + 16];

	if (queues == NULL)
		return;
	rte_tel_data_start_array(queues, RTE_TEL_STRING_VAL);
	uroce_rcu_watch_begin();
	for (unsigned int i = 0; i < UROCE_MAX_DEVICES; i++) {
		const struct uroce_port *port = uroce_registry_port(i);

		for (unsigned int q = 0; port != NULL && q < port->nb_queues; q++) {
			if (port->queues[q].worker != w)
				continue;
			snprintf(text, sizeof(text), "%s:%u", port->dev.ibv.name, q);
			rte_tel_data_add_array_string(queues, text);
			steered += read_relaxed(&port->queues[q].counters[UROCE_PORT_STEERED]);
			handed_over += read_relaxed(&port->queues[q].counters[UROCE_PORT_HANDED_OVER]);
			qps += count_qps(w, port);
		}
	}
	uroce_rcu_watch_end();
	rte_tel_data_add_dict_int(d, "qps", (int)qps);
	rte_tel_data_add_dict_uint(d, "steered", steered);
	rte_tel_data_add_dict_uint(d, "handed_over", handed_over);
	rte_tel_data_add_dict_container(d, "queues", queues, 0);
}

/* Describe a worker. Under workers_lock. */
static void
describe(struct uroce_worker *w, void *arg)
{
	struct rte_tel_data *d = arg;

	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_int(d, "worker", w->index);
	rte_tel_data_add_dict_int(d, "lcore", w->lcore == LCORE_ID_ANY ? -1 : (int)w->lcore);
	rte_tel_data_add_dict_int(d, "numa_node", w->numa_node);
	rte_tel_data_add_dict_int(d, "waiting", uroce_worker_is_waiting(w));
	rte_tel_data_add_dict_int(d, "devices", (int)w->devices);
	describe_load(w, d);
	describe_engine(&w->engine, d);
	describe_limits(w, d);
	rte_tel_data_add_dict_int(d, "inbox", (int)rte_ring_count(w->inbox));
	rte_tel_data_add_dict_uint(d, "lost", read_relaxed(&w->lost));
	describe_devices(w, d);
}

static void
add_index(struct uroce_worker *w, void *arg)
{
	rte_tel_data_add_array_int(arg, w->index);
}

int
uroce_telemetry_worker(const char *argument, struct rte_tel_data *d)
{
	uint64_t index;

	if (argument == NULL) {
		rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
		for (unsigned int i = 0; i < UROCE_MAX_WORKERS; i++)
			(void)uroce_workers_with(i, add_index, d);
		return 0;
	}
	if (uroce_telemetry_number(argument, UROCE_MAX_WORKERS - 1, &index) != 0)
		return -EINVAL;
	return uroce_workers_with((unsigned int)index, describe, d) ? 0 : -ENOENT;
}
