/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Moves a QP from one worker of its port to another, with traffic in both directions. The calling thread holds the turns
 * of both workers, and receives the frames that wait for the QP in inboxes. Control threads.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "base/rcu.h"
#include "port/affinity.h"
#include "port/port.h"
#include "port/worker/rx.h"
#include "port/worker/tx.h"
#include "port/worker/worker.h"
#include "uroce.h"
#include "uroce_config.h"
#include "verbs/address/mcast.h"
#include "verbs/cq/cq.h"
#include "verbs/qp/qp.h"
#include "verbs/srq/xrc.h"

/* The CQs of a QP, each once, in the order of their addresses. */
struct cqs {
	struct uroce_cq *cq[2];
	uint32_t refs[2]; /* of the QP */
	unsigned int n;
};

static void
cqs_lock(struct cqs *c, const struct uroce_qp *qp)
{
	struct uroce_cq *send = uroce_cq_of(qp->ibv.send_cq), *recv = uroce_cq_of(qp->ibv.recv_cq);

	if (send > recv)
		RTE_SWAP(send, recv);
	*c = (struct cqs){ .n = 0 };
	if (send != NULL && send != recv) /* an XRC QP has one CQ or none */
		c->cq[c->n++] = send;
	if (recv != NULL)
		c->cq[c->n++] = recv;
	for (unsigned int i = 0; i < c->n; i++) {
		c->refs[i] = (uint32_t)(qp->ibv.send_cq == &c->cq[i]->ibv) + (qp->ibv.recv_cq == &c->cq[i]->ibv);
		pthread_mutex_lock(&c->cq[i]->ibv.mutex);
	}
}

static void
cqs_unlock(struct cqs *c)
{
	for (unsigned int i = 0; i < c->n; i++)
		pthread_mutex_unlock(&c->cq[i]->ibv.mutex);
}

struct move {
	struct uroce_qp *qp;
	struct uroce_worker *from;
	struct uroce_worker *to;
	struct cqs cqs;
};

/* Frames that the QP has sent leave before those that it sends on the other worker, which cannot revoke them. */
static void
drain_tx(struct move *m)
{
	struct uroce_port_queue *q = m->from->by_port[m->qp->dev->port_id];

	uroce_rcu_begin_read(m->from->index);
	uroce_tx_drain(m->from, UROCE_MOVE_TX_NS);
	if (q != NULL)
		uroce_tx_revoke(q, m->qp);
	uroce_rcu_end_read(m->from->index);
}

static void
change_engine(struct move *m)
{
	uint64_t now_ns = uroce_worker_read_clocks(m->from, m->to);

	for (unsigned int i = 0; i < m->cqs.n; i++)
		uroce_cq_moved(m->cqs.cq[i], m->cqs.refs[i], &m->from->engine, &m->to->engine);
	while (!uroce_engine_qp_move(m->qp, &m->to->engine, now_ns))
		sched_yield(); /* another thread rings the doorbell */
}

static void
drain_inbox(struct move *m)
{
	uroce_rcu_begin_read(m->from->index);
	uroce_rx_inbox_drain(m->from, m->to);
	uroce_rcu_end_read(m->from->index);
}

/* Other workers continue. A worker that has read the QP's previous engine in its current round may still hand over frames
 * to that engine's worker. */
static void
move(struct move *m)
{
	uroce_worker_enter_both(m->from, m->to);
	drain_tx(m);
	change_engine(m);
	uroce_rcu_wait_for_workers();
	drain_inbox(m);
	uroce_worker_exit(m->from);
	uroce_worker_exit(m->to);
}

/* Each worker with QPs in a group has the group's frames in its inbox, and delivers them to the QPs that it has by then.
 * So no worker may hand over frames meanwhile: the QP would get a frame from both workers, or from none. */
static void
move_in_group(void *arg)
{
	struct move *m = arg;

	/* uroce_hold_workers() has marked the workers as in a driver, where they must not use keys */
	uroce_rcu_leave_driver(m->from->index);
	uroce_rcu_leave_driver(m->to->index);
	uroce_rx_inbox_drain(m->from, m->to);
	uroce_rx_inbox_drain(m->to, m->from);
	change_engine(m);
	uroce_rcu_enter_driver(m->from->index);
	uroce_rcu_enter_driver(m->to->index);
}

/* The QP stays on a worker of the port meanwhile, and the port's workers stay. */
static void
move_to(struct uroce_qp *qp, struct uroce_worker *worker)
{
	struct move m = { .qp = qp, .from = uroce_worker_of(uroce_qp_engine(qp)), .to = worker };

	if (m.from == worker)
		return;
	cqs_lock(&m.cqs, qp);
	if (uroce_mcast_is_attached(qp))
		uroce_hold_workers(move_in_group, &m);
	else
		move(&m);
	cqs_unlock(&m.cqs);
	qp->dev->ops.worker->doorbell(qp); /* the thread of its new worker may be asleep */
}

void
uroce_port_qp_move(struct uroce_qp *qp, struct uroce_worker *worker)
{
	int cancel;

	/* a thread canceled in a driver, which may write to a file, would keep the turns */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&qp->ibv.mutex);
	move_to(qp, worker);
	pthread_mutex_unlock(&qp->ibv.mutex);
	pthread_setcancelstate(cancel, &cancel);
}

int
uroce_qp_move(struct ibv_qp *ibv, struct uroce_worker *worker)
{
	struct uroce_qp *qp = uroce_qp_real(uroce_qp_of(ibv));
	int ret = 0;

	pthread_rwlock_rdlock(&qp->dev->engines_lock);
	if (qp->ibv.qp_num == UROCE_GSI_QPN || !uroce_port_has_worker(uroce_port_of(qp->dev), worker))
		ret = EINVAL;
	else
		uroce_port_qp_move(qp, worker);
	pthread_rwlock_unlock(&qp->dev->engines_lock);
	return ret;
}
