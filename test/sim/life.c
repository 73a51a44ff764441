/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The phases of a connection that fails.
 */

#include "life.h"

#include "oracle.h"
#include "scenario.h"
#include "traffic.h"

#define LAST_TURNS 8 /* mean number of turns until a phase ends that may end */

static void
begin(struct sim *sim, struct conn *c)
{
	c->phase = CONN_FAILING;
	scenario_begin(sim, c->failing, c->scenario);
}

void
life_begin(struct sim *sim, struct conn *c)
{
	c->failing = &c->side[random_below(&sim->random, 2)];
	c->scenario = scenario_draw(sim, c);
	c->again = random_once_in(&sim->random, 2);
	c->phase = CONN_QUIET;
	if (c->scenario->at_once && !c->side[0].draining && !c->side[1].draining)
		begin(sim, c);
}

static void
settle(struct sim *sim, struct conn *c, bool post_receives)
{
	traffic_settle(sim, &c->side[0], post_receives);
	traffic_settle(sim, &c->side[1], post_receives);
}

static bool
is_idle(const struct conn *c)
{
	return traffic_is_idle(&c->side[0]) && traffic_is_idle(&c->side[1]);
}

/* Send empty messages to consume the receives, which the scenario must not have. */
static void
use_up_receives(struct sim *sim, struct side *a)
{
	unsigned int n = a->peer->receive_count;
	struct request *q;

	for (; n > 0 && a->op_count < a->cap.max_send_wr; n--) {
		q = request_make(sim, a, IBV_WR_SEND, 0);
		if (q == NULL)
			return;
		request_signal(a, q);
		request_post(a, &q, 1);
	}
}

static void
quiet(struct sim *sim, struct conn *c)
{
	settle(sim, c, true);
	if (!is_idle(c))
		return;
	if (c->scenario->no_receives && c->failing->peer->receive_count > 0)
		use_up_receives(sim, c->failing);
	else
		begin(sim, c);
}

static void
fail(struct sim *sim, struct conn *c, bool hurry)
{
	settle(sim, c, false);
	if (!scenario_is_over(c->failing) || (!hurry && !random_once_in(&sim->random, LAST_TURNS)))
		return;
	c->phase = CONN_FLUSHED;
	scenario_end(sim, c->failing);
}

static void
flush(struct sim *sim, struct conn *c, bool hurry)
{
	bool still = world_next(&sim->world) == UINT64_MAX;

	for (unsigned int i = 0; i < 2; i++) {
		oracle_poll_all(&c->side[i]);
		if (!STAILQ_EMPTY(&c->side[i].ops) || !STAILQ_EMPTY(&c->side[i].receives))
			return;
	}
	/* reuse the QPs only when no old packet can arrive any more: the world is at rest */
	if (hurry && c->again && !c->cut_off && !still)
		return;
	oracle_finish(&c->side[0]);
	oracle_finish(&c->side[1]);
	loads_take_events(sim, c->side[0].end);
	loads_take_events(sim, c->side[1].end);
	scenario_check_events(c->failing);
	conn_renew(&sim->random, c, c->again && !c->cut_off && still);
	c->phase = CONN_UP;
}

static void
step(struct sim *sim, struct conn *c, bool hurry)
{
	switch (c->phase) {
	case CONN_UP: break;
	case CONN_QUIET: quiet(sim, c); break;
	case CONN_FAILING: fail(sim, c, hurry); break;
	case CONN_FLUSHED: flush(sim, c, hurry); break;
	}
}

bool
life_go_on(struct sim *sim, struct conn *c, bool hurry)
{
	enum conn_phase before;

	do {
		before = c->phase;
		step(sim, c, hurry);
	} while (hurry && c->phase != before);
	return c->phase == CONN_UP;
}
