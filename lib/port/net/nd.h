/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends neighbor solicitations and unsolicited advertisements.
 */

#ifndef UROCE_PORT_NET_ND_H
#define UROCE_PORT_NET_ND_H

#include <stdint.h>

#include <rte_ether.h>

struct uroce_port_queue;

/** Solicit target's MAC address. @param dst	zero: the target's solicited-node group */
void uroce_nd_solicit(struct uroce_port_queue *q, const struct rte_ether_addr *dst,
		      const uint8_t src[16], const uint8_t target[16]);
/** Announce to all nodes that the port has the address. */
void uroce_nd_announce(struct uroce_port_queue *q, const uint8_t address[16]);

#endif /* UROCE_PORT_NET_ND_H */
