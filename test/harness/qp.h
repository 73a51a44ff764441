/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Takes QPs of any type through their states.
 */

#ifndef UROCE_TEST_HARNESS_QP_H
#define UROCE_TEST_HARNESS_QP_H

#include <infiniband/verbs.h>

/** @return the attributes that the transition to INIT, RTR or RTS needs; for any other state IBV_QP_STATE */
int harness_qp_mask(enum ibv_qp_type type, enum ibv_qp_state to);

/** Take a QP from RESET through INIT and RTR to the state, SQD at most, with the attributes of each transition. */
void harness_qp_to(struct ibv_qp *qp, struct ibv_qp_attr attr, enum ibv_qp_state to);

#endif /* UROCE_TEST_HARNESS_QP_H */
