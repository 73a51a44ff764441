/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The table of scenarios, and how each begins and ends.
 */

#include "scenario.h"

#include <rte_common.h>

#include "completions.h"
#include "oracle.h"
#include "trace.h"
#include "uroce.h"

#define LATE_RNR_RETRIES  3 /* least RNR retries, for a receive that is late by one or two timers */
#define LATE_RNR_TIMER	  8 /* longest timer code: other connections must survive the scenario */
#define ERROR_BIT(status) (1u << IBV_WC_##status)

static const struct scenario scenarios[] = {
	{ .name = "bad rkey", .start = refused_bad_rkey,
	  .send_errors = ERROR_BIT(REM_ACCESS_ERR), .must_fail = true, .by_nak = true },
	{ .name = "bad rkey of an atomic", .start = refused_bad_atomic_rkey,
	  .send_errors = ERROR_BIT(REM_ACCESS_ERR), .must_fail = true, .by_nak = true },
	{ .name = "misaligned atomic", .start = refused_misaligned_atomic,
	  .send_errors = ERROR_BIT(REM_INV_REQ_ERR), .must_fail = true, .by_nak = true },
	{ .name = "deregistered", .start = refused_deregistered,
	  .send_errors = ERROR_BIT(REM_ACCESS_ERR), .must_fail = true, .by_nak = true },
	{ .name = "not allowed", .start = refused_not_allowed,
	  .send_errors = ERROR_BIT(REM_INV_REQ_ERR), .must_fail = true, .by_nak = true },
	{ .name = "too long", .start = refused_too_long,
	  .send_errors = ERROR_BIT(REM_INV_REQ_ERR), .recv_errors = ERROR_BIT(LOC_LEN_ERR),
	  .must_fail = true, .by_nak = true },
	{ .name = "bad lkey", .start = refused_bad_lkey,
	  .send_errors = ERROR_BIT(LOC_PROT_ERR), .must_fail = true },
	{ .name = "bad receive", .start = refused_bad_receive,
	  .send_errors = ERROR_BIT(REM_OP_ERR), .recv_errors = ERROR_BIT(LOC_PROT_ERR),
	  .must_fail = true, .by_nak = true, .no_receives = true },
	{ .name = "RNR retries", .start = refused_rnr,
	  .send_errors = ERROR_BIT(RNR_RETRY_EXC_ERR), .must_fail = true, .no_receives = true },
	{ .name = "late receives", .start = refused_late, .no_receives = true },
	{ .name = "error state", .start = interrupted_error_state, .at_once = true },
	{ .name = "reset", .start = interrupted_reset, .at_once = true },
	{ .name = "destroyed", .start = interrupted_destroyed, .at_once = true },
	{ .name = "dead link", .start = interrupted_dead_link,
	  .send_errors = ERROR_BIT(RETRY_EXC_ERR), .must_fail = true, .at_once = true },
	{ .name = "deregistered in flight", .start = interrupted_deregister,
	  .send_errors = ERROR_BIT(REM_ACCESS_ERR), .by_nak = true, .at_once = true },
	{ .name = "reregistered in flight", .start = interrupted_reregister,
	  .send_errors = ERROR_BIT(REM_ACCESS_ERR), .by_nak = true, .at_once = true },
	{ .name = "local key gone", .start = interrupted_local_key,
	  .send_errors = ERROR_BIT(LOC_PROT_ERR), .at_once = true },
	{ .name = "receive's key gone", .start = interrupted_receive_key,
	  .send_errors = ERROR_BIT(REM_OP_ERR), .recv_errors = ERROR_BIT(LOC_PROT_ERR), .by_nak = true,
	  .at_once = true },
};

const struct scenario *
scenario_draw(struct sim *sim, const struct conn *c)
{
	const struct scenario *s;

	do /* a connection with infinite RNR retries cannot run out of them */
		s = &scenarios[random_below(&sim->random, RTE_DIM(scenarios))];
	while ((s->start == refused_rnr && c->rnr_retry == 7) ||
	       (s->start == refused_late &&
		(c->rnr_retry < LATE_RNR_RETRIES || c->min_rnr_timer > LATE_RNR_TIMER)));
	return s;
}

void
scenario_begin(struct sim *sim, struct side *a, const struct scenario *scenario)
{
	trace_note(sim->world.now_ns, "scenario: %s, QP 0x%06x", scenario->name, a->qpn);
	a->may_fail = a->peer->may_fail = true;
	a->send_errors = scenario->send_errors;
	a->must_fail = scenario->must_fail;
	a->peer->recv_errors = scenario->recv_errors;
	a->peer->send_errors = ERROR_BIT(RETRY_EXC_ERR);
	/* b sends its NAK only once: if it is lost or late, a runs out of retries */
	if (link_does_harm(&sim->world.conf.link) && scenario->by_nak)
		a->send_errors |= ERROR_BIT(RETRY_EXC_ERR);
	if (!scenario->start(sim, a))
		a->must_fail = false;
}

bool
scenario_is_over(const struct side *a)
{
	return !a->must_fail || (a->send_status != IBV_WC_SUCCESS &&
				 (a->peer->recv_errors == 0 || a->peer->recv_status != IBV_WC_SUCCESS));
}

/* A QP in ERR accepts requests and flushes them (R41). */
static void
to_error(struct sim *sim, struct side *s)
{
	if (s->qp == NULL)
		return;
	conn_modify(s, IBV_QPS_ERR);
	scenario_post_behind(sim, s, true);
	if (s->receive_count < s->cap.max_recv_wr)
		receive_post(sim, s, 100, NULL, false);
}

/* A QP that has failed is in ERR. */
static void
check_state(struct side *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (s->qp == NULL || (s->send_status == IBV_WC_SUCCESS && s->request_events == 0))
		return;
	SIM_CHECK(uroce_query_qp(s->qp, &attr, IBV_QP_STATE, &init) == 0, "uroce_query_qp fails");
	SIM_CHECK(attr.qp_state == IBV_QPS_ERR, "QP 0x%06x has failed, and is in state %d", s->qpn,
		  (int)attr.qp_state);
}

void
scenario_end(struct sim *sim, struct side *a)
{
	check_state(a);
	if (a->send_status != IBV_WC_SUCCESS)
		check_state(a->peer);
	trace_note(sim->world.now_ns, "scenario ends, QP 0x%06x", a->qpn);
	to_error(sim, a);
	to_error(sim, a->peer);
}

static void
check_side_events(const struct side *s)
{
	bool failed = s->send_status != IBV_WC_SUCCESS;

	SIM_CHECK(s->fatal_events == failed, "QP 0x%06x: %u events of a fatal error, %s", s->qpn, s->fatal_events,
		  uroce_wc_status_str(s->send_status));
	SIM_CHECK(s->request_events <= 1, "QP 0x%06x: %u events of a bad request", s->qpn, s->request_events);
}

void
scenario_check_events(const struct side *a)
{
	bool refused = a->send_status == IBV_WC_REM_ACCESS_ERR || a->send_status == IBV_WC_REM_INV_REQ_ERR ||
		       a->send_status == IBV_WC_REM_OP_ERR;

	/* a destroyed QP has no events */
	if (a->qp != NULL)
		check_side_events(a);
	if (a->peer->qp != NULL)
		check_side_events(a->peer);
	/* a repeated READ is refused without an event: the network may have duplicated it */
	SIM_CHECK(!refused || !a->must_fail || a->peer->request_events == 1,
		  "QP 0x%06x: no event tells that it refused a request", a->peer->qpn);
}
