/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Joins and leaves multicast groups for the QPs of a device.
 */

#ifndef UROCE_PORT_MCAST_H
#define UROCE_PORT_MCAST_H

#include "port/port.h"

/* struct uroce_port_ops. Each join needs a leave. @return 0; -EINVAL: not a multicast GID; -ENOSPC: the port is in
 * UROCE_MAX_MCAST_GROUPS groups; -ENOMEM */
int uroce_port_mcast_join(struct uroce_device *dev, const union ibv_gid *mgid);
void uroce_port_mcast_leave(struct uroce_device *dev, const union ibv_gid *mgid);

#endif /* UROCE_PORT_MCAST_H */
