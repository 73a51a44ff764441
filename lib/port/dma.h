/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The IOMMU of a port's device, for external memory that is registered.
 */

#ifndef UROCE_PORT_DMA_H
#define UROCE_PORT_DMA_H

struct uroce_port;

/** Let the device's table of keys map external memory for the port. Before anything is registered. */
void uroce_port_dma_init(struct uroce_port *port);

#endif /* UROCE_PORT_DMA_H */
