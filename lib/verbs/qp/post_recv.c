/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_post_recv(3) and ibv_post_srq_recv(3): checks and copies receive work requests into the ring of a QP or an
 * SRQ, and publishes a list with one store. Any thread; no system call, no allocation. Workers take them from
 * there.
 */

#include <errno.h>
#include <stddef.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "base/rcu.h"
#include "uroce.h"
#include "verbs/device/device.h"
#include "verbs/qp/qp.h"
#include "verbs/srq/srq.h"

static int
post_one(struct uroce_wq *rq, uint32_t tail, const struct ibv_recv_wr *wr)
{
	struct uroce_rqe *rqe;

	if (unlikely(wr->num_sge < 0 || wr->num_sge > rq->max_sge))
		return EINVAL;
	if (unlikely(!uroce_wq_has_room(rq, tail)))
		return ENOMEM;
	rqe = uroce_rqe_at(rq, tail);
	rqe->wr_id = wr->wr_id;
	/* capped at more than any message has */
	rqe->length = RTE_MIN(uroce_sge_bytes(wr->sg_list, wr->num_sge), (uint64_t)UINT32_MAX);
	rqe->num_sge = wr->num_sge;
	for (int i = 0; i < wr->num_sge; i++)
		rqe->sge[i] = wr->sg_list[i];
	return 0;
}

/* Under the queue's lock. */
static int
post_list(struct uroce_wq *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	uint32_t tail;
	int ret = 0;

	for (tail = rq->tail; wr != NULL; wr = wr->next, tail++) {
		ret = post_one(rq, tail, wr);
		if (unlikely(ret != 0)) {
			*bad_wr = wr;
			break;
		}
	}
	/* pairs with the worker's acquire: it sees whole entries */
	__atomic_store_n(&rq->tail, tail, __ATOMIC_RELEASE);
	return ret;
}

int
uroce_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct uroce_qp *qp = uroce_qp_of(ibv);
	struct uroce_wq *rq = &qp->rq;
	int ret;

	/* with an SRQ, the ring's one entry belongs to the worker; XRC QPs have no receive queue */
	if (unlikely(rq->capacity == 0 && (ibv->srq != NULL || ibv->recv_cq == NULL))) {
		*bad_wr = wr;
		return EINVAL;
	}
	uroce_wq_lock(rq);
	/* R44 */
	if (unlikely(__atomic_load_n(&qp->state, __ATOMIC_RELAXED) == IBV_QPS_RESET)) {
		uroce_wq_unlock(rq);
		*bad_wr = wr;
		return EINVAL;
	}
	ret = post_list(rq, wr, bad_wr);
	uroce_wq_unlock(rq);
	/* R41: either the worker that moves the QP to ERR sees the new entries and flushes them, or this thread sees
	 * ERR and makes the worker flush again. Pairs with the heavy barrier of fence() in qp_change.c, between the
	 * engine's write of the state and its read of tail. */
	uroce_rcu_barrier_light();
	if (unlikely(__atomic_load_n(&qp->state, __ATOMIC_RELAXED) == IBV_QPS_ERR))
		qp->dev->ops.worker->doorbell(qp);
	return ret;
}

int
uroce_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct uroce_wq *rq = &uroce_srq_of(ibv)->wq;
	int ret;

	rte_spinlock_lock(&rq->lock);
	ret = post_list(rq, wr, bad_wr);
	rte_spinlock_unlock(&rq->lock);
	return ret;
}
