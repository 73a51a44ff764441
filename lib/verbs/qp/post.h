/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Functions shared by the files that write work requests into a send queue. Any thread, under the queue's lock.
 */

#ifndef UROCE_VERBS_QP_POST_H
#define UROCE_VERBS_QP_POST_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs/qp/qp.h"

/**
 * post_memory.c: IBV_WR_BIND_MW, IBV_WR_LOCAL_INV, IBV_WR_FLUSH.
 * @param type	type of window that may be bound
 * @return 0 or EINVAL
 */
int uroce_post_memory_check(const struct uroce_qp *qp, const struct ibv_send_wr *wr, enum ibv_mw_type type);
/** Write the WQE, and set the new rkey of a window. After the check, and if there is room. */
void uroce_post_memory_write(const struct uroce_qp *qp, struct uroce_sqe *sqe, const struct ibv_send_wr *wr);

/** post.c: can the opcode be posted to QPs of a transport? */
bool uroce_post_knows(uint8_t transport, enum ibv_wr_opcode opcode);

/** post.c: set the destination of a UD send. The WQE references the handle until the send is complete. */
void uroce_post_ud(const struct uroce_qp *qp, struct uroce_sqe *sqe, struct ibv_ah *ah, uint32_t remote_qpn,
		   uint32_t remote_qkey);

#endif /* UROCE_VERBS_QP_POST_H */
