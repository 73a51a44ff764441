/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A port on UDP sockets of the kernel (net_uroce_udp), which needs no privilege. Control threads, while no worker polls
 * the port.
 */

#ifndef UROCE_PORT_UDP_UDP_H
#define UROCE_PORT_UDP_UDP_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_ether.h>

struct uroce_port;
struct uroce_udp;

bool uroce_udp_is(uint16_t port_id);

/** Open the sockets of a port that has been started: port->udp. @return 0 or -errno; logs the error */
int uroce_udp_start(struct uroce_port *port);
/** Close them. @param port	may be another kind of port */
void uroce_udp_stop(struct uroce_port *port);

/** @return a descriptor that is readable while the queue has frames. The worker's turn */
int uroce_udp_fd(const struct uroce_port *port, uint16_t queue);

/** Does nothing but the port's own callback process the queue's frames, as far as is known? Any thread */
bool uroce_udp_receives(const struct uroce_port *port, uint16_t queue, const void *callback);

/** Make the MAC address of a neighbor, which frames have although no neighbor has it. */
void uroce_udp_neighbor(struct rte_ether_addr *mac, const uint8_t gid[16]);

#endif /* UROCE_PORT_UDP_UDP_H */
