/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Scenarios in the middle of traffic: a QP is reset or destroyed, its link is cut, or the memory of requests is
 * deregistered. Requests that have not been executed by then never are.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "completions.h"
#include "key.h"
#include "oracle.h"
#include "scenario.h"
#include "traffic.h"
#include "uroce.h"

#define MOST_NAMED  8 /* requests that name the memory */
#define MOST_ROUNDS 12

static void
post_traffic(struct sim *sim, struct side *s)
{
	traffic_send(sim, s, 8);
	for (unsigned int n = random_below(&sim->random, 8);
	     n > 0 && s->peer->receive_count < s->peer->cap.max_recv_wr; n--)
		receive_post(sim, s->peer, s->peer->largest_send, NULL, false);
}

static void
go_on_for_a_while(struct sim *sim)
{
	unsigned int rounds = random_below(&sim->random, MOST_ROUNDS);
	uint64_t next_ns;

	for (; rounds > 0; rounds--) {
		world_poll(&sim->world);
		next_ns = world_next(&sim->world);
		if (next_ns != UINT64_MAX)
			sim->world.now_ns = next_ns;
	}
}

static void
get_going(struct sim *sim, struct side *a)
{
	post_traffic(sim, a);
	post_traffic(sim, a->peer);
	go_on_for_a_while(sim);
}

bool
interrupted_error_state(struct sim *sim, struct side *a)
{
	get_going(sim, a);
	conn_modify(a, IBV_QPS_ERR);
	return true;
}

/* Completions so far are in the CQ; no more will come. */
bool
interrupted_reset(struct sim *sim, struct side *a)
{
	get_going(sim, a);
	oracle_poll_all(a);
	conn_modify(a, IBV_QPS_RESET);
	completions_drop(a);
	return true;
}

bool
interrupted_destroyed(struct sim *sim, struct side *a)
{
	get_going(sim, a);
	oracle_poll_all(a);
	conn_destroy_qp(a);
	completions_drop(a);
	return true;
}

bool
interrupted_dead_link(struct sim *sim, struct side *a)
{
	struct request *q;

	get_going(sim, a);
	a->conn->cut_off = true;
	link_kill(&sim->world.link, a->peer->qpn);
	if (random_once_in(&sim->random, 2))
		link_kill(&sim->world.link, a->qpn);
	oracle_poll_all(a);
	if (a->op_count == a->cap.max_send_wr)
		return false;
	q = request_make(sim, a, IBV_WR_RDMA_WRITE, 1);
	if (q == NULL)
		return false;
	q->op->forbidden = true;
	request_post(a, &q, 1);
	return true;
}

/* ---- memory that is deregistered ---- */

static struct ibv_mr *
register_all(struct end *e)
{
	struct ibv_mr *mr = uroce_reg_mr(e->pd, e->memory.real, e->memory.bytes,
					 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);

	SIM_CHECK(mr != NULL, "uroce_reg_mr: %s", strerror(errno));
	return mr;
}

static void
deregister(struct sim *sim, struct ibv_mr *mr)
{
	uint32_t key = mr->rkey;

	SIM_CHECK(uroce_dereg_mr(mr) == 0, "uroce_dereg_mr fails");
	key_gone(sim, key);
}

static uint32_t
draw_bytes(struct sim *sim, const struct side *s)
{
	return random_between(&sim->random, 1, 3 * s->conn->mtu_bytes);
}

/* @param local	memory of the requester, else of the peer */
static void
post_named(struct sim *sim, struct side *a, const struct ibv_mr *mr, bool local)
{
	enum ibv_wr_opcode opcode;
	struct request *q;

	for (unsigned int n = 0; n < MOST_NAMED && a->op_count < a->cap.max_send_wr; n++) {
		opcode = random_once_in(&sim->random, 2) ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
		q = request_make(sim, a, opcode, draw_bytes(sim, a));
		if (q == NULL)
			return;
		for (int i = 0; local && i < q->wr.num_sge; i++)
			q->sge[i].lkey = mr->lkey;
		if (!local)
			q->wr.wr.rdma.rkey = mr->rkey;
		request_post(a, &q, 1);
	}
}

bool
interrupted_deregister(struct sim *sim, struct side *a)
{
	struct ibv_mr *mr = register_all(a->peer->end);

	post_named(sim, a, mr, false);
	go_on_for_a_while(sim);
	deregister(sim, mr);
	return true;
}

/* The region gets another address, or loses the right to write. */
bool
interrupted_reregister(struct sim *sim, struct side *a)
{
	struct memory *memory = &a->peer->end->memory;
	struct ibv_mr *mr = register_all(a->peer->end);
	bool moved = random_once_in(&sim->random, 2);
	int ret;

	post_named(sim, a, mr, false);
	go_on_for_a_while(sim);
	ret = moved ? uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, &a->peer->end->gid,
				     sizeof(a->peer->end->gid), 0)
		    : uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE);
	SIM_CHECK(ret == 0, "uroce_rereg_mr of %u bytes: %d, %s", memory->bytes, ret, strerror(errno));
	key_gone(sim, mr->rkey);
	a->conn->spare_mr = mr;
	return true;
}

/* Memory that a request sends, or that its response is written to. */
bool
interrupted_local_key(struct sim *sim, struct side *a)
{
	struct ibv_mr *mr = register_all(a->end);

	post_named(sim, a, mr, true);
	go_on_for_a_while(sim);
	deregister(sim, mr);
	return true;
}

/* Memory of the peer's receives. */
bool
interrupted_receive_key(struct sim *sim, struct side *a)
{
	struct ibv_mr *mr = register_all(a->peer->end);
	unsigned int receives = 0;
	struct request *q;

	while (receives < MOST_NAMED && a->peer->receive_count < a->peer->cap.max_recv_wr &&
	       receive_post(sim, a->peer, a->peer->largest_send, mr, false))
		receives++;
	for (; receives > 0 && a->op_count < a->cap.max_send_wr; receives--) {
		q = request_make(sim, a, IBV_WR_SEND, random_below(&sim->random, a->peer->largest_send + 1));
		if (q == NULL)
			break;
		request_post(a, &q, 1);
	}
	go_on_for_a_while(sim);
	deregister(sim, mr);
	return true;
}
