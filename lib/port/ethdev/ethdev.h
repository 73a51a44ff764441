/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The Ethernet device below a port: configures and starts it, and sets its multicast filter.
 */

#ifndef UROCE_PORT_ETHDEV_ETHDEV_H
#define UROCE_PORT_ETHDEV_ETHDEV_H

#include "port/port.h"

struct uroce_port_conf;

/** Claim port->port_id, configure it with a queue for each of port->nb_queues workers and start it. With
 * conf->poll_progress the port may have fewer queues, which the workers share. Sets the port's fields mac, mtu,
 * multi_seg, at_process and owner, and its queues. @return 0 or -errno; logs the error */
int uroce_ethdev_start(struct uroce_port *port, const struct uroce_port_conf *conf);
/** Stop the port, but keep the claim and the pools. */
void uroce_ethdev_pause(struct uroce_port *port);
/** Configure and start a stopped port again, as uroce_ethdev_start(). The port keeps its MAC address.
 * @param reset	call rte_eth_dev_reset() first. @return 0; -errno: it may be called again */
int uroce_ethdev_resume(struct uroce_port *port, const struct uroce_port_conf *conf, bool reset);
/** Stop and release the port, and retire its pools. */
void uroce_ethdev_stop(struct uroce_port *port);
/** Use only the first n RX and TX queues of the port. The other workers share them: they send to the others' TX queues
 * under a lock, and receive by hand-over only. While no worker polls. @param n	1 to port->open_queues */
void uroce_port_use_queues(struct uroce_port *port, unsigned int n);
/** Set the port's filter: all nodes, all hosts, the solicited-node groups of the addresses, and the QPs' groups. No-op
 * while the port is stopped. Under the port's lock. */
void uroce_ethdev_listen(const struct uroce_port *port, const struct uroce_addresses *own);

#endif /* UROCE_PORT_ETHDEV_ETHDEV_H */
