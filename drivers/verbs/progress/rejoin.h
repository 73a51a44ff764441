/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Connects a net_memif port again when the process at its other end is replaced.
 */

#ifndef UROCE_DRIVERS_VERBS_PROGRESS_REJOIN_H
#define UROCE_DRIVERS_VERBS_PROGRESS_REJOIN_H

#include <stdint.h>

struct ibv_context;

/** From now on, tell the CM when the other program of a pair has gone; and see within UROCE_VERBS_REJOIN_US when the
 * process at the other end of a port of net_memif has gone, and connect to the next one in its place. Once for a
 * port, when it is open; before the program has it. */
void uroce_rejoin_watch(struct ibv_context *context, uint16_t port_id);

#endif /* UROCE_DRIVERS_VERBS_PROGRESS_REJOIN_H */
