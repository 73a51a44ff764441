/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends the frames of a port that are due by time: probes for neighbors, announcements, membership reports, pings.
 */

#ifndef UROCE_PORT_NET_UPKEEP_H
#define UROCE_PORT_NET_UPKEEP_H

#include <stdint.h>

#include "port/port.h"

/** Send all frames that are due. Worker 0 of the port, within a poll, when now_ns has reached port->upkeep_ns. */
void uroce_port_upkeep(struct uroce_port_queue *q, uint64_t now_ns);

#endif /* UROCE_PORT_NET_UPKEEP_H */
