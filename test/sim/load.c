/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Gives turns to the parts of the workload, and dispatches events to them.
 */

#include "load.h"

#include <rte_common.h>

#include "trace.h"
#include "uroce.h"
#include "workload.h"

static const struct load *const loads[] = { &load_conns, &load_unreliable, &load_shared };

void
loads_create(struct sim *sim)
{
	for (unsigned int i = 0; i < RTE_DIM(loads); i++)
		loads[i]->create(sim);
}

bool
loads_act(struct sim *sim)
{
	unsigned int shares = 0, turn;

	for (unsigned int i = 0; i < RTE_DIM(loads); i++)
		shares += loads[i]->share;
	turn = random_below(&sim->random, shares);
	for (unsigned int i = 0; i < RTE_DIM(loads); i++) {
		if (turn < loads[i]->share)
			return loads[i]->act(sim);
		turn -= loads[i]->share;
	}
	return false;
}

bool
loads_settle(struct sim *sim, bool post_receives)
{
	bool idle = true;

	for (unsigned int i = 0; i < sim->world.conf.ends; i++)
		loads_take_events(sim, sim->world.ends[i]);
	for (unsigned int i = 0; i < RTE_DIM(loads); i++)
		idle &= loads[i]->settle(sim, post_receives);
	return idle;
}

void
loads_rest(struct sim *sim)
{
	for (unsigned int i = 0; i < RTE_DIM(loads); i++)
		loads[i]->rest(sim);
}

void
loads_report(struct sim *sim)
{
	for (unsigned int i = 0; i < RTE_DIM(loads); i++)
		loads[i]->report(sim);
}

void
loads_destroy(struct sim *sim)
{
	for (unsigned int i = 0; i < RTE_DIM(loads); i++)
		loads[i]->destroy(sim);
}

static void
give(struct sim *sim, struct end *e, const struct ibv_async_event *event)
{
	for (unsigned int i = 0; i < RTE_DIM(loads); i++)
		if (loads[i]->event(sim, e, event))
			return;
	sim_fail("end %u: an event of no known object: %s", e->index,
		 uroce_event_type_str(event->event_type));
}

void
loads_take_events(struct sim *sim, struct end *e)
{
	struct ibv_async_event event;

	while (uroce_get_async_event(end_context(e), &event) == 0) {
		trace_note(sim->world.now_ns, "end %u event: %s", e->index,
			   uroce_event_type_str(event.event_type));
		give(sim, e, &event);
		uroce_ack_async_event(&event);
	}
}
