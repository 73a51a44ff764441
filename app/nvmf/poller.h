/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A poller: a worker, and all that its queues use: a completion queue, an io_uring, data buffers. Its thread, an lcore,
 * is the only one that touches them, so nothing of a command's path takes a lock.
 */

#ifndef UROCE_NVMF_POLLER_H
#define UROCE_NVMF_POLLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_ring.h>

#include <uroce.h>

#include "buffer.h"
#include "request.h"
#include "store/uring.h"

struct nvmf_queue;
struct nvmf_subsystem;

TAILQ_HEAD(nvmf_queue_list, nvmf_queue);

/* The poller adds by uroce_nvmf_count(); telemetry reads. All relaxed. */
struct nvmf_counters {
	uint64_t commands;
	uint64_t errors;		/* commands with another status than success */
	uint64_t bytes_read;		/* sent to hosts */
	uint64_t bytes_written;
	uint64_t iops;			/* commands of the last full second */
	uint64_t latency[UROCE_NVMF_LATENCIES];	/* I/O commands that took less than 2^i us; the last: all others */
};

struct nvmf_poller {
	struct uroce_worker *worker;
	unsigned int index;
	const struct nvmf_subsystem *subsystem;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct nvmf_uring uring;
	struct nvmf_buffers buffers;
	struct nvmf_request_list waiting;	/* requests that wait for a buffer */
	struct nvmf_queue_list queues;
	struct rte_ring *arrivals;	/* queues that the main thread hands over */
	uint64_t look_ns;		/* next look at what other threads have asked of the queues */
	uint64_t stopped_ns;		/* so long this poller did not run before this look: no timeout of hosts counts it */
	uint64_t now_ns;		/* time of the round */
	uint64_t rate_ns, rate_commands;	/* time of the last count of iops, and the commands then */
	struct nvmf_counters counters;
	bool stop;			/* atomic */
	unsigned int nb_queues;		/* atomic: queues that the poller has, for the choice of a poller */
	/* poller: release, main: acquire; a removed namespace that is not used is closed */
	uint32_t seen;			/* the subsystem's changes: no older namespace is found any more */
	uint32_t uses[UROCE_NVMF_MAX_NAMESPACES];	/* commands that execute, by nsid - 1 */
};

/** Create a poller's objects on the device. @return 0 or -1, a message printed */
int uroce_nvmf_poller_init(struct nvmf_poller *p, const struct nvmf_subsystem *s, struct ibv_context *device,
			   struct uroce_worker *worker, unsigned int index);
void uroce_nvmf_poller_fini(struct nvmf_poller *p);

static inline void
uroce_nvmf_count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/** One round. @return whether there was work */
bool uroce_nvmf_poller_round(struct nvmf_poller *p);

#endif /* UROCE_NVMF_POLLER_H */
