/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Reports a port's link for ibv_query_port(3).
 */

#ifndef UROCE_PORT_ETHDEV_LINK_H
#define UROCE_PORT_ETHDEV_LINK_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "port/port.h"

/** @return the largest path MTU whose packets, with all headers, fit the Ethernet MTU; 0: none does */
enum ibv_mtu uroce_mtu_of_ethernet(uint16_t ethernet_mtu);

/* struct uroce_port_ops */
int uroce_port_query(struct uroce_device *dev, struct ibv_port_attr *attr);

#endif /* UROCE_PORT_ETHDEV_LINK_H */
