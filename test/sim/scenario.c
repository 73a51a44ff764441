/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A table of scenarios. All connections' run at the same time, on the same link, from a world that
 * is at rest; then both QPs go to ERR, and what has not completed by then is flushed.
 */

#include "scenario.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "completions.h"
#include "keep.h"
#include "oracle.h"
#include "trace.h"
#include "traffic.h"
#include "uroce.h"

#define ERROR_BIT(status) (1u << IBV_WC_##status)

struct scenario {
	const char *name;
	/* side a's request is what fails */
	void (*start)(struct sim *sim, struct side *a);
	uint32_t send_errors; /* a's; b's may only run out of retries */
	uint32_t recv_errors; /* b's */
	bool must_fail;       /* a gets one of send_errors, and not only flushes */
	bool by_nak;          /* it is b that refuses */
};

/* ---- parts ---- */

/* Requests that go well and are nothing to the peer's receives. */
static void
post_good(struct sim *sim, struct side *s, unsigned int n)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct request *q;

	for (; n > 0 && s->op_count + 2 < s->cap.max_send_wr; n--) {
		q = request_make(sim, s, opcodes[random_below(&sim->random, RTE_DIM(opcodes))],
				 random_below(&sim->random, 3 * s->conn->mtu_bytes));
		if (q != NULL)
			request_post(s, &q, 1);
	}
}

/* Behind the one that fails: all flushed.
 * @param forbidden	none of it may be executed either */
static void
post_behind(struct sim *sim, struct side *s, bool forbidden)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,           IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_SEND,       IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	unsigned int n = random_below(&sim->random, 8);
	struct request *q;

	for (; n > 0 && s->op_count < s->cap.max_send_wr; n--) {
		/* if it is executed after all, then without a fault of its own */
		q = request_make(sim, s, opcodes[random_below(&sim->random, RTE_DIM(opcodes))],
				 random_below(&sim->random, s->peer->largest_send + 1));
		if (q == NULL)
			return;
		q->op->must_fail = true;
		q->op->forbidden = forbidden;
		request_post(s, &q, 1);
	}
}

static struct request *
make_culprit(struct sim *sim, struct side *s, enum ibv_wr_opcode opcode, uint32_t length)
{
	struct request *q = request_make(sim, s, opcode, length);

	SIM_CHECK(q != NULL, "no memory for a scenario");
	s->culprit = q->op;
	return q;
}

/* @param partly	something of it may be executed before it fails */
static void
post_culprit(struct sim *sim, struct side *s, struct request *q, bool partly)
{
	/* A READ or atomic that fails when its response comes: by then others are on their way. */
	bool answered = partly && (q->op->opcode == IBV_WR_RDMA_READ || q->op->word != NULL);

	q->op->must_fail = true;
	q->op->forbidden = !partly;
	request_post(s, &q, 1);
	post_behind(sim, s, !answered);
}

static uint32_t
draw_some_bytes(struct sim *sim, struct side *s)
{
	return random_between(&sim->random, 1, 3 * s->conn->mtu_bytes);
}

static enum ibv_wr_opcode
draw_rdma(struct sim *sim)
{
	return random_once_in(&sim->random, 2) ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
}

static void
post_traffic(struct sim *sim, struct side *s)
{
	traffic_send(sim, s, 8);
	for (unsigned int n = random_below(&sim->random, 8);
	     n > 0 && s->peer->receive_count < s->peer->cap.max_recv_wr; n--)
		receive_post(sim, s->peer, s->peer->largest_send, false);
}

static void
go_on_for_a_while(struct sim *sim)
{
	unsigned int rounds = random_below(&sim->random, 12);
	uint64_t next_ns;

	for (; rounds > 0; rounds--) {
		world_poll(&sim->world);
		next_ns = world_next(&sim->world);
		if (next_ns != UINT64_MAX)
			sim->world.now_ns = next_ns;
	}
}

/* ---- scenarios ---- */

