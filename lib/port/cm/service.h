/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The service of the connection manager, as the ops of a port's device.
 */

#ifndef UROCE_PORT_CM_SERVICE_H
#define UROCE_PORT_CM_SERVICE_H

#include "verbs/device/device.h"

extern const struct uroce_service_ops uroce_service_ops;

#endif /* UROCE_PORT_CM_SERVICE_H */
