/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The inbox of a worker: a ring of frames from other workers, and of loopback frames. Any worker enqueues, within a
 * poll; the inbox's worker dequeues.
 */

#ifndef UROCE_PORT_WORKER_INBOX_H
#define UROCE_PORT_WORKER_INBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "port/worker/worker.h"
#include "wire/packet.h"

/** Create the inbox of a new worker, for this number of frames. Control threads. @return 0 or -errno */
int uroce_inbox_create(struct uroce_worker *w, uint32_t frames);
/** Free the inbox with its frames. No device uses the worker. Control threads. */
void uroce_inbox_free(struct uroce_worker *w);

/** Enlarge the inboxes that have the default size, for a device with n workers. An inbox that cannot grow keeps its
 * size. Control threads. */
void uroce_inboxes_size(struct uroce_worker *const *workers, unsigned int n);

/** Free the frames for ports that have been removed from the worker. Control threads, within the worker's turn. */
void uroce_inbox_drain(struct uroce_worker *w);

/**
 * Pass a received frame to another worker, and its reference with it. The last mbufs of the frame's pool stay with the
 * caller, which needs them to receive.
 * @param q	the queue that has received the frame
 * @return	false: the inbox is full, or the pool is nearly empty
 */
bool uroce_inbox_put(struct uroce_worker *to, const struct uroce_packet *p, const struct uroce_port_queue *q);

/** Pass loopback frames to a worker. @return the number of frames that the inbox has accepted */
unsigned int uroce_inbox_put_loopback(struct uroce_worker *to, const struct uroce_inbox_item *items, unsigned int n);

/** Create the ring of an inbox for this many frames. @return NULL and rte_errno */
struct rte_ring *uroce_inbox_ring(const struct uroce_worker *w, uint32_t frames);

#endif /* UROCE_PORT_WORKER_INBOX_H */
