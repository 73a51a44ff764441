/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Chooses the worker of each QP of a port, and reports it. Control threads.
 */

#include <errno.h>

#include "port/affinity.h"
#include "port/driven.h"
#include "port/port.h"
#include "port/worker/worker.h"
#include "uroce.h"
#include "verbs/cq/cq.h"
#include "verbs/memory/pd.h"
#include "verbs/qp/qp.h"
#include "verbs/srq/xrc.h"

/* The worker of a QP that names none. */
static struct uroce_worker *
next_worker(struct uroce_port *port)
{
	struct uroce_worker *w;

	pthread_mutex_lock(&port->lock);
	w = port->queues[port->next_queue++ % port->nb_queues].worker;
	pthread_mutex_unlock(&port->lock);
	return w;
}

static struct uroce_worker *
worker_of_vector(const struct uroce_port *port, uint32_t vector)
{
	return port->queues[vector % port->nb_queues].worker;
}

/* Most programs request vector 0 for each CQ. If the application drives the workers, such a CQ belongs to the worker of
 * the thread that creates the CQ's first QP. */
static bool
goes_home(const struct uroce_port *port, const struct uroce_qp *qp)
{
	return port->dev.poll_progress && port->nb_queues > 1 && qp->ibv.qp_num != UROCE_GSI_QPN &&
	       uroce_cq_of(qp->ibv.send_cq)->comp_vector == 0;
}

static struct uroce_worker *
worker_of_cq(const struct uroce_port *port, const struct uroce_qp *qp)
{
	const struct uroce_cq *cq = uroce_cq_of(qp->ibv.send_cq);
	struct uroce_engine *producer = uroce_cq_producer(cq);

	if (!goes_home(port, qp))
		return worker_of_vector(port, cq->comp_vector);
	if (producer != NULL && uroce_port_has_worker(port, uroce_worker_of(producer)))
		return uroce_worker_of(producer);
	return uroce_driven_home(port, NULL);
}

/* Queues may have been removed since the CQ and the thread domain were created. */
int
uroce_port_qp_attach(struct uroce_qp *qp)
{
	struct uroce_port *port = uroce_port_of(qp->dev);
	struct uroce_engine *engine = uroce_pd_engine(qp->ibv.pd);

	if (qp->ibv.send_cq != NULL && (engine != NULL || !goes_home(port, qp)))
		__atomic_store_n(&uroce_cq_of(qp->ibv.send_cq)->place.fixed, true, __ATOMIC_RELAXED);
	if (engine != NULL && uroce_port_has_worker(port, uroce_worker_of(engine)))
		qp->engine = engine;
	else if (qp->ibv.send_cq != NULL)
		qp->engine = &worker_of_cq(port, qp)->engine;
	else
		qp->engine = &next_worker(port)->engine; /* an XRC target has no CQ */
	return 0;
}

struct uroce_worker *
uroce_qp_worker(struct ibv_qp *ibv)
{
	return uroce_worker_of(uroce_qp_engine(uroce_qp_real(uroce_qp_of(ibv))));
}

struct ibv_td *
uroce_alloc_td_on(struct ibv_context *context, struct uroce_worker *worker)
{
	struct uroce_port *port = uroce_port_of_context(context);
	struct ibv_td *td;
	bool is_ours;

	/* the worker stays as long as the thread domain, even if the port no longer uses it */
	pthread_rwlock_rdlock(&port->dev.engines_lock);
	is_ours = uroce_port_has_worker(port, worker) && uroce_workers_get(&worker, 1) == 0;
	pthread_rwlock_unlock(&port->dev.engines_lock);
	if (!is_ours) {
		errno = EINVAL;
		return NULL;
	}
	td = uroce_td_create(context, &worker->engine);
	if (td == NULL)
		uroce_workers_put(&worker, 1);
	return td;
}
