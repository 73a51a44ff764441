/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The UC and UD part of the workload: sends messages that contain their identity. delivery.c checks received messages.
 */

#include "unreliable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "load.h"
#include "trace.h"
#include "uroce.h"
#include "wire/headers.h"
#include "workload.h"


static const enum ibv_wr_opcode opcodes[] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE,
};

static void
post_receives(struct node *n)
{
	while (n->receives_posted - n->received < NODE_DEPTH) {
		uint8_t *slot = n->receives + n->receives_posted % NODE_DEPTH * NODE_SLOT_BYTES;
		uint32_t room = NODE_SLOT_BYTES - NODE_GUARD_BYTES;
		struct ibv_sge sge[] = {
			{ (uintptr_t)slot, 41, n->mr->lkey },
			{ (uintptr_t)slot + 41, room - 41, n->mr->lkey },
		};
		struct ibv_recv_wr wr = { .wr_id = NODE_RECV_BIT | n->receives_posted, .sg_list = sge, .num_sge = 2 };
		struct ibv_recv_wr *bad;

		memset(slot + room, NODE_GUARD, NODE_GUARD_BYTES);
		SIM_CHECK(uroce_post_recv(n->qp, &wr, &bad) == 0, "uroce_post_recv fails");
		n->receives_posted++;
	}
}

static void
draw_letter(struct unreliable *u, struct node *n, struct letter *l)
{
	struct sim_random *r = &u->random;
	bool ud = n->type == IBV_QPT_UD;

	memset(l, 0, sizeof(*l));
	l->status = IBV_WC_SUCCESS;
	l->to = n->peer;
	while (ud && (u->nodes[l->to].type != IBV_QPT_UD || random_once_in(r, 2)))
		l->to = random_below(r, NODE_COUNT);
	if (ud && random_once_in(r, 4))
		l->to = NODE_GROUP;
	l->opcode = opcodes[random_below(r, ud ? 2 : RTE_DIM(opcodes))];
	l->length = random_between(r, letter_has_imm(l) ? 0 : 4, ud ? 4096 : random_once_in(r, 2) ? 1024 : 7000);
	l->signaled = random_once_in(r, 2);
	l->wrong_qkey = ud && random_once_in(r, 10);
}

static struct ibv_ah *
make_ah(struct unreliable *u, struct node *n, const union ibv_gid *to)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = *to, .hop_limit = 9,
			 .flow_label = random_once_in(&u->random, 2) ? 0 : 0x12345 },
	};
	struct ibv_ah *ah = uroce_create_ah(n->end->pd, &attr);

	SIM_CHECK(ah != NULL, "uroce_create_ah: %s", strerror(errno));
	return ah;
}

/* Record the members of the group, each of which may receive the message. */
static void
note_group(struct unreliable *u, struct letter *l)
{
	u->has_group = true;
	for (unsigned int i = NODE_UC_COUNT; i < NODE_COUNT; i++)
		l->members |= (unsigned int)u->nodes[i].member << i;
}

/* The address handle is destroyed right after posting. */
static void
post_ud(struct unreliable *u, struct node *n, struct letter *l, struct ibv_send_wr *wr)
{
	bool group = l->to == NODE_GROUP;
	struct ibv_send_wr *bad;

	if (group)
		note_group(u, l);
	wr->wr.ud.ah = make_ah(u, n, group ? &u->group : &u->nodes[l->to].end->gid);
	wr->wr.ud.remote_qpn = group ? UROCE_MULTICAST_QPN : u->nodes[l->to].qp->qp_num;
	wr->wr.ud.remote_qkey = NODE_QKEY + l->wrong_qkey;
	SIM_CHECK(uroce_post_send(n->qp, wr, &bad) == 0, "uroce_post_send fails");
	SIM_CHECK(uroce_destroy_ah(wr->wr.ud.ah) == 0, "uroce_destroy_ah fails");
}

