/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The counters of a port's queues, beside the verdicts of received frames. The queue's worker writes, any thread reads.
 */

#ifndef UROCE_PORT_COUNTERS_H
#define UROCE_PORT_COUNTERS_H

#include <stdint.h>

enum uroce_port_counter {
	UROCE_PORT_RX_FRAMES, /* frames received */
	UROCE_PORT_TX_FRAMES, /* frames sent */
	UROCE_PORT_TX_BY_REFERENCE, /* of these, frames whose payload the peer reads from this process's memory */
	UROCE_PORT_LOOPBACK_FRAMES,    /* sent to a device of this process, not through a port */
	UROCE_PORT_STEERED,            /* received for a QP of the queue's own worker */
	UROCE_PORT_HANDED_OVER,        /* received for a QP of another worker */
	UROCE_PORT_TX_DROP_STALLED,    /* the port accepted no frame for UROCE_TX_STALL_NS */
	UROCE_PORT_TX_DROP_UNRESOLVED, /* the neighbor does not answer, or too many frames wait for one */
	UROCE_PORT_TX_DROP_LOOPBACK,   /* the destination device or QP is gone, or its inbox stays full */
	UROCE_PORT_TX_DROP_LOCAL,      /* no room or no mbuf for a frame of ARP, ND, ICMP, IGMP or MLD */
	UROCE_PORT_TX_DROP_SOCKET,     /* net_uroce_udp: the kernel refused a datagram, or no socket could send the frame */
	UROCE_PORT_RX_DROP_SOCKET,     /* net_uroce_udp: no room in a socket's buffer, no mbuf, or longer than the MTU */
	UROCE_PORT_ARP_ANSWERED, /* ARP requests answered */
	UROCE_PORT_ND_ANSWERED, /* neighbor solicitations answered */
	UROCE_PORT_ECHO_ANSWERED, /* ICMP and ICMPv6 echo requests answered */
	UROCE_PORT_PROBES_SENT, /* ARP requests and neighbor solicitations */
	UROCE_PORT_GROUP_QUERIES, /* IGMP and MLD queries received */
	UROCE_PORT_GROUP_REPORTS, /* IGMP and MLD reports sent */
	UROCE_PORT_GROUP_DELIVERIES, /* a multicast packet counts once for each QP that receives it */
	UROCE_PORT_FILLERS_SENT, /* dummy frames, which make the driver free transmitted mbufs */
	UROCE_PORT_RULES_INSTALLED, /* flow rules for QPs whose frames were handed over */
	UROCE_PORT_RULES_EVICTED, /* flow rules removed to make room for others */
	UROCE_PORT_RULES_REFUSED, /* flow rules that the driver did not take, or for which all rules were in use */
	UROCE_PORT_COUNTER_COUNT,
};

extern const char *const uroce_port_counter_names[UROCE_PORT_COUNTER_COUNT];

struct uroce_counter;
struct uroce_port;

/** As uroce_query_counters(), under the device's engines_lock or the registry's lock. */
unsigned int uroce_port_query_counters(const struct uroce_port *port, struct uroce_counter *counters, unsigned int room);
/** @return the sum of a counter over the port's queues and their workers, under these locks.
 * @param which	enum uroce_port_counter, enum uroce_verdict or enum uroce_engine_counter */
uint64_t uroce_port_counter(const struct uroce_port *port, unsigned int which);
uint64_t uroce_port_verdict_counter(const struct uroce_port *port, unsigned int which);
uint64_t uroce_port_engine_counter(const struct uroce_port *port, unsigned int which);

/* The counter has one writer, so no atomic read-modify-write is needed; readers on other threads see whole values. */
static inline void
uroce_counter_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

#endif /* UROCE_PORT_COUNTERS_H */
