/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Executes work requests that send no packets: binds and local invalidations. They have no PSNs. A request that
 * invalidates a key waits until the other workers, which may use the key, have ended their current polls; the requests
 * behind it wait, too. The RC and UC requesters call it. On the engine's thread.
 */

#include "base/rcu.h"
#include "mem/mw.h"
#include "transport/qp/turns.h"
#include "transport/requester/requester.h"

/* All failures are IBV_WC_MW_BIND_ERR, IBA's memory management operation error. */
static enum ibv_wc_status
execute(struct uroce_qp *qp, struct uroce_sqe *sqe)
{
	struct uroce_mrs *t = &qp->dev->mrs;
	const struct uroce_mw_bind bind = {
		.mw = sqe->bind.mw, .rkey = sqe->rkey, .lkey = sqe->bind_lkey, .addr = sqe->bind.addr,
		.length = sqe->bind.length, .access = sqe->bind_access, .pd = qp->sq.pd, .qp = &qp->windows,
		.grace = &sqe->grace,
	};
	int ret = sqe->opcode == IBV_WR_BIND_MW
		? uroce_mw_bind(t, &bind)
		: uroce_mw_invalidate_local(t, sqe->rkey, qp->sq.pd, &qp->windows, &sqe->grace);

	return ret == 0 ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR;
}

bool
uroce_local_execute(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_sqe *sqe, enum ibv_wc_status *status)
{
	*status = IBV_WC_SUCCESS;
	if (sqe->grace == 0)
		*status = execute(qp, sqe);
	if (sqe->grace != 0 && !uroce_rcu_has_ended(sqe->grace)) {
		uroce_qp_activate_later(e, qp);
		return false;
	}
	return true;
}
