/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The Ethernet device below a port: configures and starts it, and sets its multicast filter.
 */

#ifndef UROCE_PORT_ETHDEV_ETHDEV_H
#define UROCE_PORT_ETHDEV_ETHDEV_H

#include "port/port.h"

struct uroce_port_conf;

/** Take port->port_id, configure it with port->nb_queues queues and start it; sets what port says
 * of it: MAC, MTU, multi_seg. @return 0 or -errno, with a message in the log */
int uroce_ethdev_start(struct uroce_port *port, const struct uroce_port_conf *conf);
/** Stop it and give it back; its pools are retired. */
void uroce_ethdev_stop(struct uroce_port *port);
/** Let frames for the addresses' solicited-node groups, and for groups of QPs, through. */
void uroce_ethdev_listen(const struct uroce_port *port, const struct uroce_addresses *own);

#endif /* UROCE_PORT_ETHDEV_ETHDEV_H */
