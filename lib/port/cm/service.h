/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tells the CM service of devices that open and close.
 */

#ifndef UROCE_PORT_CM_SERVICE_H
#define UROCE_PORT_CM_SERVICE_H

#include "port/port.h"

/** A device has opened. If the service runs, it takes part. Control threads, without locks. */
void uroce_cm_service_device_come(struct uroce_port *port);
/** A device is about to close: its IDs are told, and it has none of the service's objects any more.
 */
void uroce_cm_service_device_gone(struct uroce_port *port);

#endif /* UROCE_PORT_CM_SERVICE_H */
