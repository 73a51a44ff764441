/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds the descriptor that wakes a sleeping worker when frames arrive at a queue.
 */

#ifndef UROCE_PORT_ETHDEV_RX_WAKE_H
#define UROCE_PORT_ETHDEV_RX_WAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "port/port.h"

/**
 * Find the queue's descriptor: q->rx_wake and q->rx_fd. Call after the port has started, and again after its link has
 * come up: a driver may get a descriptor from its peer. The worker's turn, or before the worker has the queue.
 */
void uroce_rx_wake_find(struct uroce_port_queue *q);

/** Turn the queue's RX interrupt, if it has one, on or off. Frames that arrived before raise none. The worker's turn.
 * @return false: the driver has failed */
bool uroce_rx_wake_enable(struct uroce_port_queue *q, bool on);

/** Does each frame wake the worker, once that is turned on? A net_memif peer may miss that. The worker's turn. */
bool uroce_rx_wake_is_sure(const struct uroce_port_queue *q);

/** Does an RX callback of ethdev process the queue's frames? It may keep a frame for later, as netem does. */
bool uroce_rx_wake_is_filtered(const struct uroce_port_queue *q);

#endif /* UROCE_PORT_ETHDEV_RX_WAKE_H */
