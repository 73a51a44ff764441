/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Limits each net_memif port to the queues that its peer uses, too.
 */

#ifndef UROCE_DRIVERS_VERBS_PROGRESS_QUEUES_H
#define UROCE_DRIVERS_VERBS_PROGRESS_QUEUES_H

#include <stdint.h>

struct ibv_context;

/** From now on, use as many queues of the port as its connection has rings. Before, workers share its first queue. Call
 * it once for each open port, before the program has the port. */
void uroce_queues_watch(struct ibv_context *context, uint16_t port_id);

/** Stop following the connections' rings, before the devices are closed. */
void uroce_queues_stop(void);

#endif /* UROCE_DRIVERS_VERBS_PROGRESS_QUEUES_H */
