/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The operations that start, stop and wake the connection manager's service for a device.
 */

#ifndef UROCE_PORT_CM_SERVICE_H
#define UROCE_PORT_CM_SERVICE_H

#include "verbs/device/device.h"

extern const struct uroce_service_ops uroce_service_ops;

#endif /* UROCE_PORT_CM_SERVICE_H */
