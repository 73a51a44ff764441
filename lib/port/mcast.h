/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Joins and leaves multicast groups for the QPs of a device.
 */

#ifndef UROCE_PORT_MCAST_H
#define UROCE_PORT_MCAST_H

#include "port/port.h"

/* struct uroce_port_ops; each join has its leave. @return 0; -ENOSPC after
 * UROCE_MAX_MCAST_GROUPS; -ENOMEM */
int uroce_port_mcast_join(struct uroce_device *dev, const union ibv_gid *mgid);
void uroce_port_mcast_leave(struct uroce_device *dev, const union ibv_gid *mgid);

#endif /* UROCE_PORT_MCAST_H */
