/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The loop that runs the world, and gives turns to the parts of the workload.
 */

#include "workload.h"

#include <inttypes.h>

#include <rte_common.h>

#include "keep.h"
#include "load.h"
#include "oracle.h"
#include "shared.h"
#include "unreliable.h"

#define SWEEP_ACTIONS 256    /* interval of comparisons of all memory, in actions */
#define STILL_ROUNDS  100000 /* most rounds at the same time: more are an endless loop */
#define LIMIT_NS      (UINT64_C(3600) * 1000000000)
#define LIMIT_ROUNDS  500000 /* more than ten times the most of any seed */

static void
poll_world(struct sim *sim)
{
	uint64_t rounds = 0;

	while (world_poll(&sim->world))
		SIM_CHECK(++rounds < STILL_ROUNDS, "the engines never stop sending");
}

static void
advance(struct sim *sim, uint64_t to_ns)
{
	static uint64_t still;

	still = to_ns > sim->world.now_ns ? 0 : still + 1;
	SIM_CHECK(still < STILL_ROUNDS, "the clock stands still: a deadline is never met");
	/* limits of virtual time, and of rounds */
	SIM_CHECK(to_ns < LIMIT_NS && ++sim->rounds < LIMIT_ROUNDS, "there is no end to it");
	sim->world.now_ns = to_ns;
}

void
workload_draw_anew(struct sim *sim, uint64_t number)
{
	keep_draw_anew(&sim->random, sim->seed, SIM_STREAM, number);
	keep_draw_anew(&sim->world.random, sim->seed, WORLD_STREAM, number);
	keep_draw_anew(&sim->unreliable->random, sim->seed, UNRELIABLE_STREAM, number);
	if (sim->shared != NULL)
		keep_draw_anew(&sim->shared->random, sim->seed, SHARED_STREAM, number);
}

/* The progress of the world has its own random numbers: it does not change if actions are left out. */
void
workload_run(struct sim *sim, unsigned int steps)
{
	uint64_t until = sim->posted + steps, next_ns, end;
	struct sim_random step, *r = &step;
	bool did;

	sim->actions = RTE_ALIGN_CEIL(sim->actions, KEEP_PHASE_ACTIONS);
	end = sim->actions + KEEP_PHASE_ACTIONS;
	while (sim->posted < until && keep_more(KEEP_ACTIONS, sim->actions, end)) {
		workload_draw_anew(sim, sim->actions);
		keep_draw_anew(r, sim->seed, STEP_STREAM, sim->actions);
		did = keep_do(KEEP_ACTIONS, sim->actions) && loads_act(sim);
		if (++sim->actions % SWEEP_ACTIONS == 0)
			oracle_sweep(&sim->world, sim->conns, sim->conn_count);
		if (random_once_in(r, 2))
			continue;
		if (random_once_in(r, 4))
			world_poll(&sim->world);
		else
			poll_world(sim);
		next_ns = world_next(&sim->world);
		if (did)
			next_ns =
				RTE_MIN(next_ns,
					sim->world.now_ns +
						random_below(r, (uint32_t)sim->world.conf.link.netem.delay_ns + 1));
		if (next_ns != UINT64_MAX)
			advance(sim, next_ns);
	}
	workload_draw_anew(sim, end - 1);
	workload_settle(sim, true);
}

void
workload_settle(struct sim *sim, bool post_receives)
{
	unsigned int rests = 0;
	uint64_t next_ns;
	bool idle;

	for (;;) {
		poll_world(sim);
		idle = loads_settle(sim, post_receives);
		next_ns = world_next(&sim->world);
		if (next_ns != UINT64_MAX) {
			rests = 0;
			advance(sim, next_ns);
		} else if (!world_poll(&sim->world)) {
			if (idle)
				break;
			/* once more: a part that has just polled a completion posts what it needs in its next call */
			if (rests++ == 0)
				continue;
			loads_report(sim);
			sim_fail("all is at rest, but not everything has completed");
		}
	}
	oracle_sweep(&sim->world, sim->conns, sim->conn_count);
}
