/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Workers that the application's polls of CQs drive (poll_progress). Any thread of the application.
 */

#ifndef UROCE_PORT_DRIVEN_H
#define UROCE_PORT_DRIVEN_H

#include <stdint.h>

struct ibv_qp;
struct uroce_cq;
struct uroce_device;
struct uroce_port;
struct uroce_worker;

/** Poll for a thread that polls an empty CQ, or waits for something else (NULL). */
void uroce_driven_poll(struct uroce_device *dev, struct uroce_cq *cq);

/** Move the QP to the worker of the thread that polls its CQ, if it is on another one. Call it before a post. */
void uroce_driven_settle(struct ibv_qp *qp);

/**
 * Count the worker's rounds, but not polls for others while the worker was idle.
 * @param last_ns	set to the time of the last round, if that counts
 */
uint64_t uroce_driven_rounds(const struct uroce_worker *w, uint64_t *last_ns);

/** @return the worker that the calling thread has polled last; NULL: none */
struct uroce_worker *uroce_driven_last(void);

/** @return the worker for the calling thread's QPs: that of its earlier ones, or else the one with the fewest
 * threads; in a tie, `best`, which may be NULL */
struct uroce_worker *uroce_driven_home(const struct uroce_port *port, struct uroce_worker *best);

#endif /* UROCE_PORT_DRIVEN_H */