static void
start_bad_rkey(struct sim *sim, struct side *a)
{
	struct request *q;

	post_good(sim, a, random_below(&sim->random, 5));
	q = make_culprit(sim, a, draw_rdma(sim), draw_some_bytes(sim, a));
	switch (random_below(&sim->random, 4)) {
	case 0: /* of nothing, or of something else, but not of this */
		q->wr.wr.rdma.rkey ^= 1 + random_below(&sim->random, UINT32_MAX);
		break;
	case 1: /* out of its bounds */
		q->wr.wr.rdma.remote_addr = (uintptr_t)a->peer->end->memory.real +
					    a->peer->end->memory.bytes - q->op->length + 1;
		break;
	case 2: /* R20 */
		q->wr.wr.rdma.remote_addr = 0 - (uint64_t)random_below(&sim->random, q->op->length);
		break;
	default: /* without the right: the third allows local reading only */
		q->wr.wr.rdma.rkey = a->peer->end->memory.mrs[2]->rkey;
		break;
	}
	post_culprit(sim, a, q, false);
}

static void
start_bad_atomic_rkey(struct sim *sim, struct side *a)
{
	struct request *q;

	post_good(sim, a, random_below(&sim->random, 5));
	q = make_culprit(sim, a, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	/* neither of these allows atomics */
	q->wr.wr.atomic.rkey = a->peer->end->memory.mrs[random_between(&sim->random, 2, 5)]->rkey;
	q->wr.wr.atomic.remote_addr = RTE_ALIGN((uintptr_t)a->peer->end->memory.real, 8);
	post_culprit(sim, a, q, false);
}

static void
start_misaligned_atomic(struct sim *sim, struct side *a)
{
	struct request *q;

	post_good(sim, a, random_below(&sim->random, 5));
	q = make_culprit(sim, a, IBV_WR_ATOMIC_CMP_AND_SWP, 8);
	q->wr.wr.atomic.remote_addr += random_between(&sim->random, 1, 7);
	post_culprit(sim, a, q, false);
}

/* The key was good when the requests before were executed. */
static void
start_deregistered(struct sim *sim, struct side *a)
{
	struct request *q = make_culprit(sim, a, draw_rdma(sim), draw_some_bytes(sim, a));
	struct ibv_mr *mr = uroce_reg_mr(
		a->peer->end->pd, region_real(q->op->remote), q->op->length,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);

	SIM_CHECK(mr != NULL, "uroce_reg_mr: %s", strerror(errno));
	q->wr.wr.rdma.rkey = mr->rkey;
	SIM_CHECK(uroce_dereg_mr(mr) == 0, "uroce_dereg_mr fails");
	post_culprit(sim, a, q, false);
}

/* Some are executed before the region goes away. */
static void
start_deregister_in_flight(struct sim *sim, struct side *a)
{
	struct memory *memory = &a->peer->end->memory;
	struct ibv_mr *mr = uroce_reg_mr(a->peer->end->pd, memory->real, memory->bytes,
					 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
						 IBV_ACCESS_REMOTE_READ);
	struct request *q;

	SIM_CHECK(mr != NULL, "uroce_reg_mr: %s", strerror(errno));
	for (unsigned int n = 0; n < 8 && a->op_count < a->cap.max_send_wr; n++) {
		q = request_make(sim, a, draw_rdma(sim), draw_some_bytes(sim, a));
		if (q == NULL)
			break;
		q->wr.wr.rdma.rkey = mr->rkey;
		request_post(a, &q, 1);
	}
	go_on_for_a_while(sim);
	SIM_CHECK(uroce_dereg_mr(mr) == 0, "uroce_dereg_mr fails");
}

static void
start_not_allowed(struct sim *sim, struct side *a)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_LOCAL_WRITE };
	int ret = uroce_modify_qp(a->peer->qp, &attr, IBV_QP_ACCESS_FLAGS);

	SIM_CHECK(ret == 0, "uroce_modify_qp: %s", strerror(ret));
	post_culprit(sim, a,
		     make_culprit(sim, a,
				  random_once_in(&sim->random, 3) ? IBV_WR_ATOMIC_FETCH_AND_ADD
								  : draw_rdma(sim),
				  draw_some_bytes(sim, a)),
		     false);
}

/* R17 */
static void
start_too_long(struct sim *sim, struct side *a)
{
	uint32_t room, length;

	if (a->peer->receive_count == 0)
		SIM_CHECK(receive_post(sim, a->peer, random_below(&sim->random, 5000), false),
			  "no memory for a scenario");
	post_good(sim, a, random_below(&sim->random, 5));
	room = STAILQ_FIRST(&a->peer->receives)->length;
	length = room + random_between(&sim->random, 1, 2 * a->conn->mtu_bytes);
	post_culprit(sim, a, make_culprit(sim, a, IBV_WR_SEND, length), true);
}

