/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <rte_debug.h>

#include "device.h"
#include "engine.h"
#include "transport/engine.h"
#include "transport/responder/responder.h"
#include "verbs/qp/qp.h"

static struct harness_engine *
engine_of(struct uroce_engine *engine)
{
	return (struct harness_engine *)engine;
}

void
harness_engine_init(struct harness_engine *engine, struct harness_device *device)
{
	engine->device = device;
	pthread_mutex_init(&engine->lock, NULL);
}

void
harness_engine_fini(struct harness_engine *engine)
{
	pthread_mutex_destroy(&engine->lock);
}

void
harness_engine_enter(struct uroce_engine *engine)
{
	struct harness_engine *e = engine_of(engine);

	if (e->device->entering != NULL)
		e->device->entering();
	pthread_mutex_lock(&e->lock);
	e->inside = true;
}

void
harness_engine_exit(struct uroce_engine *engine)
{
	engine_of(engine)->inside = false;
	pthread_mutex_unlock(&engine_of(engine)->lock);
}

static void
qp_detach(struct uroce_qp *qp)
{
	RTE_VERIFY(engine_of(qp->engine)->inside);
	/* the look-up no longer finds the QP */
	RTE_VERIFY(uroce_qp_lookup(qp->dev, qp->ibv.qp_num) == NULL);
	harness_device_of(qp->dev)->attached--;
}

static void
qp_changed(struct uroce_qp *qp, enum ibv_qp_state from, int attr_mask)
{
	struct harness_device *d = harness_device_of(qp->dev);

	RTE_VERIFY(engine_of(qp->engine)->inside);
	d->changes++;
	d->changed_qp = qp;
	d->changed_from = from;
	d->changed_to = qp->state;
	d->changed_mask = attr_mask;
}

static uint64_t
engine_now(const struct uroce_engine *engine)
{
	return ((const struct harness_engine *)engine)->now_ns;
}

static void
timer_arm(struct uroce_engine *engine, struct uroce_timer *timer, uint64_t deadline_ns)
{
	RTE_VERIFY(engine_of(engine)->timer == NULL);
	engine_of(engine)->timer = timer;
	engine_of(engine)->deadline_ns = deadline_ns;
}

static void
timer_remove(struct uroce_engine *engine, struct uroce_timer *timer)
{
	RTE_VERIFY(engine_of(engine)->inside);
	RTE_VERIFY(engine_of(engine)->timer == timer);
	engine_of(engine)->timer = NULL;
}

const struct uroce_transport_ops harness_engine_transport_ops = {
	.qp_detach = qp_detach,
	.engine_now = engine_now,
	.timer_arm = timer_arm,
	.timer_remove = timer_remove,
	.qp_changed = qp_changed,
	.qp_query = uroce_engine_qp_query,
	.qp_rd_atomics = uroce_responder_take_ring,
};
