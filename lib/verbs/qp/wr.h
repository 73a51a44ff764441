/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sets up QPs with the calls of struct ibv_qp_ex. Control threads, before the QP is published, unless a line says
 * otherwise.
 */

#ifndef UROCE_VERBS_QP_WR_H
#define UROCE_VERBS_QP_WR_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs/qp/qp.h"

/** Can a QP of this type have these calls? enum ibv_qp_create_send_ops_flags. @return 0 or EOPNOTSUPP */
int uroce_wr_check(enum ibv_qp_type type, uint64_t send_ops);
/** Give the QP these calls, and those that every such QP has. */
void uroce_wr_init(struct uroce_qp *qp, uint64_t send_ops);
/** ibv_wr_start(3), for a caller that replaces it. Any thread. */
void uroce_wr_start(struct ibv_qp_ex *ex);

#endif /* UROCE_VERBS_QP_WR_H */
