/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_alloc_mw(3), ibv_dealloc_mw(3) and ibv_bind_mw(3), on the device's key table (lib/mem). A bind is posted to a QP,
 * whose worker executes it. Control threads; any thread posts a bind.
 */

#include <errno.h>

#include "uroce.h"
#include "mem/mw.h"
#include "mem/pd.h"
#include "verbs/device/device.h"
#include "verbs/qp/post.h"
#include "verbs/qp/qp.h"

struct ibv_mw *
uroce_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct uroce_mw *mw;

	uroce_pd_get(pd);
	mw = uroce_mw_create(&uroce_device_of(pd->context)->mrs, pd, type);
	if (mw == NULL) {
		uroce_pd_put(pd);
		return NULL;
	}
	return &mw->ibv;
}

int
uroce_dealloc_mw(struct ibv_mw *mw)
{
	struct ibv_pd *pd = mw->pd;

	uroce_mw_destroy((struct uroce_mw *)mw);
	uroce_pd_put(pd);
	return 0;
}

/* As uroce_post_send(), which does not accept a window of type 1. */
static int
post_bind(struct uroce_qp *qp, const struct ibv_send_wr *wr)
{
	struct uroce_wq *sq = &qp->sq;
	int ret = EINVAL;

	uroce_wq_lock(sq);
	if (__atomic_load_n(&qp->state, __ATOMIC_RELAXED) < IBV_QPS_RTS || !uroce_post_knows(qp->transport, wr->opcode))
		goto unlock;
	ret = uroce_post_memory_check(qp, wr, IBV_MW_TYPE_1);
	if (ret == 0 && !uroce_wq_has_room(sq, sq->tail))
		ret = ENOMEM;
	if (ret != 0)
		goto unlock;
	uroce_post_memory_write(qp, uroce_sqe_at(sq, sq->tail), wr);
	/* pairs with the worker's acquire: it sees the whole entry */
	__atomic_store_n(&sq->tail, sq->tail + 1, __ATOMIC_RELEASE);
unlock:
	uroce_wq_unlock(sq);
	if (ret == 0)
		qp->dev->ops.worker->doorbell(qp);
	return ret;
}

int
uroce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const struct ibv_mw_bind_info *info = &bind->bind_info;
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = { .mw = mw, .bind_info = *info },
	};

	if (mw->type != IBV_MW_TYPE_1)	/* o10-37.2.35 */
		return EINVAL;
	if (info->mr == NULL && (info->addr != 0 || info->length != 0))
		return EINVAL;
	if (info->mr != NULL && !uroce_pd_same(info->mr->pd, mw->pd))
		return EPERM;
	return post_bind(uroce_qp_of(qp), &wr);
}
