/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tells the application when a port's link changes or its device is removed.
 */

#ifndef UROCE_PORT_ETHDEV_WATCH_H
#define UROCE_PORT_ETHDEV_WATCH_H

#include <stdint.h>

#include "port/port.h"

/** Note the link as it is and have ethdev tell of changes. Control threads, before workers drive
 * the port. */
void uroce_watch_start(struct uroce_port *port);
/** No more events of the port come from ethdev, and none is under way. Control threads. */
void uroce_watch_stop(struct uroce_port *port);

/** Look at the link: IBV_EVENT_PORT_ACTIVE or PORT_ERR when it has changed. Any thread. */
void uroce_watch_link(struct uroce_port *port);

/** The same when it is time. Worker 0 of the port, within a poll. @return when to call again, ns */
uint64_t uroce_watch_upkeep(struct uroce_port *port, uint64_t now_ns);
/** Has the device been pulled out? Any thread. */
bool uroce_watch_is_removed(struct uroce_port *port);

#endif /* UROCE_PORT_ETHDEV_WATCH_H */
