/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Posts messages that tell who they are, and checks what arrives against what was posted: never a message that is cut,
 * mixed with another, or with a wrong Q_Key; in order, where the link keeps it; and all of them, where it loses none.
 */

#include "unreliable.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "uroce.h"

#define QKEY      0x11220000
#define GRH_BYTES 40
#define GUARD     0xc3
#define RECV_BIT  (UINT64_C(1) << 32)

static const enum ibv_wr_opcode opcodes[] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE,
};

static bool
has_imm(const struct letter *l)
{
	return l->opcode == IBV_WR_SEND_WITH_IMM || l->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool
is_write(const struct letter *l)
{
	return l->opcode == IBV_WR_RDMA_WRITE || l->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* ---- posting ---- */

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
		struct ibv_recv_wr wr = { .wr_id = RECV_BIT | n->receives_posted, .sg_list = sge, .num_sge = 2 };
		struct ibv_recv_wr *bad;

		memset(slot + room, GUARD, NODE_GUARD_BYTES);
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
	l->opcode = opcodes[random_below(r, ud ? 2 : RTE_DIM(opcodes))];
	l->length = random_between(r, has_imm(l) ? 0 : 4, ud ? 4096 : random_once_in(r, 2) ? 1024 : 7000);
	l->signaled = random_once_in(r, 2);
	l->wrong_qkey = ud && random_once_in(r, 10);
}

static struct ibv_ah *
make_ah(struct unreliable *u, struct node *n, const struct node *to)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = to->end->gid, .hop_limit = 9,
			 .flow_label = random_once_in(&u->random, 2) ? 0 : 0x12345 },
	};
	struct ibv_ah *ah = uroce_create_ah(n->end->pd, &attr);

	SIM_CHECK(ah != NULL, "uroce_create_ah: %s", strerror(errno));
	return ah;
}

/* The handle goes as soon as it is posted. */
static void
post_ud(struct unreliable *u, struct node *n, const struct letter *l, struct ibv_send_wr *wr)
{
	const struct node *to = &u->nodes[l->to];
	struct ibv_send_wr *bad;

	wr->wr.ud.ah = make_ah(u, n, to);
	wr->wr.ud.remote_qpn = to->qp->qp_num;
	wr->wr.ud.remote_qkey = QKEY + to->index + (l->wrong_qkey ? NODE_COUNT : 0);
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
	/* one that is to fail has a key that does not exist */
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
	/* what is not signaled completes with the next that is */
	bool last = n->posted - n->completed + 1 == NODE_DEPTH || n->posted + 1 == NODE_MESSAGES;

	if (!may_post(n, 1))
		return;
	draw_letter(u, n, &n->letters[n->posted]);
	n->letters[n->posted].signaled |= last;
	post_letter(u, n);
}

/* One that fails, and one behind it that is flushed: SQE. */
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

/* ---- checking ---- */

static void
back_to_rts(struct node *n)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE };

	SIM_CHECK(uroce_modify_qp(n->qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE) == 0,
		  "QP 0x%06x does not come out of SQE", n->qp->qp_num);
	n->failing = false;
}

static void
check_send(struct node *n, const struct ibv_wc *wc)
{
	const struct letter *l;

	for (; n->completed < wc->wr_id; n->completed++) {
		l = &n->letters[n->completed];
		SIM_CHECK(!l->signaled && l->status == IBV_WC_SUCCESS, "the completion of message %u is missing",
			  n->completed);
	}
	SIM_CHECK(n->completed == wc->wr_id && n->completed < n->posted, "message %ju completes twice",
		  (uintmax_t)wc->wr_id);
	l = &n->letters[n->completed++];
	SIM_CHECK(wc->status == l->status, "message %ju: %s instead of %s", (uintmax_t)wc->wr_id,
		  uroce_wc_status_str(wc->status), uroce_wc_status_str(l->status));
	SIM_CHECK(l->signaled || wc->status != IBV_WC_SUCCESS, "an unsignaled message completes");
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		back_to_rts(n);
}

/* Who has sent it, as it says itself. */
static struct letter *
find_letter(struct unreliable *u, uint32_t id, unsigned int *from, unsigned int *number)
{
	*from = id >> 16 & 0xff;
	*number = id & 0xffff;
	SIM_CHECK(id >> 24 == 0x5a && *from < NODE_COUNT && *number < u->nodes[*from].posted,
		  "message 0x%08x was never sent", id);
	return &u->nodes[*from].letters[*number];
}

