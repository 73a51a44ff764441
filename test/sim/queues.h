/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The completion queues of a connection, plain or extended, which are resized and moderated while they are in use.
 */

#ifndef UROCE_TEST_SIM_QUEUES_H
#define UROCE_TEST_SIM_QUEUES_H

#include <infiniband/verbs.h>

struct side;
struct sim_random;

struct ibv_cq *queue_create(struct side *s, int cqe);

/** As uroce_poll_cq(). */
int queue_poll(struct side *s, struct ibv_cq *cq, int room, struct ibv_wc *wc);

/** Resize or moderate a CQ. */
void queue_change(struct sim_random *r, struct side *s);

#endif /* UROCE_TEST_SIM_QUEUES_H */
