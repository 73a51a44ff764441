/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds devices by address for rdma_cm: the device that has an address, the device that leads to a peer, and
 * whether the MAC address of the next hop is known.
 */

#ifndef UROCE_PORT_RESOLVE_H
#define UROCE_PORT_RESOLVE_H

#include "port/port.h"

/** @return the GID index of the address; -ENOENT: the device does not have it */
int uroce_port_find_gid(struct uroce_port *port, const uint8_t gid[16]);

/** Find the device that has the address, and its GID index. Registry locked. @return NULL: no device has it */
struct uroce_port *uroce_port_find(const uint8_t gid[16], unsigned int *sgid_index);

/**
 * Find the device's source address for packets to dgid, and how it reaches dgid. Registry locked.
 *
 * @param sgid	the required source address; NULL: any
 * @param sgid_index	set to the GID index of the source address
 * @return	enum uroce_route, where a lower value is a better route; or -ENETUNREACH
 */
int uroce_port_route(struct uroce_port *port, const uint8_t *sgid, const uint8_t dgid[16],
		     unsigned int *sgid_index);

enum uroce_route {
	UROCE_ROUTE_OWN,     /* dgid is an address of the device */
	UROCE_ROUTE_LINK,    /* dgid is in a subnet of the device, or a multicast group */
	UROCE_ROUTE_PROCESS, /* another device of the process has dgid */
	UROCE_ROUTE_GATEWAY, /* through a gateway */
};

/**
 * Resolve the MAC address of the next hop to dgid. While it is unknown, call this again within
 * UROCE_NEIGHBOR_WANTED_NS to keep the request going. Registry locked.
 *
 * @return	0: it is known, or not needed; -EINPROGRESS: call again later; -EHOSTUNREACH: the next hop does not
 *		answer; -ENETUNREACH: no subnet or gateway leads there; -ENOBUFS: the neighbor table is full
 */
int uroce_port_resolve(struct uroce_port *port, const uint8_t dgid[16]);

#endif /* UROCE_PORT_RESOLVE_H */