static void
start_bad_lkey(struct sim *sim, struct side *a)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ,
		IBV_WR_SEND,
		IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	struct request *q;

	if (a->peer->receive_count == 0)
		SIM_CHECK(receive_post(sim, a->peer, a->peer->largest_send, false),
			  "no memory for a scenario");
	post_good(sim, a, random_below(&sim->random, 5));
	q = make_culprit(sim, a, opcodes[random_below(&sim->random, RTE_DIM(opcodes))],
			 random_between(&sim->random, 1, RTE_MAX(a->peer->largest_send, 1u)));
	for (int i = 0; i < q->wr.num_sge; i++)
		q->sge[i].lkey ^= 0x00ffff00;
	q->wr.send_flags &= ~(unsigned int)IBV_SEND_INLINE;
	q->op->inlined = false;
	post_culprit(sim, a, q, true);
}

/* The second end's receive may not be written. */
static void
start_bad_receive(struct sim *sim, struct side *a)
{
	struct side *b = a->peer;

	/* use up what has been posted */
	while (b->receive_count > 0) {
		struct request *q = make_culprit(sim, a, IBV_WR_SEND, 0);

		request_signal(a, q);
		request_post(a, &q, 1);
		workload_settle(sim, false);
	}
	SIM_CHECK(receive_post(sim, b, 5000, true), "no memory for a scenario");
	post_good(sim, a, random_below(&sim->random, 5));
	post_culprit(sim, a,
		     make_culprit(sim, a, IBV_WR_SEND, random_between(&sim->random, 1, 5000)),
		     true);
}

