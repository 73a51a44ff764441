/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Posts work requests by ibv_wr_start(3) and related calls instead of ibv_post_send(3).
 */

#ifndef UROCE_TEST_SIM_BUILDER_H
#define UROCE_TEST_SIM_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

struct request;
struct sim_random;

/** @return send_ops_flags for struct ibv_qp_init_attr_ex */
uint64_t builder_operations(void);

/** Is there a call for each of these requests? */
bool builder_takes(struct request *const *requests, unsigned int n);

/** Post the requests, for which the queue has room. Sometimes starts with other requests and aborts them. */
void builder_post(struct ibv_qp *qp, struct request *const *requests, unsigned int n, struct sim_random *r);

#endif /* UROCE_TEST_SIM_BUILDER_H */
