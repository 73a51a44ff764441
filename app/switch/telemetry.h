/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The counters of the switch for programs: /uroce_switch/... on EAL's telemetry socket, if it has one.
 */

#ifndef UROCE_SWITCH_TELEMETRY_H
#define UROCE_SWITCH_TELEMETRY_H

#include "switch.h"

/** From now on, answer from this switch's counters, and the number of clients that its socket refused. Main thread. */
void uroce_switch_telemetry_start(const struct uroce_switch *s, const uint64_t *refused);
/** Before the switch goes: what is asked for from now on is not there. */
void uroce_switch_telemetry_stop(void);

#endif /* UROCE_SWITCH_TELEMETRY_H */