static void
post_uc(struct unreliable *u, struct node *n, unsigned int number, struct ibv_send_wr *wr)
{
	const struct node *to = &u->nodes[n->letters[number].to];
	struct ibv_send_wr *bad;

	wr->wr.rdma.remote_addr = (uintptr_t)to->writes + number * (uintptr_t)NODE_SLOT_BYTES;
	wr->wr.rdma.rkey = to->mr->rkey;
	SIM_CHECK(uroce_post_send(n->qp, wr, &bad) == 0, "uroce_post_send fails");
}

static void
post_letter(struct unreliable *u, struct node *n)
{
	unsigned int number = n->posted++;
	struct letter *l = &n->letters[number];
	uint8_t *slot = n->sends + number % NODE_DEPTH * NODE_SLOT_BYTES;
	/* a message that must fail has an unknown lkey */
	uint32_t lkey = l->status == IBV_WC_LOC_PROT_ERR ? n->mr->lkey ^ 0x00ffff00 : n->mr->lkey;
	uint32_t first = random_below(&u->random, l->length + 1);
	struct ibv_sge sge[] = {
		{ (uintptr_t)slot, first, lkey }, { (uintptr_t)slot + first, l->length - first, lkey },
	};
	struct ibv_send_wr wr = {
		.wr_id = number, .opcode = l->opcode, .sg_list = sge, .num_sge = 2,
		.send_flags = l->signaled ? IBV_SEND_SIGNALED : 0,
		.imm_data = rte_cpu_to_be_32(letter_id(n->index, number)),
	};

	for (uint32_t i = 0; i < l->length; i++)
		slot[i] = letter_byte(u, n->index, number, i);
	if (n->type == IBV_QPT_UD)
		post_ud(u, n, l, &wr);
	else
		post_uc(u, n, number, &wr);
}

static bool
may_post(const struct node *n, unsigned int count)
{
	return !n->failing && n->posted + count <= NODE_MESSAGES && n->posted - n->completed + count <= NODE_DEPTH;
}

static void
send_one(struct unreliable *u, struct node *n)
{
	/* an unsignaled request completes with the next signaled one */
	bool last = n->posted - n->completed + 1 == NODE_DEPTH || n->posted + 1 == NODE_MESSAGES;

	if (!may_post(n, 1))
		return;
	draw_letter(u, n, &n->letters[n->posted]);
	n->letters[n->posted].signaled |= last;
	post_letter(u, n);
}

/* Send a message that fails, and one behind it that is flushed: the QP enters SQE. */
static void
send_failing(struct unreliable *u, struct node *n)
{
	struct letter *l = &n->letters[n->posted];

	if (!may_post(n, 2))
		return;
	draw_letter(u, n, &l[0]);
	draw_letter(u, n, &l[1]);
	if (n->type == IBV_QPT_UD && random_once_in(&u->random, 2)) {
		l[0].length = random_between(&u->random, 4097, 5000);	/* R40 */
		l[0].status = IBV_WC_LOC_LEN_ERR;
	} else {
		l[0].length = random_between(&u->random, 4, 4000);
		l[0].status = IBV_WC_LOC_PROT_ERR;
	}
	l[1].status = IBV_WC_WR_FLUSH_ERR;
	n->failing = true;
	post_letter(u, n);
	post_letter(u, n);
}

static void
create(struct sim *sim)
{
	static const union ibv_gid ipv4 = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	static const union ibv_gid ipv6 = { .raw = { 0xff, 0x15, [15] = 0x42 } };
	struct unreliable *u = calloc(1, sizeof(*u));

	SIM_CHECK(u != NULL, "out of memory");
	sim->unreliable = u;
	u->group = sim->world.conf.ipv6 ? ipv6 : ipv4;
	u->world = &sim->world;
	u->seed = sim->seed;
	u->in_order = link_keeps_order(&sim->world.conf.link);
	random_init(&u->random, sim->seed, UNRELIABLE_STREAM);
	for (unsigned int i = 0; i < NODE_COUNT; i++) {
		node_create(u, &u->nodes[i], i, i < NODE_UC_COUNT ? IBV_QPT_UC : IBV_QPT_UD,
			    random_below(&u->random, u->world->conf.ends));
		u->nodes[i].peer = i < NODE_UC_COUNT ? i ^ 1 : i;
	}
	for (unsigned int i = 0; i < NODE_COUNT; i++) {
		node_connect(u, &u->nodes[i]);
		post_receives(&u->nodes[i]);
	}
}

