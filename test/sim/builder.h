/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Work requests posted by ibv_wr_start(3) and its like instead of ibv_post_send(3).
 */

#ifndef UROCE_TEST_SIM_BUILDER_H
#define UROCE_TEST_SIM_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

struct request;
struct sim_random;

/** For struct ibv_qp_init_attr_ex: all that the builder has. */
uint64_t builder_operations(void);

/** Is there a call for all of them? */
bool builder_takes(struct request *const *requests, unsigned int n);

/** Post them; the queue has room. Sometimes others, which are given up, first. */
void builder_post(struct ibv_qp *qp, struct request *const *requests, unsigned int n, struct sim_random *r);

#endif /* UROCE_TEST_SIM_BUILDER_H */
