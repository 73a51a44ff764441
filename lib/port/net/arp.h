/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends ARP requests.
 */

#ifndef UROCE_PORT_NET_ARP_H
#define UROCE_PORT_NET_ARP_H

#include <stdint.h>

#include <rte_ether.h>

struct uroce_port_queue;

/** Send a request for target's MAC address; with sender == target it announces the address. @param dst	zero:
 * broadcast */
void uroce_arp_request(struct uroce_port_queue *q, const struct rte_ether_addr *dst,
		       uint32_t sender_be, uint32_t target_be);

#endif /* UROCE_PORT_NET_ARP_H */
