/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The part of the workload that is reliable connections.
 */

#include <rte_common.h>

#include "completions.h"
#include "drain.h"
#include "keep.h"
#include "key.h"
#include "life.h"
#include "load.h"
#include "oracle.h"
#include "scenario.h"
#include "trace.h"
#include "traffic.h"
#include "uroce.h"

#define FAIL_TURNS  60 /* mean interval of failures of a connection, in turns */
#define CHURN_TURNS 20 /* mean interval of registrations of memory, in turns */

static struct side *
side_at(struct sim *sim, unsigned int i)
{
	return &sim->conns[i / 2]->side[i % 2];
}

static void
create(struct sim *sim)
{
	struct sim_random *r = &sim->random;

	for (unsigned int i = 0; i < sim->conn_count; i++) {
		struct conn_conf conf = { .rnr_retry = 7 };

		conf.ends[0] = random_below(r, sim->world.conf.ends);
		conf.ends[1] = random_below(r, sim->world.conf.ends);
		conf.eager_receives = sim->calm || random_once_in(r, 2);
		if (conf.eager_receives && random_once_in(r, 2))
			conf.rnr_retry = (uint8_t)random_below(r, 7);
		sim->conns[i] = conn_create(&sim->world, r, i, &conf);
		conn_connect(r, sim->conns[i]);
	}
}

static bool
act(struct sim *sim)
{
	unsigned int i = random_below(&sim->random, 2 * sim->conn_drawn);
	struct side *s;

	if (i >= 2 * sim->conn_count)
		return false;
	s = side_at(sim, i);
	if (random_once_in(&sim->random, CHURN_TURNS))
		key_churn(sim);
	loads_take_events(sim, s->end);
	if (s->conn->phase != CONN_UP)
		return !life_go_on(sim, s->conn, false);
	if (!sim->calm && random_once_in(&sim->random, FAIL_TURNS))
		life_begin(sim, s->conn);
	return s->conn->phase != CONN_UP || traffic_act(sim, s);
}

static bool
settle(struct sim *sim, bool post_receives)
{
	bool idle = true;

	for (unsigned int i = 0; i < sim->conn_count; i++) {
		struct conn *c = sim->conns[i];

		if (c->phase != CONN_UP) {
			idle &= life_go_on(sim, c, true);
			continue;
		}
		for (unsigned int j = 0; j < 2; j++) {
			traffic_settle(sim, &c->side[j], post_receives);
			idle &= traffic_is_idle(&c->side[j]);
		}
	}
	return idle;
}

void
conns_feed(struct sim *sim)
{
	for (unsigned int i = 0; i < 2 * sim->conn_count; i++)
		if (side_at(sim, i)->conn->phase == CONN_UP)
			traffic_settle(sim, side_at(sim, i), true);
}

void
conns_fail(struct sim *sim)
{
	for (unsigned int i = 0; i < sim->conn_count; i++) {
		workload_draw_anew(sim, 3 * KEEP_PHASE_ACTIONS + i);
		if (keep_do(KEEP_SCENARIOS, i))
			life_begin(sim, sim->conns[i]);
	}
}

static void
rest(struct sim *sim)
{
	oracle_sweep(&sim->world, sim->conns, sim->conn_count);
	for (unsigned int i = 0; i < 2 * sim->conn_count; i++)
		watch_rest(side_at(sim, i));
}

/* Check a QP's event against the QP's state. */
static void
side_event(struct side *s, enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_SQ_DRAINED: drain_event(s); break;
	case IBV_EVENT_COMM_EST: break;
	case IBV_EVENT_QP_FATAL:
		SIM_CHECK(s->may_fail, "QP 0x%06x: %s", s->qpn, uroce_event_type_str(type));
		s->fatal_events++;
		break;
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		SIM_CHECK(s->may_fail, "QP 0x%06x: %s", s->qpn, uroce_event_type_str(type));
		s->request_events++;
		break;
	default: sim_fail("QP 0x%06x: %s", s->qpn, uroce_event_type_str(type));
	}
}

static bool
event(struct sim *sim, struct end *e, const struct ibv_async_event *event)
{
	(void)e;
	if (event->event_type == IBV_EVENT_CQ_ERR || event->event_type == IBV_EVENT_SRQ_ERR ||
	    event->event_type == IBV_EVENT_SRQ_LIMIT_REACHED)
		return false;
	for (unsigned int i = 0; i < 2 * sim->conn_count; i++)
		if (side_at(sim, i)->qp == event->element.qp) {
			side_event(side_at(sim, i), event->event_type);
			return true;
		}
	return false;
}

static void
report(struct sim *sim)
{
	for (unsigned int i = 0; i < 2 * sim->conn_count; i++) {
		const struct side *s = side_at(sim, i);

		if (s->conn->phase != CONN_UP)
			trace_note(sim->world.now_ns, "QP 0x%06x: '%s' does not end", s->qpn,
				   s->conn->scenario->name);
		if (!traffic_is_idle(s))
			trace_note(sim->world.now_ns,
				   "end %u qp 0x%06x: %u sends (%u of %u), %u receives, %u "
				   "messages are left",
				   s->end->index, s->qpn, s->op_count, s->unsignaled,
				   s->cap.max_send_wr, s->receive_count, traffic_messages(s));
	}
}

static void
destroy(struct sim *sim)
{
	for (unsigned int i = 0; i < sim->conn_count; i++) {
		/* receives without a message */
		completions_drop(&sim->conns[i]->side[0]);
		completions_drop(&sim->conns[i]->side[1]);
		conn_destroy(sim->conns[i]);
	}
}

const struct load load_conns = {
	.name = "conns",
	.share = 4,
	.create = create,
	.act = act,
	.settle = settle,
	.rest = rest,
	.event = event,
	.report = report,
	.destroy = destroy,
};
