/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Resolves address vectors to paths.
 */

#ifndef UROCE_PORT_PATH_H
#define UROCE_PORT_PATH_H

#include "port/port.h"

/* struct uroce_port_ops */
int uroce_port_path_init(struct uroce_device *dev, const struct ibv_ah_attr *attr, uint32_t remote_qpn,
			 struct uroce_path *path);
void uroce_port_path_fini(struct uroce_device *dev, struct uroce_path *path);

/** Does a device of this process have the address, so that frames to it are looped back? Registry locked. */
bool uroce_path_is_local(struct uroce_port *port, const uint8_t gid[16]);

#endif /* UROCE_PORT_PATH_H */
