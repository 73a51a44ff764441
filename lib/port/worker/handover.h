/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Hands received frames over to the workers of their QPs. A frame for a worker with a full inbox is held, and its source
 * (an RX queue, or this worker's own inbox) is not polled until the frame has left: the port's ring holds back the peers.
 * A worker that takes no frame for UROCE_HANDOVER_STALL_NS counts as stalled; then frames for it are dropped at once
 * until it takes one. The worker that receives, within a poll.
 */

#ifndef UROCE_PORT_WORKER_HANDOVER_H
#define UROCE_PORT_WORKER_HANDOVER_H

#include <assert.h>
#include <stdint.h>

#include "uroce_config.h"
#include "wire/packet.h"
#include "wire/verdict.h"

struct uroce_port_queue;
struct uroce_worker;

static_assert(UROCE_MAX_WORKERS <= 64, "a set of workers has 64 bits");

/* A frame that waits for room in inboxes. It has a reference to its mbufs for each worker in `to`. */
struct uroce_held_frame {
	struct uroce_packet packet;
	struct uroce_port_queue *queue; /* it has received the frame */
	uint64_t to;
};

/* The frames of a source that wait. Sets of workers have bit i for worker i of the process. */
struct uroce_handover {
	uint16_t count;	   /* frames that wait; not 0: the source must not be polled */
	uint64_t since_ns; /* time at which the first of them was held */
	uint64_t awaited;  /* workers that the frames wait for */
	uint64_t stalled;  /* workers whose frames are dropped if their inbox is full */
	struct uroce_held_frame *frames; /* UROCE_BURST: a burst of the source */
};

/** @return the set with this worker only */
uint64_t uroce_worker_bit(const struct uroce_worker *w);

/** Hand a frame over to a worker. Takes ownership of the mbufs. @param q	the queue that received the frame; counts
 * what becomes of it */
void uroce_handover(struct uroce_handover *h, struct uroce_port_queue *q, const struct uroce_packet *p,
		    struct uroce_worker *to, uint64_t now_ns);

/** Hand a frame over to several workers, which share the mbufs, since none writes to them. The caller keeps its
 * reference. @param to	the workers; may be empty */
void uroce_handover_group(struct uroce_handover *h, struct uroce_port_queue *q, const struct uroce_packet *p,
			  uint64_t to, uint64_t now_ns);

/** Pass on frames that wait, as far as inboxes have room. @return the number of frames handed over */
unsigned int uroce_handover_retry(struct uroce_handover *h, uint64_t now_ns);

/** The worker has not run for `ns`: do not count this time as a stall of others. */
void uroce_handover_away(struct uroce_handover *h, uint64_t ns);

/** Free the frames that wait and that this queue has received. Within the worker's turn. */
void uroce_handover_purge(struct uroce_handover *h, const struct uroce_port_queue *q);

#endif /* UROCE_PORT_WORKER_HANDOVER_H */
