/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Adds up the counters of a device's queues and workers. Any thread, while the workers run.
 */

#include "port/counters.h"
#include "port/port.h"
#include "port/worker/worker.h"
#include "uroce.h"

const char *const uroce_port_counter_names[UROCE_PORT_COUNTER_COUNT] = {
	[UROCE_PORT_RX_FRAMES] = "rx_frames",
	[UROCE_PORT_TX_FRAMES] = "tx_frames",
	[UROCE_PORT_TX_BY_REFERENCE] = "tx_by_reference",
	[UROCE_PORT_LOOPBACK_FRAMES] = "loopback_frames",
	[UROCE_PORT_STEERED] = "steered",
	[UROCE_PORT_HANDED_OVER] = "handed_over",
	[UROCE_PORT_TX_DROP_STALLED] = "tx_drop_stalled",
	[UROCE_PORT_TX_DROP_UNRESOLVED] = "tx_drop_unresolved",
	[UROCE_PORT_TX_DROP_LOOPBACK] = "tx_drop_loopback",
	[UROCE_PORT_TX_DROP_LOCAL] = "tx_drop_local",
	[UROCE_PORT_TX_DROP_SOCKET] = "tx_drop_socket",
	[UROCE_PORT_RX_DROP_SOCKET] = "rx_drop_socket",
	[UROCE_PORT_ARP_ANSWERED] = "arp_answered",
	[UROCE_PORT_ND_ANSWERED] = "nd_answered",
	[UROCE_PORT_ECHO_ANSWERED] = "echo_answered",
	[UROCE_PORT_PROBES_SENT] = "probes_sent",
	[UROCE_PORT_GROUP_QUERIES] = "group_queries",
	[UROCE_PORT_GROUP_REPORTS] = "group_reports_sent",
	[UROCE_PORT_GROUP_DELIVERIES] = "group_deliveries",
	[UROCE_PORT_FILLERS_SENT] = "fillers_sent",
	[UROCE_PORT_RULES_INSTALLED] = "rules_installed",
	[UROCE_PORT_RULES_EVICTED] = "rules_evicted",
	[UROCE_PORT_RULES_REFUSED] = "rules_refused",
};

/* The caller's array. `count` may exceed `room`: it is the number of counters that exist. */
struct out {
	struct uroce_counter *counters;
	unsigned int room;
	unsigned int count;
};

static void
put(struct out *out, const char *name, uint64_t value)
{
	if (out->count < out->room)
		out->counters[out->count] = (struct uroce_counter){ name, value };
	out->count++;
}

static uint64_t
read_relaxed(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* The counters that no queue has. */
static uint64_t
read_other(const struct uroce_port *port, unsigned int which)
{
	switch (which) {
	case UROCE_PORT_TX_DROP_UNRESOLVED: /* frames whose neighbor did not answer */
		return read_relaxed(&port->neighbors.dropped);
	case UROCE_PORT_RULES_INSTALLED: return read_relaxed(&port->steer.rules.installed);
	case UROCE_PORT_RULES_EVICTED: return read_relaxed(&port->steer.rules.evicted);
	case UROCE_PORT_RULES_REFUSED: return read_relaxed(&port->steer.rules.rejected);
	default: return 0;
	}
}

uint64_t
uroce_port_counter(const struct uroce_port *port, unsigned int which)
{
	uint64_t sum = read_other(port, which);

	for (unsigned int i = 0; i < port->most_queues; i++)
		sum += read_relaxed(&port->queues[i].counters[which]);
	return sum;
}

uint64_t
uroce_port_verdict_counter(const struct uroce_port *port, unsigned int which)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < port->most_queues; i++)
		sum += read_relaxed(&port->queues[i].verdicts[which]);
	for (unsigned int i = 0; i < port->nb_queues; i++)
		sum += read_relaxed(&port->queues[i].worker->engine.verdicts[which]);
	return sum;
}

uint64_t
uroce_port_engine_counter(const struct uroce_port *port, unsigned int which)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < port->nb_queues; i++)
		sum += read_relaxed(&port->queues[i].worker->engine.counters[which]);
	return sum;
}

unsigned int
uroce_port_query_counters(const struct uroce_port *port, struct uroce_counter *counters, unsigned int room)
{
	struct out out = { counters, room, 0 };

	for (unsigned int i = 0; i < UROCE_PORT_COUNTER_COUNT; i++)
		put(&out, uroce_port_counter_names[i], uroce_port_counter(port, i));
	for (unsigned int i = 0; i < UROCE_ENGINE_COUNTER_COUNT; i++)
		put(&out, uroce_engine_counter_names[i], uroce_port_engine_counter(port, i));
	for (unsigned int i = 0; i < UROCE_VERDICT_COUNT; i++)
		put(&out, uroce_verdicts[i].name, uroce_port_verdict_counter(port, i));
	return out.count;
}

unsigned int
uroce_query_counters(struct ibv_context *context, struct uroce_counter *counters, unsigned int room)
{
	struct uroce_port *port = uroce_port_of_context(context);
	unsigned int n;

	pthread_rwlock_rdlock(&port->dev.engines_lock);
	n = uroce_port_query_counters(port, counters, room);
	pthread_rwlock_unlock(&port->dev.engines_lock);
	return n;
}
