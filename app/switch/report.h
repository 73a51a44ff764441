/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Prints the counters of the switch for people.
 */

#ifndef UROCE_SWITCH_REPORT_H
#define UROCE_SWITCH_REPORT_H

#include "switch.h"

/** A line for each port on standard error, with the clients that the socket has refused. */
void uroce_switch_report(const struct uroce_switch *s, uint64_t refused);

#endif /* UROCE_SWITCH_REPORT_H */
