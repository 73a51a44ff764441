/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The target: a subsystem, pollers, and the listeners of the main thread.
 */

#ifndef UROCE_NVMF_TARGET_H
#define UROCE_NVMF_TARGET_H

#include <stdint.h>

#include <uroce_cma.h>

#include "poller.h"
#include "queue.h"
#include "subsystem.h"

struct nvmf_target {
	struct nvmf_subsystem subsystem;
	struct nvmf_poller pollers[UROCE_MAX_WORKERS];
	unsigned int nb_pollers;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	unsigned int nb_queues;		/* atomic: connections */
	uint64_t refused;		/* connection requests that were rejected. Main: rw, telemetry: relaxed read */
};

/** Listen on an address. Main thread. @return 0 or -1, a message printed */
int uroce_nvmf_listen(struct nvmf_target *t, const struct sockaddr *addr);
void uroce_nvmf_listen_end(struct nvmf_target *t);
/** Handle the CM's events. Main thread. @return their number */
unsigned int uroce_nvmf_events(struct nvmf_target *t);

static inline struct nvmf_subsystem *
uroce_nvmf_queue_subsystem(struct nvmf_queue *q)
{
	return &q->target->subsystem;
}

#endif /* UROCE_NVMF_TARGET_H */
