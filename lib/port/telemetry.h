/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What dpdk-telemetry.py can ask of uroce.
 */

#ifndef UROCE_PORT_TELEMETRY_H
#define UROCE_PORT_TELEMETRY_H

/** Register the commands; idempotent. Control threads. */
void uroce_telemetry_init(void);

#endif /* UROCE_PORT_TELEMETRY_H */
