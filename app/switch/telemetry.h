/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The counters of the switch: as /uroce_switch/... on EAL's telemetry socket, if it has one, and as a table for
 * users.
 */

#ifndef UROCE_SWITCH_TELEMETRY_H
#define UROCE_SWITCH_TELEMETRY_H

#include "switch.h"

/** From now on, answer telemetry from this switch's counters and the number of clients that its socket has refused.
 * Main thread. */
void uroce_switch_telemetry_start(const struct uroce_switch *s, const uint64_t *refused);
/** Call it before the switch ends: later requests find no ports. */
void uroce_switch_telemetry_stop(void);

/** Print a line for each port to standard error, and the number of clients that the socket has refused. */
void uroce_switch_report(const struct uroce_switch *s, uint64_t refused);

#endif /* UROCE_SWITCH_TELEMETRY_H */
