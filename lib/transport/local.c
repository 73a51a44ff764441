/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Work requests that never leave for the peer: a window is bound or invalidated when its turn comes. They take no
 * PSN. RC and UC requesters call, on the QP's worker.
 */

#include "mem/mw.h"
#include "transport/internal.h"

/* IBV_WC_MW_BIND_ERR is what IBA calls a memory management operation error: for all of them. */
enum ibv_wc_status
uroce_local_execute(struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	struct uroce_mrs *t = &qp->dev->mrs;
	const struct uroce_mw_bind bind = {
		.mw = sqe->bind.mw, .rkey = sqe->rkey, .lkey = sqe->bind_lkey, .addr = sqe->bind.addr,
		.length = sqe->bind.length, .access = sqe->bind_access, .pd = qp->ibv.pd, .qp = &qp->windows,
	};
	int ret = sqe->opcode == IBV_WR_BIND_MW ? uroce_mw_bind(t, &bind)
						: uroce_mw_invalidate(t, sqe->rkey, qp->ibv.pd, NULL);

	return ret == 0 ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR;
}