static void
start_rnr(struct sim *sim, struct side *a)
{
	struct request *q;

	while (a->peer->receive_count > 0) {
		q = make_culprit(sim, a, IBV_WR_SEND, 0);
		request_signal(a, q);
		request_post(a, &q, 1);
		workload_settle(sim, false);
	}
	post_good(sim, a, random_below(&sim->random, 5));
	q = make_culprit(sim, a,
			 random_once_in(&sim->random, 2) ? IBV_WR_SEND : IBV_WR_RDMA_WRITE_WITH_IMM,
			 random_below(&sim->random, 3 * a->conn->mtu_bytes));
	/* a message of several packets may have begun to be written before the RNR NAK of its last
	 */
	post_culprit(sim, a, q, q->op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
}

static void
start_error_state(struct sim *sim, struct side *a)
{
	post_traffic(sim, a);
	post_traffic(sim, a->peer);
	go_on_for_a_while(sim);
	conn_modify(a, IBV_QPS_ERR);
}

static void
start_destroyed(struct sim *sim, struct side *a)
{
	post_traffic(sim, a);
	post_traffic(sim, a->peer);
	go_on_for_a_while(sim);
	oracle_poll_all(a);
	conn_destroy_qp(a);
	completions_drop(a);
}

static void
start_dead_link(struct sim *sim, struct side *a)
{
	struct request *q;

	post_traffic(sim, a);
	post_traffic(sim, a->peer);
	go_on_for_a_while(sim);
	link_kill(&sim->world.link, a->peer->qpn);
	if (random_once_in(&sim->random, 2))
		link_kill(&sim->world.link, a->qpn);
	oracle_poll_all(a);
	a->must_fail = false;
	if (a->op_count == a->cap.max_send_wr)
		return;
	q = request_make(sim, a, IBV_WR_RDMA_WRITE, 1);
	if (q == NULL)
		return;
	q->op->forbidden = true;
	request_post(a, &q, 1);
	a->must_fail = true;
}

static void
start_nothing(struct sim *sim, struct side *a)
{
	(void)sim;
	(void)a;
}

static const struct scenario scenarios[] = {
	{ "nothing", start_nothing, 0, 0, false, false },
	{ "bad rkey", start_bad_rkey, ERROR_BIT(REM_ACCESS_ERR), 0, true, true },
	{ "bad rkey of an atomic", start_bad_atomic_rkey, ERROR_BIT(REM_ACCESS_ERR), 0, true,
	  true },
	{ "misaligned atomic", start_misaligned_atomic, ERROR_BIT(REM_INV_REQ_ERR), 0, true, true },
	{ "deregistered", start_deregistered, ERROR_BIT(REM_ACCESS_ERR), 0, true, true },
	{ "deregistered in flight", start_deregister_in_flight, ERROR_BIT(REM_ACCESS_ERR), 0, false,
	  true },
	{ "not allowed", start_not_allowed, ERROR_BIT(REM_INV_REQ_ERR), 0, true, true },
	{ "too long", start_too_long, ERROR_BIT(REM_INV_REQ_ERR), ERROR_BIT(LOC_LEN_ERR), true,
	  true },
	{ "bad lkey", start_bad_lkey, ERROR_BIT(LOC_PROT_ERR), 0, true, false },
	{ "bad receive", start_bad_receive, ERROR_BIT(REM_OP_ERR), ERROR_BIT(LOC_PROT_ERR), true,
	  true },
	{ "error state", start_error_state, 0, 0, false, false },
	{ "destroyed", start_destroyed, 0, 0, false, false },
	{ "dead link", start_dead_link, ERROR_BIT(RETRY_EXC_ERR), 0, true, false },
};

static const struct scenario rnr = { "RNR retries", start_rnr, ERROR_BIT(RNR_RETRY_EXC_ERR), 0,
				     true,          false };

static void
begin(struct sim *sim, struct side *a, const struct scenario *scenario)
{
	trace_note(sim->world.now_ns, "scenario: %s, QP 0x%06x", scenario->name, a->qpn);
	a->may_fail = a->peer->may_fail = true;
	a->send_errors = scenario->send_errors;
	a->must_fail = scenario->must_fail;
	a->peer->recv_errors = scenario->recv_errors;
	a->peer->send_errors = ERROR_BIT(RETRY_EXC_ERR);
	/* b's last word is said only once: lost or late, a hears nothing more */
	if (link_does_harm(&sim->world.conf.link) && scenario->by_nak)
		a->send_errors |= ERROR_BIT(RETRY_EXC_ERR);
	scenario->start(sim, a);
}

static void
check_end(const struct side *a, const struct scenario *scenario)
{
	SIM_CHECK(!a->must_fail || a->send_status != IBV_WC_SUCCESS,
		  "QP 0x%06x: scenario '%s': nothing fails", a->qpn, scenario->name);
	SIM_CHECK(scenario->recv_errors == 0 || a->peer->recv_status != IBV_WC_SUCCESS,
		  "QP 0x%06x: scenario '%s': no receive fails", a->peer->qpn, scenario->name);
}

/* What is posted to a QP in ERR is accepted, and flushed (R41). */
static void
to_error(struct sim *sim, struct side *s)
{
	if (s->qp == NULL)
		return;
	conn_modify(s, IBV_QPS_ERR);
	post_behind(sim, s, true);
	if (s->receive_count < s->cap.max_recv_wr)
		receive_post(sim, s, 100, false);
}

void
scenario_run(struct sim *sim)
{
	const struct scenario *chosen[SIM_CONNS];
	struct side *a[SIM_CONNS];

	for (unsigned int i = 0; i < sim->conn_count; i++) {
		struct conn *c = sim->conns[i];

		workload_draw_anew(sim, 3 * KEEP_PHASE_ACTIONS + i);
		a[i] = &c->side[random_below(&sim->random, 2)];
		chosen[i] = &scenarios[random_below(&sim->random, RTE_DIM(scenarios))];
		if (c->rnr_retry != 7 && random_once_in(&sim->random, 2))
			chosen[i] = &rnr;
		if (!keep_do(KEEP_SCENARIOS, i))
			chosen[i] = &scenarios[0];
		begin(sim, a[i], chosen[i]);
	}
	workload_settle(sim, false);
	for (unsigned int i = 0; i < sim->conn_count; i++) {
		check_end(a[i], chosen[i]);
		to_error(sim, a[i]);
		to_error(sim, a[i]->peer);
	}
	workload_settle(sim, false);
	for (unsigned int i = 0; i < sim->conn_count; i++)
		for (unsigned int j = 0; j < 2; j++)
			oracle_finish(&sim->conns[i]->side[j]);
}