static void
change_membership(struct unreliable *u, struct node *n)
{
	if (!n->member) {
		node_attach(u, n);
		return;
	}
	/* the QP receives the messages that have arrived by now, and none later */
	delivery_poll(u, n);
	node_detach(u, n);
}

static bool
act(struct sim *sim)
{
	struct unreliable *u = sim->unreliable;
	struct node *n = &u->nodes[random_below(&u->random, NODE_COUNT)];
	unsigned int posted = n->posted;

	if (random_once_in(&u->random, 20))
		send_failing(u, n);
	else if (random_once_in(&u->random, 2))
		send_one(u, n);
	if (random_once_in(&u->random, 3))
		delivery_poll(u, n);
	if (random_once_in(&u->random, 2))
		post_receives(n);
	if (n->type == IBV_QPT_UD && random_once_in(&u->random, 6))
		change_membership(u, n);
	return n->posted != posted;
}

static bool
is_done(const struct node *n)
{
	return n->completed == n->posted;
}

/* The last message of each node is signaled, so that all complete. */
static bool
settle(struct sim *sim, bool receives)
{
	struct unreliable *u = sim->unreliable;
	bool idle = true;

	(void)receives; /* no sender waits for receives */
	for (unsigned int i = 0; i < NODE_COUNT; i++) {
		struct node *n = &u->nodes[i];
		bool came = delivery_poll(u, n);

		post_receives(n);
		if (!is_done(n) && !came && may_post(n, 1)) {
			draw_letter(u, n, &n->letters[n->posted]);
			n->letters[n->posted].signaled = true;
			post_letter(u, n);
		}
		idle &= is_done(n);
	}
	return idle;
}

static void
rest(struct sim *sim)
{
	struct unreliable *u = sim->unreliable;
	uint64_t dropped = world_verdicts(u->world, UROCE_DROP_NO_RECV);

	for (unsigned int i = 0; i < NODE_COUNT; i++)
		delivery_poll(u, &u->nodes[i]);
	/* dropped messages may have been multicast */
	SIM_CHECK(link_does_harm(&u->world->conf.link) || u->delivered + dropped == delivery_expected(u) ||
			  (u->has_group && u->delivered + dropped > delivery_expected(u) &&
			   u->delivered <= delivery_expected(u)),
		  "%ju messages were delivered and %ju dropped of %ju", (uintmax_t)u->delivered,
		  (uintmax_t)dropped, (uintmax_t)delivery_expected(u));
	for (unsigned int i = 0; i < NODE_UC_COUNT; i++)
		delivery_check_writes(u, &u->nodes[i]);
}

/* A failed send raises no event. */
static bool
event(struct sim *sim, struct end *e, const struct ibv_async_event *event)
{
	(void)e;
	for (unsigned int i = 0; i < NODE_COUNT; i++)
		if (event->event_type == IBV_EVENT_COMM_EST &&
		    event->element.qp == sim->unreliable->nodes[i].qp)
			return true;
	return false;
}

static void
report(struct sim *sim)
{
	for (unsigned int i = 0; i < NODE_COUNT; i++) {
		const struct node *n = &sim->unreliable->nodes[i];

		if (!is_done(n))
			trace_note(sim->world.now_ns, "node %u: %u of %u messages have completed", i,
				   n->completed, n->posted);
	}
}

static void
destroy(struct sim *sim)
{
	for (unsigned int i = 0; i < NODE_COUNT; i++)
		node_destroy(sim->unreliable, &sim->unreliable->nodes[i]);
	free(sim->unreliable);
}

const struct load load_unreliable = {
	.name = "unreliable",
	.share = 2,
	.create = create,
	.act = act,
	.settle = settle,
	.rest = rest,
	.event = event,
	.report = report,
	.destroy = destroy,
};
