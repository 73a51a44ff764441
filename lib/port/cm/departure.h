/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Peers that have departed: the other end of the port's link is a process that has ended, or a switch has reported that
 * a process has ended. The CM closes the connections to them, as a kernel does for a process that is killed.
 */

#ifndef UROCE_PORT_CM_DEPARTURE_H
#define UROCE_PORT_CM_DEPARTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/ib/cm.h"
#include "port/worker/rx.h"
#include "wire/departure.h"

/* Numbers of departures until some time. */
struct uroce_departures {
	uint64_t of_all;       /* departures of all peers at once */
	uint64_t of_neighbors; /* departures of single neighbors */
};

/** All peers of the port have departed. Call this before MADs of their successors can arrive. Any thread. */
void uroce_depart_all(struct uroce_port *port);

/** Process a switch's report that a neighbor has departed. The Ethernet header is complete. Worker, within a poll. */
enum uroce_verdict uroce_departure_receive(const struct uroce_rx *rx);
/** May a frame to this MAC address be such a report? Only on a link to a process of this host. */
static inline bool
uroce_departure_may_be(const struct uroce_port *port, const struct rte_ether_addr *dst)
{
	const struct rte_ether_addr group = uroce_departure_group();

	return port->at_process && rte_is_same_ether_addr(dst, &group);
}

/** @return the departures until now */
struct uroce_departures uroce_departures_now(const struct uroce_port *port);
/**
 * Report peers that have departed since `seen` to the CM, which hangs up their connections.
 * The caller must have read the MADs of a successor before this call, and must pass them to the CM after it, so that the
 * CM does not hang up the successor's connections. A REQ of the departed peer among them gets an answer that no peer
 * receives, and times out. Under uroce_cm_lock.
 */
void uroce_departures_tell(struct uroce_port *port, struct uroce_cm *cm, struct uroce_departures *seen,
			   uint64_t now_ns);

#endif /* UROCE_PORT_CM_DEPARTURE_H */
