/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A poller: a worker, and all that its queues use: a completion queue, an io_uring, data buffers. Its thread, an lcore,
 * is the only one that touches them, so nothing of a command's path takes a lock.
 */

#ifndef UROCE_NVMF_POLLER_H
#define UROCE_NVMF_POLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <liburing.h>
#include <rte_ring.h>

#include <uroce.h>

#include "uroce_config.h"

struct nvmf_queue;
struct nvmf_request;

TAILQ_HEAD(nvmf_queue_list, nvmf_queue);
TAILQ_HEAD(nvmf_request_list, nvmf_request);

struct nvmf_poller {
	struct uroce_worker *worker;
	unsigned int index;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct io_uring uring;
	unsigned int uring_busy;	/* I/Os in the ring, or not submitted yet */
	unsigned int uring_unsubmitted;
	/* data buffers of UROCE_NVMF_BUFFER_BYTES, in one region of DPDK's memory */
	uint8_t *arena;
	size_t arena_bytes;
	struct ibv_mr *mr;
	void *free_buffers;		/* list; each free buffer begins with the address of the next */
	unsigned int nb_free_buffers;
	struct nvmf_request_list waiting;	/* requests that wait for a buffer */
	struct nvmf_queue_list queues;
	struct rte_ring *arrivals;	/* queues that the main thread hands over */
	uint64_t look_ns;		/* next look at what other threads have asked of the queues */
	uint64_t commands;		/* poller: rw, telemetry: relaxed read */
	bool stop;			/* atomic */
	unsigned int nb_queues;		/* atomic: queues that the poller has, for the choice of a poller */
};

/** Create a poller's objects on the device. @return 0 or -1, a message printed */
int uroce_nvmf_poller_init(struct nvmf_poller *p, struct ibv_context *device, struct uroce_worker *worker,
			   unsigned int index);
void uroce_nvmf_poller_fini(struct nvmf_poller *p);

/** One round. @return whether there was work */
bool uroce_nvmf_poller_round(struct nvmf_poller *p);

/** Take a data buffer. @return NULL: none is free */
uint8_t *uroce_nvmf_buffer_get(struct nvmf_poller *p);
void uroce_nvmf_buffer_put(struct nvmf_poller *p, uint8_t *buffer);

/** Is the memory in the region of buffers, which is the ring's registered buffer 0? */
static inline bool
uroce_nvmf_poller_has(const struct nvmf_poller *p, const uint8_t *data, size_t bytes)
{
	return data >= p->arena && data + bytes <= p->arena + p->arena_bytes;
}

/** backend_file.c: submit the ring's I/Os, and take its completions. @return their number */
unsigned int uroce_nvmf_uring_poll(struct nvmf_poller *p);

#endif /* UROCE_NVMF_POLLER_H */
