/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The frame by which uroce-switch, whose ports are processes, tells the other processes that the owner of an Ethernet
 * address has disconnected. Its destination is the nearest-bridge group address of IEEE 802.1Q, which no bridge
 * forwards: so the sender is at the other end of the link. Its Ethertype is one of IEEE 802's for local experiments;
 * the first bytes behind it identify the protocol.
 */

#ifndef UROCE_WIRE_DEPARTURE_H
#define UROCE_WIRE_DEPARTURE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_ether.h>

#define UROCE_DEPARTURE_ETHERTYPE 0x88b5
#define UROCE_DEPARTURE_PROTOCOL  0x75726f63 /* "uroc" */
#define UROCE_DEPARTURE_VERSION   1

/* Follows the Ethernet header, or the VLAN tag of the disconnected owner; zeros follow. */
struct uroce_departure {
	rte_be32_t protocol;
	rte_be16_t version;
	struct rte_ether_addr mac;
} __attribute__((packed, aligned(2)));

static_assert(sizeof(struct uroce_departure) == 12, "struct uroce_departure");

static inline struct rte_ether_addr
uroce_departure_group(void)
{
	return (struct rte_ether_addr){ { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e } };
}

#endif /* UROCE_WIRE_DEPARTURE_H */