static void
check_grh(const struct unreliable *u, const uint8_t *grh, unsigned int from, unsigned int to)
{
	const uint8_t *src = u->nodes[from].end->gid.raw, *dst = u->nodes[to].end->gid.raw;
	bool ok;

	if (u->world->conf.ipv6)
		ok = grh[0] >> 4 == 6 && memcmp(grh + 8, src, 16) == 0 && memcmp(grh + 24, dst, 16) == 0;
	else
		ok = grh[20] == 0x45 && memcmp(grh + 32, src + 12, 4) == 0 && memcmp(grh + 36, dst + 12, 4) == 0;
	SIM_CHECK(ok, "the header in front of a datagram is not its own");
}

static void
check_bytes(const struct unreliable *u, unsigned int from, unsigned int number, const uint8_t *bytes, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		SIM_CHECK(bytes[i] == letter_byte(u, from, number, i), "node %u message %u differs at byte %u of %u",
			  from, number, i, length);
}

static void
check_order(struct unreliable *u, struct node *n, unsigned int from, unsigned int number, struct letter *l)
{
	l->delivered++;
	u->delivered++;
	if (!u->in_order)
		return;
	SIM_CHECK(l->delivered == 1, "message %u is delivered twice", number);
	SIM_CHECK(number >= n->last_of[from], "message %u comes after %u", number, n->last_of[from] - 1);
	n->last_of[from] = number + 1;
}

static void
check_recv(struct unreliable *u, struct node *n, const struct ibv_wc *wc)
{
	const uint8_t *slot = n->receives + n->received % NODE_DEPTH * NODE_SLOT_BYTES;
	uint32_t grh = n->type == IBV_QPT_UD ? GRH_BYTES : 0;
	unsigned int from, number;
	struct letter *l;
	uint32_t id;

	SIM_CHECK(wc->wr_id == (RECV_BIT | n->received) && wc->status == IBV_WC_SUCCESS, "receive 0x%jx: %s",
		  (uintmax_t)wc->wr_id, uroce_wc_status_str(wc->status));
	n->received++;
	memcpy(&id, slot + grh, sizeof(id));
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		id = rte_be_to_cpu_32(wc->imm_data);
	l = find_letter(u, id, &from, &number);
	SIM_CHECK(l->to == n->index && !l->wrong_qkey && l->status == IBV_WC_SUCCESS, "a message that is not for it");
	SIM_CHECK(wc->byte_len == l->length + grh && wc->src_qp == u->nodes[from].qp->qp_num, "length or sender");
	SIM_CHECK(has_imm(l) == !!(wc->wc_flags & IBV_WC_WITH_IMM) && (grh != 0) == !!(wc->wc_flags & IBV_WC_GRH),
		  "wc.wc_flags 0x%x", wc->wc_flags);
	if (grh != 0)
		check_grh(u, slot, from, n->index);
	check_bytes(u, from, number, is_write(l) ? n->writes + number * NODE_SLOT_BYTES : slot + grh, l->length);
	for (unsigned int i = 0; i < NODE_GUARD_BYTES; i++)
		SIM_CHECK(slot[NODE_SLOT_BYTES - NODE_GUARD_BYTES + i] == GUARD, "a byte behind a receive");
	check_order(u, n, from, number, l);
}

static bool
poll_node(struct unreliable *u, struct node *n)
{
	struct ibv_wc wc;
	bool any = false;

	for (int got; (got = uroce_poll_cq(n->cq, 1, &wc)) != 0; any = true) {
		SIM_CHECK(got == 1 && wc.qp_num == n->qp->qp_num, "uroce_poll_cq");
		if (wc.wr_id & RECV_BIT)
			check_recv(u, n, &wc);
		else
			check_send(n, &wc);
	}
	return any;
}

/* What was written is what was sent, or was not: each byte. */
static void
check_writes(const struct unreliable *u, const struct node *n)
{
	const struct node *peer = &u->nodes[n->peer];

	for (unsigned int i = 0; i < NODE_MESSAGES; i++) {
		const uint8_t *slot = n->writes + i * NODE_SLOT_BYTES;
		bool written = i < peer->posted && is_write(&peer->letters[i]) && n->type == IBV_QPT_UC;
		uint32_t length = written ? peer->letters[i].length : 0;

		for (uint32_t at = 0; at < NODE_SLOT_BYTES; at++)
			SIM_CHECK(slot[at] == 0 || (at < length && slot[at] == letter_byte(u, peer->index, i, at)),
				  "node %u: byte %u of WRITE %u", n->index, at, i);
	}
}

