/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Raises an event when a port's link changes or its device is removed.
 */

#ifndef UROCE_PORT_ETHDEV_WATCH_H
#define UROCE_PORT_ETHDEV_WATCH_H

#include <stdint.h>

#include "port/port.h"

/** Store the current state of the link, and register callbacks for changes. Control threads, before workers poll the
 * port. */
void uroce_watch_start(struct uroce_port *port);
/** Remove the callbacks. Afterward none is running. Control threads. */
void uroce_watch_stop(struct uroce_port *port);
/** The port is about to be stopped: raise IBV_EVENT_PORT_ERR if the link was up. Afterward no thread asks the driver for
 * the link. Control threads, under the port's lock. */
void uroce_watch_pause(struct uroce_port *port);
/** The port has been started again: raise IBV_EVENT_PORT_ACTIVE once the link is up. Control threads, under the port's
 * lock, before workers poll the port. */
void uroce_watch_resume(struct uroce_port *port);

/** Check the link, and raise IBV_EVENT_PORT_ACTIVE or PORT_ERR if it has changed. Any thread. */
void uroce_watch_link(struct uroce_port *port);

/** Check the link if the last check was UROCE_LINK_POLL_NS ago. Worker 0 of the port, within a poll.
 * @return the time of the next call, ns */
uint64_t uroce_watch_upkeep(struct uroce_port *port, uint64_t now_ns);
/** Get the link's state: down while the port is stopped or waits to be reset, and after the device was removed. Any
 * thread. @return 0 or -errno */
int uroce_watch_get_link(struct uroce_port *port, struct rte_eth_link *link);
/** Has the device been removed? Any thread. */
bool uroce_watch_is_removed(struct uroce_port *port);
/** Has the driver requested a reset since the last start? Any thread. */
bool uroce_watch_wants_reset(struct uroce_port *port);

#endif /* UROCE_PORT_ETHDEV_WATCH_H */
