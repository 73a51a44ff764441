/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A CQ that is too small and is not polled (R43): its completions stay and are right, an event reports the lost ones,
 * and the QP stops.
 */

#include <rte_common.h>

#include "oracle.h"
#include "scenario.h"
#include "trace.h"
#include "uroce.h"

#define OVERRUN_CQE    4
#define OVERRUN_DEPTH  32
#define OVERRUN_POSTED 16

static void
rest_without_polling(struct sim *sim)
{
	uint64_t next_ns;

	for (;;) {
		while (world_poll(&sim->world))
			;
		next_ns = world_next(&sim->world);
		if (next_ns == UINT64_MAX)
			return;
		sim->world.now_ns = next_ns;
	}
}

static void
check_overrun(struct side *s)
{
	struct ibv_async_event event;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	do { /* skip earlier events, of failed QPs */
		SIM_CHECK(uroce_get_async_event(end_context(s->end), &event) == 0,
			  "no event says that a CQ is full");
		uroce_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_CQ_ERR || event.element.cq != s->send_cq);
	SIM_CHECK(uroce_query_qp(s->qp, &attr, IBV_QP_STATE, &init) == 0 &&
			  attr.qp_state == IBV_QPS_ERR,
		  "the QP goes on with its CQ full");
	for (unsigned int i = 0; i < OVERRUN_CQE; i++)
		SIM_CHECK(oracle_poll(s, 1) == 1, "the full CQ has %u completions of %u", i,
			  OVERRUN_CQE);
	SIM_CHECK(oracle_poll(s, 1) == 0, "the full CQ has more completions than entries");
}

void
scenario_overrun(struct sim *sim)
{
	struct conn_conf conf = { .rnr_retry = 7, .cqe = OVERRUN_CQE, .depth = OVERRUN_DEPTH };
	struct conn *c;
	struct side *a;

	conf.ends[0] = random_below(&sim->random, sim->world.conf.ends);
	conf.ends[1] = random_below(&sim->random, sim->world.conf.ends);
	c = conn_create(&sim->world, &sim->random, SIM_CONNS, &conf);
	conn_connect(&sim->random, c);
	a = &c->side[0];
	a->may_fail = a->peer->may_fail = true;
	trace_note(sim->world.now_ns, "scenario: CQ overrun, QP 0x%06x", a->qpn);
	for (unsigned int i = 0; i < OVERRUN_POSTED; i++) {
		uint32_t length = random_between(&sim->random, 1, 10000);
		struct request *q = request_make(sim, a, IBV_WR_RDMA_WRITE, length);

		while (q == NULL && length > 1) { /* with many ends each has little memory */
			length /= 2;
			q = request_make(sim, a, IBV_WR_RDMA_WRITE, length);
		}
		SIM_CHECK(q != NULL, "no memory for a scenario");
		request_signal(a, q);
		request_post(a, &q, 1);
	}
	rest_without_polling(sim);
	check_overrun(a);
	oracle_finish(a);
	oracle_finish(a->peer);
	conn_destroy(c);
}