/* ---- the run ---- */

static uint64_t
expected_deliveries(const struct unreliable *u)
{
	uint64_t expected = 0;

	for (unsigned int i = 0; i < NODE_COUNT; i++)
		for (unsigned int j = 0; j < u->nodes[i].posted; j++) {
			const struct letter *l = &u->nodes[i].letters[j];

			expected += l->status == IBV_WC_SUCCESS && !l->wrong_qkey && l->opcode != IBV_WR_RDMA_WRITE;
		}
	return expected;
}

static void
create_nodes(struct unreliable *u)
{
	for (unsigned int i = 0; i < NODE_COUNT; i++) {
		node_create(u, &u->nodes[i], i, i < 4 ? IBV_QPT_UC : IBV_QPT_UD,
			    random_below(&u->random, u->world->conf.ends));
		u->nodes[i].peer = i ^ 1;
	}
	for (unsigned int i = 0; i < NODE_COUNT; i++) {
		node_connect(u, &u->nodes[i]);
		post_receives(&u->nodes[i]);
	}
}

/* @return false: all is at rest */
static bool
go_on(struct unreliable *u)
{
	uint64_t next_ns;

	if (world_poll(u->world))
		return true;
	next_ns = world_next(u->world);
	if (next_ns == UINT64_MAX)
		return false;
	u->world->now_ns = RTE_MAX(next_ns, u->world->now_ns + 1);
	return true;
}

static void
act(struct unreliable *u)
{
	struct node *n = &u->nodes[random_below(&u->random, NODE_COUNT)];

	if (random_once_in(&u->random, 20))
		send_failing(u, n);
	else if (random_once_in(&u->random, 2))
		send_one(u, n);
	if (random_once_in(&u->random, 3))
		poll_node(u, n);
	if (random_once_in(&u->random, 2))
		post_receives(n);
	if (!random_once_in(&u->random, 3))
		go_on(u);
}

/* The last message of each is signaled, so that all complete. */
static void
settle(struct unreliable *u)
{
	bool any;

	do {
		while (go_on(u))
			;
		any = false;
		for (unsigned int i = 0; i < NODE_COUNT; i++) {
			struct node *n = &u->nodes[i];

			any |= poll_node(u, n);
			post_receives(n);
			if (n->posted > 0 && n->completed < n->posted && may_post(n, 1) && !any) {
				draw_letter(u, n, &n->letters[n->posted]);
				n->letters[n->posted].signaled = true;
				post_letter(u, n);
				any = true;
			}
		}
	} while (any);
	for (unsigned int i = 0; i < NODE_COUNT; i++)
		SIM_CHECK(u->nodes[i].completed == u->nodes[i].posted, "node %u: %u of %u messages complete", i,
			  u->nodes[i].completed, u->nodes[i].posted);
}

void
unreliable_run(struct world *w, uint64_t seed)
{
	const struct link_conf *link = &w->conf.link;
	static struct unreliable u;
	uint64_t no_recv;

	memset(&u, 0, sizeof(u));
	u.world = w;
	u.seed = seed;
	u.in_order = link_keeps_order(link);
	random_init(&u.random, seed, 7);
	no_recv = world_verdicts(w, UROCE_DROP_NO_RECV);
	create_nodes(&u);
	for (unsigned int i = random_below(&u.random, 600); i > 0; i--)
		act(&u);
	settle(&u);
	no_recv = world_verdicts(w, UROCE_DROP_NO_RECV) - no_recv;
	SIM_CHECK(link_does_harm(link) || u.delivered + no_recv == expected_deliveries(&u),
		  "%ju messages were delivered and %ju dropped of %ju", (uintmax_t)u.delivered, (uintmax_t)no_recv,
		  (uintmax_t)expected_deliveries(&u));
	for (unsigned int i = 0; i < NODE_COUNT; i++)
		check_writes(&u, &u.nodes[i]);
	for (unsigned int i = 0; i < NODE_COUNT; i++)
		node_destroy(&u.nodes[i]);
}
