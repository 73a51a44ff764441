/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What a port counts for each of its queues, beside the verdicts of received frames. The queue's worker adds; any
 * thread reads (relaxed).
 */

#ifndef UROCE_PORT_COUNTERS_H
#define UROCE_PORT_COUNTERS_H

#include <stdint.h>

enum uroce_port_counter {
	UROCE_PORT_RX_FRAMES,
	UROCE_PORT_TX_FRAMES,
	UROCE_PORT_LOOPBACK_FRAMES,    /* sent to a device of this process, not through a port */
	UROCE_PORT_HANDED_OVER,        /* received for a QP of another worker */
	UROCE_PORT_TX_DROP_STALLED,    /* the port has taken nothing for UROCE_TX_STALL_NS */
	UROCE_PORT_TX_DROP_UNRESOLVED, /* no answer for the neighbor's address, or too many wait */
	UROCE_PORT_TX_DROP_LOOPBACK, /* the loopback's device or QP is gone, or its worker stands */
	UROCE_PORT_TX_DROP_LOCAL,    /* no room or mbuf for an answer to ARP, ND or ICMP */
	UROCE_PORT_ARP_ANSWERED,
	UROCE_PORT_ND_ANSWERED,
	UROCE_PORT_ECHO_ANSWERED,
	UROCE_PORT_PROBES_SENT, /* ARP requests and neighbor solicitations */
	UROCE_PORT_GROUP_QUERIES, /* IGMP and MLD: who is in which multicast group */
	UROCE_PORT_GROUP_REPORTS,
	UROCE_PORT_GROUP_DELIVERIES, /* of multicast packets, to each QP that is in the group */
	UROCE_PORT_FILLERS_SENT, /* so that the port looks after what it has sent */
	UROCE_PORT_COUNTER_COUNT,
};

extern const char *const uroce_port_counter_names[UROCE_PORT_COUNTER_COUNT];

struct uroce_port;

/** The sums over a port's queues, or their workers: enum uroce_port_counter, uroce_verdict, uroce_engine_counter.
 * Any thread. */
uint64_t uroce_port_counter(const struct uroce_port *port, unsigned int which);
uint64_t uroce_port_verdict_counter(const struct uroce_port *port, unsigned int which);
uint64_t uroce_port_engine_counter(const struct uroce_port *port, unsigned int which);

/* One writer: no read-modify-write, but whole stores. */
static inline void
uroce_counter_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

#endif /* UROCE_PORT_COUNTERS_H */
