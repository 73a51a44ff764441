/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Stops an Ethernet device on the thread that its driver needs.
 */

#ifndef UROCE_PORT_ETHDEV_ETHDEV_HALT_H
#define UROCE_PORT_ETHDEV_ETHDEV_HALT_H

#include <stdint.h>

/** Drain the device's queues and stop it. No thread polls the device any more. Afterward its driver does not access
 * the queues' pools. */
void uroce_ethdev_halt(uint16_t port_id);

#endif /* UROCE_PORT_ETHDEV_ETHDEV_HALT_H */
