/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Reconnects a net_memif port when the process at its other end is replaced.
 */

#ifndef UROCE_DRIVERS_VERBS_PROGRESS_REJOIN_H
#define UROCE_DRIVERS_VERBS_PROGRESS_REJOIN_H

#include <stdint.h>

struct ibv_context;

/** From now on, tell the CM when the other program of a pair exits. Notice within UROCE_VERBS_REJOIN_US that the
 * process at the other end of a net_memif port has exited, and connect to its successor. Call it once for each open
 * port, before the program has the port. */
void uroce_rejoin_watch(struct ibv_context *context, uint16_t port_id);

/** Stop all that, before the devices are closed. */
void uroce_rejoin_stop(void);

#endif /* UROCE_DRIVERS_VERBS_PROGRESS_REJOIN_H */
