/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_destroy_qp(3), also asynchronously, and for handles of XRC target QPs. Control threads.
 */

#include <errno.h>
#include <sched.h>

#include "uroce.h"
#include "uroce_config.h"
#include "base/rcu.h"
#include "verbs/address/mcast.h"
#include "verbs/cq/cq.h"
#include "verbs/device/device.h"
#include "verbs/device/reclaim.h"
#include "verbs/internal.h"
#include "verbs/qp/qp.h"
#include "verbs/srq/xrc.h"
#include "wire/opcode.h"

static bool
try_free(struct uroce_reclaim *r, uint64_t now_ns)
{
	struct uroce_qp *qp = r->object;

	RTE_SET_USED(now_ns);
	if (!uroce_rcu_has_ended(r->grace) ||
	    !uroce_device_try_forget_events(qp->ibv.context, &qp->events, &qp->ibv.mutex, &qp->ibv.events_completed))
		return false;
	qp->engine = NULL; /* no worker has the QP any more */
	uroce_qp_dispose(qp);
	return true;
}

/* The QP's worker may be destroyed before the QP is freed. */
static void
forget_engine(const struct uroce_qp *qp)
{
	if (qp->ibv.send_cq != NULL)
		uroce_cq_forget_engine(uroce_cq_of(qp->ibv.send_cq), qp->engine);
	if (qp->ibv.recv_cq != NULL)
		uroce_cq_forget_engine(uroce_cq_of(qp->ibv.recv_cq), qp->engine);
}

int
uroce_destroy_qp_async(struct ibv_qp *ibv, void (*freed)(void *arg), void *arg)
{
	struct uroce_qp *qp = uroce_qp_of(ibv);
	struct uroce_reclaim *r;

	if (qp->target != NULL)
		return EOPNOTSUPP;
	if (uroce_mcast_is_attached(qp))
		return EBUSY;	/* R49 */
	r = uroce_reclaim_create(qp->dev, qp, try_free, freed, arg);
	if (r == NULL)
		return ENOMEM;
	uroce_qp_withdraw(qp);
	/* no more completions follow: the engine, which pushes them, has removed the QP */
	uroce_qp_forget_completions(qp);
	forget_engine(qp);
	r->grace = uroce_rcu_begin();
	uroce_reclaim_add(r);
	return 0;
}

/* Does the QP have messages to send that the peer will not acknowledge? */
static bool
is_sending(const struct uroce_qp *qp)
{
	return (qp->transport == UROCE_TRANSPORT_UD || qp->transport == UROCE_TRANSPORT_UC) &&
	       __atomic_load_n(&qp->state, __ATOMIC_RELAXED) == IBV_QPS_RTS &&
	       /* pairs with the release in uroce_qp_complete_send() */
	       __atomic_load_n(&qp->sq.head, __ATOMIC_ACQUIRE) != qp->sq.tail;
}

/* An RNIC begins to send at the doorbell. Applications that send unacknowledged messages rely on that and exit without
 * waiting for the completions. So give the worker time to send, and poll it if no other thread does. */
static void
send_rest(struct uroce_qp *qp)
{
	if (qp->dev->ops.worker->poll == NULL)
		return;
	for (unsigned int i = 0; i < UROCE_DESTROY_POLLS && is_sending(qp); i++) {
		qp->dev->ops.worker->poll(qp->dev, uroce_cq_of(qp->ibv.send_cq));
		sched_yield();
	}
}

int
uroce_destroy_qp(struct ibv_qp *ibv)
{
	struct uroce_qp *qp = uroce_qp_of(ibv);

	if (uroce_mcast_is_attached(qp))
		return EBUSY;	/* R49 */
	send_rest(qp);
	if (qp->target != NULL)
		uroce_xrc_handle_destroy(qp);
	else
		uroce_qp_destroy(qp);
	return 0;
}
