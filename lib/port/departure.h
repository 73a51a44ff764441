/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Peers of a port that are known to have gone, not only to be silent: where the other end of its link is a process.
 * What the CM has connected to them is hung up, as a kernel does for a process that is killed.
 */

#ifndef UROCE_PORT_DEPARTURE_H
#define UROCE_PORT_DEPARTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"
#include "port/port.h"

/** Everybody that the port leads to has gone; who comes in their place, comes after this. Any thread. */
void uroce_depart_all(struct uroce_port *port);

/**
 * Has anybody gone since `seen`, who is still there for the CM? Then tell it.
 * What a successor has sent must have been read before this is called, and given to the CM afterwards: then it is
 * no connection of his that is hung up, and none of before stays. Under uroce_cm_lock.
 */
void uroce_departures_tell(struct uroce_port *port, struct uroce_cm *cm, uint64_t *seen, uint64_t now_ns);

#endif /* UROCE_PORT_DEPARTURE_H */
