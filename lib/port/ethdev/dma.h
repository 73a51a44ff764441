/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Maps registered external memory into the IOMMU of a port's device.
 */

#ifndef UROCE_PORT_ETHDEV_DMA_H
#define UROCE_PORT_ETHDEV_DMA_H

struct uroce_port;

/** Make the device's key table map external memory for the port. Call before the first registration. */
void uroce_port_dma_init(struct uroce_port *port);

#endif /* UROCE_PORT_ETHDEV_DMA_H */
