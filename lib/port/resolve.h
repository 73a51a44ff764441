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

/** The device that has the address, and its GID index. Registry locked. @return NULL: none */
struct uroce_port *uroce_port_find(const uint8_t gid[16], unsigned int *sgid_index);

/**
 * With which of its addresses does a device speak to dgid? Registry locked.
 *
 * @param sgid	the address that it must be; NULL: any
 * @return	how well it leads there, the least is best: UROCE_ROUTE_*; or -ENETUNREACH
 */
int uroce_port_route(struct uroce_port *port, const uint8_t *sgid, const uint8_t dgid[16],
		     unsigned int *sgid_index);

enum uroce_route {
	UROCE_ROUTE_OWN,     /* dgid is the device's own */
	UROCE_ROUTE_LINK,    /* on a subnet of the device, or a group */
	UROCE_ROUTE_PROCESS, /* another device of the process has it */
	UROCE_ROUTE_GATEWAY,
};

/**
 * Is everything known that a frame to dgid needs? If not it is asked for, as long as this is called
 * every UROCE_NEIGHBOR_WANTED_NS. Registry locked.
 *
 * @return	0: it is; -EINPROGRESS: ask again later; -EHOSTUNREACH: nobody answers;
 *-ENETUNREACH: no subnet or gateway leads there; -ENOBUFS: too many neighbors
 */
int uroce_port_resolve(struct uroce_port *port, const uint8_t dgid[16]);

#endif /* UROCE_PORT_RESOLVE_H */
