/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The application's actions on a reliable connection: it posts random requests and receives, polls its CQs now and
 * then, and drains send queues.
 */

#include "traffic.h"

#include <string.h>

#include <rte_common.h>

#include "drain.h"
#include "oracle.h"
#include "queues.h"
#include "trace.h"
#include "uroce.h"

#define LARGE_BYTES   100000
#define DRAIN_ACTIONS 200    /* mean interval of drains of a send queue, in actions */
#define WINDOW_ACTIONS 6     /* mean interval of binds of a type 1 window */
#define QUEUE_ACTIONS 30     /* mean interval of resizes or moderations of a CQ */

static const enum ibv_wr_opcode opcodes[] = {
	IBV_WR_SEND,       IBV_WR_SEND_WITH_IMM,       IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
	IBV_WR_RDMA_READ,  IBV_WR_ATOMIC_CMP_AND_SWP,  IBV_WR_ATOMIC_FETCH_AND_ADD,
	IBV_WR_FLUSH,      IBV_WR_ATOMIC_WRITE,        IBV_WR_SEND_WITH_INV,
	IBV_WR_BIND_MW, /* or a local invalidation of the bound window */
};

static bool
is_message(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* Lengths: small, about one or a few times the MTU, or large. */
static uint32_t
draw_length(struct sim *sim, struct side *s)
{
	struct sim_random *r = &sim->random;
	uint32_t mtu = s->conn->mtu_bytes;

	switch (random_below(r, 8)) {
	case 0: return random_below(r, 9);
	case 1:
	case 2: return random_below(r, 600);
	case 3:
	case 4: return random_between(r, 1, 6) * mtu + random_below(r, 9) - 4;
	case 5:
		return random_once_in(r, 8) ? random_below(r, LARGE_BYTES)
					    : random_below(r, 20 * mtu);
	default: return random_below(r, 4 * mtu);
	}
}

unsigned int
traffic_messages(const struct side *s)
{
	const struct message *m;
	unsigned int n = 0;

	STAILQ_FOREACH(m, &s->messages, link)
		n++;
	return n;
}

/* Make a request with the same remote memory as the first one. */
static struct request *
make_on_same_remote(struct sim *sim, struct side *s, const struct request *first,
		    enum ibv_wr_opcode opcode)
{
	struct op *op = first->op;
	struct request *q = request_make(sim, s, opcode, op->length);

	if (q == NULL)
		return NULL;
	region_put(q->op->remote);
	q->op->remote = op->remote;
	op->remote->refs++;
	q->wr.wr.rdma.remote_addr = first->wr.wr.rdma.remote_addr;
	q->wr.wr.rdma.rkey = region_key(op->remote,
					IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	return q;
}

/* Make a WRITE of the bytes that the first request READs. */
static struct request *
make_from_same_local(struct sim *sim, struct side *s, const struct request *first)
{
	struct op *op = first->op;
	struct request *q = request_make(sim, s, IBV_WR_RDMA_WRITE, op->length);

	if (q == NULL)
		return NULL;
	for (unsigned int i = 0; i < q->op->num_sge; i++)
		region_put(q->op->locals[i]);
	q->op->num_sge = op->num_sge;
	q->wr.num_sge = first->wr.num_sge;
	memcpy(q->sge, first->sge, sizeof(q->sge));
	memcpy(q->op->locals, op->locals, sizeof(q->op->locals));
	for (unsigned int i = 0; i < op->num_sge; i++)
		op->locals[i]->refs++;
	q->wr.send_flags &= ~(unsigned int)IBV_SEND_INLINE;
	q->op->inlined = false;
	return q;
}

/* Make a request that is right only if the first one was executed before it: it READs the bytes of a WRITE, overwrites
 * the bytes of a READ, or sends them on, with a fence. */
static struct request *
make_second(struct sim *sim, struct side *s, const struct request *first)
{
	struct request *q;

	if (first->op->length == 0)
		return NULL;
	if (first->op->opcode == IBV_WR_RDMA_WRITE)
		return make_on_same_remote(sim, s, first, IBV_WR_RDMA_READ);
	if (first->op->opcode != IBV_WR_RDMA_READ)
		return NULL;
	q = random_once_in(&sim->random, 2) ? make_from_same_local(sim, s, first)
					    : make_on_same_remote(sim, s, first, IBV_WR_RDMA_WRITE);
	if (q != NULL)
		q->wr.send_flags |= IBV_SEND_FENCE;
	return q;
}

static struct request *
make_random(struct sim *sim, struct side *s)
{
	enum ibv_wr_opcode opcode = opcodes[random_below(&sim->random, RTE_DIM(opcodes))];
	uint32_t length = draw_length(sim, s);

	if (is_message(opcode) && s->conn->eager_receives &&
	    traffic_messages(s->peer) >= s->peer->receive_count)
		return NULL;
	if (is_message(opcode) && opcode != IBV_WR_RDMA_WRITE_WITH_IMM)
		length = random_below(&sim->random, s->peer->largest_send + 1);
	return request_make(sim, s, opcode, length);
}

unsigned int
traffic_send(struct sim *sim, struct side *s, unsigned int most)
{
	struct request *requests[2];
	unsigned int wanted, done, n;

	wanted = RTE_MIN(s->cap.max_send_wr - s->op_count, random_between(&sim->random, 1, most));
	for (done = 0; done < wanted; done += n) {
		n = 0;
		requests[n] = make_random(sim, s);
		if (requests[n] == NULL)
			break;
		n++;
		if (done + n < wanted && random_once_in(&sim->random, 3)) {
			requests[n] = make_second(sim, s, requests[0]);
			n += requests[n] != NULL;
		}
		request_post(s, requests, n);
	}
	return done;
}

static void
top_up_receives(struct sim *sim, struct side *s, unsigned int target)
{
	while (s->receive_count < RTE_MIN(target, s->cap.max_recv_wr))
		if (!receive_post(sim, s, s->largest_send + random_below(&sim->random, 65), NULL,
				  false))
			break;
}

bool
traffic_act(struct sim *sim, struct side *s)
{
	struct sim_random *r = &sim->random;
	unsigned int n;

	if (s->conn->eager_receives)
		top_up_receives(sim, s, s->cap.max_recv_wr);
	if (random_once_in(r, DRAIN_ACTIONS))
		drain_begin(s);
	if (random_once_in(r, WINDOW_ACTIONS))
		window_turn(sim, s);
	if (random_once_in(r, QUEUE_ACTIONS))
		queue_change(r, s);
	loads_take_events(sim, s->end);
	if (random_once_in(r, 4))
		drain_end(s);
	switch (random_below(r, 4)) {
	case 0:
	case 1:
		n = traffic_send(sim, s, 8);
		sim->posted += n;
		return n > 0;
	case 2: top_up_receives(sim, s, s->receive_count + random_between(r, 1, 4)); return false;
	default:
		if (!random_once_in(r, 4))
			return oracle_poll(s, random_between(r, 1, 16)) > 0;
		oracle_poll_all(s);
		return false;
	}
}

/* Have all requests completed that will? */
bool
traffic_is_idle(const struct side *s)
{
	if (s->overrun)
		return true;
	return STAILQ_EMPTY(&s->ops) && !s->draining && (s->may_fail || STAILQ_EMPTY(&s->messages));
}

/* Post a signaled request, with which the unsignaled ones complete. */
static void
close_unsignaled(struct sim *sim, struct side *s)
{
	struct request *q;

	if (s->unsignaled == 0 || s->qp == NULL || STAILQ_EMPTY(&s->ops) || s->send_failed ||
	    s->op_count >= s->cap.max_send_wr)
		return;
	q = request_make(sim, s, IBV_WR_RDMA_WRITE, 0);
	if (q == NULL)
		return;
	request_signal(s, q);
	request_post(s, &q, 1);
}

void
traffic_settle(struct sim *sim, struct side *s, bool post_receives)
{
	oracle_poll_all(s);
	drain_end(s);
	close_unsignaled(sim, s);
	if (post_receives && s->qp != NULL)
		top_up_receives(sim, s, traffic_messages(s));
}
