/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Peers that are known to have gone, because the other end of the port's link is a process that ended. The CM ends
 * its connections to them, as a kernel does for a process that is killed.
 */

#ifndef UROCE_PORT_CM_DEPARTURE_H
#define UROCE_PORT_CM_DEPARTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/ib/cm.h"
#include "port/worker/rx.h"
#include "wire/departure.h"

/* What the CM has been told of. Under uroce_cm_lock. */
struct uroce_departures {
	uint64_t of_all;
	uint64_t of_neighbors;
};

/** Everybody that the port leads to has gone; who comes in their place, comes after this. Any thread. */
void uroce_depart_all(struct uroce_port *port);

/** Of one neighbor, as a switch says; there is a whole Ethernet header. Worker, within a poll. */
enum uroce_verdict uroce_departure_receive(const struct uroce_rx *rx);
/** May a frame to this group be one that says so? */
static inline bool
uroce_departure_may_be(const struct uroce_port *port, const struct rte_ether_addr *dst)
{
	const struct rte_ether_addr group = uroce_departure_group();

	return port->at_process && rte_is_same_ether_addr(dst, &group);
}

/** As many as there have been until now. */
struct uroce_departures uroce_departures_now(const struct uroce_port *port);
/**
 * Has anybody gone since `seen`, who is still there for the CM? Then tell it.
 * What a successor has sent must have been read before this is called, and given to the CM afterwards: then it is
 * no connection of his that is hung up. A REQ of before that is read with it is answered to nobody, and times out.
 * Under uroce_cm_lock.
 */
void uroce_departures_tell(struct uroce_port *port, struct uroce_cm *cm, struct uroce_departures *seen,
			   uint64_t now_ns);

#endif /* UROCE_PORT_CM_DEPARTURE_H */
