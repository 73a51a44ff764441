/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends ICMP and ICMPv6 echo requests. The worker, within a poll.
 */

#ifndef UROCE_PORT_NET_ICMP_H
#define UROCE_PORT_NET_ICMP_H

#include <stdint.h>

struct rte_ether_addr;
struct uroce_port_queue;

/** Send an echo request; src and dst are of one family. @param mac	zero: look up the next hop's */
void uroce_icmp_echo(struct uroce_port_queue *q, const struct rte_ether_addr *mac,
		     const uint8_t src[16], const uint8_t dst[16], uint16_t id, uint16_t sequence);

/** Send the echo requests that uroce_ping() waits for. Worker 0. */
void uroce_pings_send(struct uroce_port_queue *q);

#endif /* UROCE_PORT_NET_ICMP_H */
