/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Posts messages that tell who they are, receives for whoever comes, and checks each completion against what was
 * posted; meanwhile the shared queues are resized and armed.
 */

#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_common.h>

#include "uroce.h"
#include "wire/psn.h"

#define PAIRS       6 /* the first half of them RC, the others XRC */
#define POOLS       3 /* SRQs: the first is RC's, the others XRC's */
#define MESSAGES    96
#define DEPTH       8 /* of a send queue */
#define SLOTS       16
#define GUARD_BYTES 8
#define GUARD       0xd7
#define MOST_BYTES  3000
#define SLOT_BYTES  (MOST_BYTES + GUARD_BYTES)

struct letter {
	enum ibv_wr_opcode opcode;
	uint32_t length;
	unsigned int pool;
	bool delivered;
};

/* A sender, and the QP that it is connected to. */
struct pair {
	bool xrc;
	struct end *end;
	struct ibv_qp *sender;
	struct ibv_qp *receiver;
	uint32_t receiver_qpn;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *sends;	 /* DEPTH slots */
	uint8_t *writes; /* at the receiver's end: a slot for each message */
	struct ibv_mr *writes_mr;
	struct letter letters[MESSAGES];
	unsigned int posted;
	unsigned int completed;
	unsigned int next_of[POOLS]; /* messages are received in this order */
};

struct pool {
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory;
	uint32_t number; /* XRC */
	uint32_t max_wr;
	uint32_t limit;		    /* as armed; 0: not, or it has been reached */
	uint64_t posted;	    /* of all; a slot is used for every SLOTS-th */
	bool outstanding[SLOTS];    /* posted, not completed */
	uint64_t post_of[SLOTS];    /* which post it was */
	unsigned int outstandings;
};

struct shared {
	struct world *world;
	struct sim_random random;
	uint64_t seed;
	struct end *home; /* where all is received */
	struct ibv_xrcd *xrcd;
	struct pool pools[POOLS];
	struct pair pairs[PAIRS];
};

static uint32_t
letter_id(unsigned int pair, unsigned int number)
{
	return 0xa5u << 24 | pair << 16 | number;
}

static uint8_t
letter_byte(const struct shared *s, unsigned int pair, unsigned int number, uint32_t offset)
{
	uint64_t z = s->seed + ((uint64_t)letter_id(pair, number) << 32 | offset / 8);

	if (offset < 4)
		return (uint8_t)(letter_id(pair, number) >> (8 * offset));
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint8_t)((z ^ z >> 27) >> (offset % 8 * 8));
}

/* ---- making it ---- */

static struct ibv_mr *
make_memory(struct end *e, size_t bytes, uint8_t **memory)
{
	struct ibv_mr *mr;

	*memory = calloc(1, bytes);
	SIM_CHECK(*memory != NULL, "out of memory");
	mr = uroce_reg_mr(e->pd, *memory, bytes,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	SIM_CHECK(mr != NULL, "uroce_reg_mr: %s", strerror(errno));
	return mr;
}

static struct ibv_cq *
make_cq(struct end *e, int cqe)
{
	struct ibv_cq *cq = uroce_create_cq(end_context(e), cqe, NULL, NULL, 0);

	SIM_CHECK(cq != NULL, "uroce_create_cq: %s", strerror(errno));
	return cq;
}

static void
create_pool(struct shared *s, struct pool *p)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = SLOTS, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_BASIC, .pd = s->home->pd, .xrcd = s->xrcd,
	};

	p->cq = attr.cq = make_cq(s->home, SLOTS);
	p->mr = make_memory(s->home, SLOTS * SLOT_BYTES, &p->memory);
	if (p != &s->pools[0]) {
		attr.srq_type = IBV_SRQT_XRC;
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	}
	p->srq = uroce_create_srq_ex(end_context(s->home), &attr);
	SIM_CHECK(p->srq != NULL, "uroce_create_srq_ex: %s", strerror(errno));
	p->max_wr = SLOTS;
	if (p != &s->pools[0])
		SIM_CHECK(uroce_get_srq_num(p->srq, &p->number) == 0, "uroce_get_srq_num fails");
}

static void
create_pair(struct shared *s, struct pair *p)
{
	struct ibv_qp_init_attr_ex attr = {
		.comp_mask = IBV_QP_INIT_ATTR_PD, .cap = { DEPTH, 0, 2, 0, 0 },
	};

	p->xrc = p >= &s->pairs[PAIRS / 2];
	p->end = s->world->ends[random_below(&s->random, s->world->conf.ends)];
	p->cq = make_cq(p->end, DEPTH);
	p->mr = make_memory(p->end, DEPTH * SLOT_BYTES, &p->sends);
	p->writes_mr = make_memory(s->home, MESSAGES * SLOT_BYTES, &p->writes);
	attr.qp_type = p->xrc ? IBV_QPT_XRC_SEND : IBV_QPT_RC;
	attr.pd = p->end->pd;
	attr.send_cq = attr.recv_cq = p->cq;
	p->sender = uroce_create_qp_ex(end_context(p->end), &attr);
	SIM_CHECK(p->sender != NULL, "uroce_create_qp_ex: %s", strerror(errno));
	attr.qp_type = p->xrc ? IBV_QPT_XRC_RECV : IBV_QPT_RC;
	attr.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	attr.xrcd = s->xrcd;
	attr.pd = s->home->pd;
	attr.send_cq = attr.recv_cq = s->pools[0].cq;
	attr.srq = s->pools[0].srq;
	if (!p->xrc)
		attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	p->receiver = uroce_create_qp_ex(end_context(s->home), &attr);
	SIM_CHECK(p->receiver != NULL, "uroce_create_qp_ex: %s", strerror(errno));
	p->receiver_qpn = p->receiver->qp_num;
}

static void
modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state to, int mask)
{
	int ret;

	attr->qp_state = to;
	ret = uroce_modify_qp(qp, attr, mask | IBV_QP_STATE);
	SIM_CHECK(ret == 0, "uroce_modify_qp to %d: %s", (int)to, strerror(ret));
}

/* Each end of XRC has half of RC's attributes. */
static void
connect_qp(struct shared *s, struct ibv_qp *qp, struct ibv_qp *peer, const struct end *peer_end, uint32_t psn)
{
	const struct link_conf *link = &s->world->conf.link;
	uint64_t round_trip_ns = link_round_trip_ns(link);
	int responder = qp->qp_type == IBV_QPT_XRC_SEND ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	int requester = qp->qp_type == IBV_QPT_XRC_RECV
			? 0 : IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	struct ibv_qp_attr attr = {
		.port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp_num, .rq_psn = psn, .sq_psn = psn,
		.max_rd_atomic = 4, .max_dest_rd_atomic = 4, .min_rnr_timer = 5, .retry_cnt = 7, .rnr_retry = 7,
		.timeout = 4,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = peer_end->gid, .hop_limit = 9 } },
	};

	while ((UINT64_C(4096) << attr.timeout) < 4 * round_trip_ns + 1000000)
		attr.timeout++;
	modify(qp, &attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	modify(qp, &attr, IBV_QPS_RTR,
	       IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | responder);
	modify(qp, &attr, IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN | requester);
}

/* ---- posting ---- */

static unsigned int
takers_of(const struct shared *s, const struct pool *p)
{
	return p == &s->pools[0] ? PAIRS / 2 : PAIRS - PAIRS / 2;
}

static void
post_receive(struct shared *s, struct pool *p)
{
	unsigned int slot = (unsigned int)(p->posted % SLOTS);
	uint8_t *at = p->memory + slot * (size_t)SLOT_BYTES;
	uint32_t first = random_below(&s->random, MOST_BYTES + 1);
	struct ibv_sge sge[] = {
		{ (uintptr_t)at, first, p->mr->lkey }, { (uintptr_t)at + first, MOST_BYTES - first, p->mr->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = sge, .num_sge = 2 }, *bad;
	int ret;

	if (p->outstanding[slot])
		return;
	memset(at, 0, MOST_BYTES);
	memset(at + MOST_BYTES, GUARD, GUARD_BYTES);
	ret = uroce_post_srq_recv(p->srq, &wr, &bad);
	/* what messages have taken does not count against the size */
	SIM_CHECK(ret == 0 || (ret == ENOMEM && p->outstandings >= p->max_wr), "uroce_post_srq_recv: %s",
		  strerror(ret));
	if (ret != 0)
		return;
	p->outstanding[slot] = true;
	p->post_of[slot] = p->posted++;
	p->outstandings++;
}

static struct letter
draw_letter(struct shared *s, unsigned int pair)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
	};

	return (struct letter){
		.opcode = opcodes[random_below(&s->random, RTE_DIM(opcodes))],
		.length = random_between(&s->random, 4, random_once_in(&s->random, 2) ? 100 : MOST_BYTES),
		.pool = s->pairs[pair].xrc ? random_between(&s->random, 1, POOLS - 1) : 0,
	};
}

static bool
may_post(const struct pair *p)
{
	return p->posted < MESSAGES && p->posted - p->completed < DEPTH;
}

static void
post_letter(struct shared *s, unsigned int pair, struct letter letter)
{
	struct pair *p = &s->pairs[pair];
	unsigned int number = p->posted;
	struct letter *l = &p->letters[number];
	uint8_t *slot = p->sends + number % DEPTH * (size_t)SLOT_BYTES;
	uint32_t first;

	p->posted++;
	*l = letter;
	first = random_below(&s->random, l->length + 1);
	struct ibv_sge sge[] = {
		{ (uintptr_t)slot, first, p->mr->lkey }, { (uintptr_t)slot + first, l->length - first, p->mr->lkey },
	};
	struct ibv_send_wr wr = {
		.wr_id = number, .opcode = l->opcode, .sg_list = sge, .num_sge = 2, .send_flags = IBV_SEND_SIGNALED,
		.imm_data = rte_cpu_to_be_32(letter_id(pair, number)),
		.wr.rdma = { (uintptr_t)p->writes + number * (uintptr_t)SLOT_BYTES, p->writes_mr->rkey },
		.qp_type.xrc.remote_srqn = s->pools[l->pool].number,
	}, *bad;

	for (uint32_t i = 0; i < l->length; i++) {
		bool read = l->opcode == IBV_WR_RDMA_READ;

		*(read ? p->writes + number * (size_t)SLOT_BYTES + i : slot + i) = letter_byte(s, pair, number, i);
	}
	SIM_CHECK(uroce_post_send(p->sender, &wr, &bad) == 0, "uroce_post_send fails");
}

/* Larger, smaller, armed: what was queued stays, whoever is at it. */
static void
modify_pool(struct shared *s, struct pool *p)
{
	struct ibv_srq_attr attr = { .max_wr = random_between(&s->random, 1, 2 * SLOTS),
				     .srq_limit = random_below(&s->random, 4) };
	bool resize = random_once_in(&s->random, 2), arm = random_once_in(&s->random, 2);
	int ret = uroce_modify_srq(p->srq, &attr, (resize ? IBV_SRQ_MAX_WR : 0) | (arm ? IBV_SRQ_LIMIT : 0));

	SIM_CHECK(ret == 0 || ret == EINVAL, "uroce_modify_srq: %s", strerror(ret));
	if (ret != 0) {
		SIM_CHECK((resize && attr.max_wr < p->outstandings) || attr.srq_limit > 0 || p->limit > 0,
			  "uroce_modify_srq refuses what fits");
		return;
	}
	if (resize)
		p->max_wr = attr.max_wr;
	if (arm)
		p->limit = attr.srq_limit;
}

/* ---- checking ---- */

static void
check_bytes(const struct shared *s, unsigned int pair, unsigned int number, const uint8_t *bytes, const char *what)
{
	uint32_t length = s->pairs[pair].letters[number].length;

	for (uint32_t i = 0; i < length; i++)
		SIM_CHECK(bytes[i] == letter_byte(s, pair, number, i), "%s %u of pair %u differs at byte %u of %u",
			  what, number, pair, i, length);
}

/* Oldest first: those before it that have not completed are in the hands of other QPs, one each. */
static void
check_taken_in_order(const struct shared *s, const struct pool *p, unsigned int slot)
{
	unsigned int older = 0;

	for (unsigned int i = 0; i < SLOTS; i++)
		older += p->outstanding[i] && p->post_of[i] < p->post_of[slot];
	SIM_CHECK(older < takers_of(s, p), "receive %u is taken before %u older ones", slot, older);
}

static void
check_recv(struct shared *s, unsigned int pool, const struct ibv_wc *wc)
{
	struct pool *p = &s->pools[pool];
	const uint8_t *slot = p->memory + wc->wr_id * SLOT_BYTES;
	unsigned int pair, number;
	struct letter *l;
	uint32_t id;

	SIM_CHECK(wc->status == IBV_WC_SUCCESS && wc->wr_id < SLOTS && p->outstanding[wc->wr_id], "receive %ju: %s",
		  (uintmax_t)wc->wr_id, uroce_wc_status_str(wc->status));
	check_taken_in_order(s, p, (unsigned int)wc->wr_id);
	p->outstanding[wc->wr_id] = false;
	p->outstandings--;
	memcpy(&id, slot, sizeof(id));
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		id = rte_be_to_cpu_32(wc->imm_data);
	pair = id >> 16 & 0xff;
	number = id & 0xffff;
	SIM_CHECK(id >> 24 == 0xa5 && pair < PAIRS && number < s->pairs[pair].posted, "0x%08x was never sent", id);
	l = &s->pairs[pair].letters[number];
	SIM_CHECK(l->pool == pool && !l->delivered && number >= s->pairs[pair].next_of[pool],
		  "message %u of pair %u: another queue's, twice, or out of order", number, pair);
	SIM_CHECK(wc->qp_num == s->pairs[pair].receiver_qpn && wc->src_qp == s->pairs[pair].sender->qp_num &&
		  wc->byte_len == l->length, "QPN, sender or length of message %u of pair %u", number, pair);
	check_bytes(s, pair, number, l->opcode == IBV_WR_RDMA_WRITE_WITH_IMM
		    ? s->pairs[pair].writes + number * (size_t)SLOT_BYTES : slot, "message");
	for (unsigned int i = 0; i < GUARD_BYTES; i++)
		SIM_CHECK(slot[MOST_BYTES + i] == GUARD, "a byte behind a receive");
	l->delivered = true;
	s->pairs[pair].next_of[pool] = number + 1;
}

static void
check_send(struct shared *s, unsigned int pair, const struct ibv_wc *wc)
{
	struct pair *p = &s->pairs[pair];
	const struct letter *l = &p->letters[p->completed];

	SIM_CHECK(wc->status == IBV_WC_SUCCESS && wc->wr_id == p->completed && p->completed < p->posted,
		  "request %ju of pair %u: %s", (uintmax_t)wc->wr_id, pair, uroce_wc_status_str(wc->status));
	if (l->opcode == IBV_WR_RDMA_READ)
		check_bytes(s, pair, p->completed, p->sends + p->completed % DEPTH * (size_t)SLOT_BYTES, "READ");
	p->completed++;
}

/* The events of other parts are theirs no more: their QPs are at rest. */
static void
take_events(struct shared *s)
{
	struct ibv_context *context = end_context(s->home);
	struct ibv_async_event event;
	struct ibv_srq_attr attr;

	while (recv(context->async_fd, &event, sizeof(event), MSG_PEEK | MSG_DONTWAIT) > 0) {
		SIM_CHECK(uroce_get_async_event(context, &event) == 0, "uroce_get_async_event fails");
		uroce_ack_async_event(&event);
		for (unsigned int i = 0; i < POOLS && event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED; i++) {
			if (event.element.srq != s->pools[i].srq)
				continue;
			SIM_CHECK(uroce_query_srq(s->pools[i].srq, &attr) == 0, "uroce_query_srq fails");
			/* it may have been armed again since */
			SIM_CHECK(attr.srq_limit == 0 || attr.srq_limit == s->pools[i].limit, "the limit changes");
		}
	}
}

static bool
poll_all(struct shared *s)
{
	struct ibv_wc wc;
	bool any = false;

	for (unsigned int i = 0; i < POOLS; i++)
		for (; uroce_poll_cq(s->pools[i].cq, 1, &wc) == 1; any = true)
			check_recv(s, i, &wc);
	for (unsigned int i = 0; i < PAIRS; i++)
		for (; uroce_poll_cq(s->pairs[i].cq, 1, &wc) == 1; any = true)
			check_send(s, i, &wc);
	take_events(s);
	return any;
}

/* When no message is under way a limit that is armed has not been reached. */
static void
check_limits(const struct shared *s)
{
	struct ibv_srq_attr attr;

	for (unsigned int i = 0; i < POOLS; i++) {
		const struct pool *p = &s->pools[i];

		SIM_CHECK(uroce_query_srq(p->srq, &attr) == 0, "uroce_query_srq fails");
		SIM_CHECK(attr.max_wr == p->max_wr, "the size changes");
		SIM_CHECK(attr.srq_limit == 0 || p->outstandings >= attr.srq_limit, "a limit is missed");
	}
}

/* ---- the run ---- */

static bool
go_on(struct shared *s)
{
	uint64_t next_ns;

	if (world_poll(s->world))
		return true;
	next_ns = world_next(s->world);
	if (next_ns == UINT64_MAX)
		return false;
	s->world->now_ns = RTE_MAX(next_ns, s->world->now_ns + 1);
	return true;
}

static bool
is_done(const struct shared *s)
{
	for (unsigned int i = 0; i < PAIRS; i++)
		if (s->pairs[i].completed != s->pairs[i].posted)
			return false;
	return true;
}

static void
act(struct shared *s)
{
	struct pool *pool = &s->pools[random_below(&s->random, POOLS)];

	for (unsigned int n = random_below(&s->random, 4); n > 0; n--) {
		unsigned int pair = random_below(&s->random, PAIRS);

		if (may_post(&s->pairs[pair]))
			post_letter(s, pair, draw_letter(s, pair));
	}
	if (random_once_in(&s->random, 2))
		post_receive(s, pool);
	if (random_once_in(&s->random, 12))
		modify_pool(s, pool);
	if (random_once_in(&s->random, 3))
		poll_all(s);
	if (!random_once_in(&s->random, 3))
		go_on(s);
}

/* With receives for all that is under way; RNR timers make sure that there is always something next. */
static void
settle(struct shared *s)
{
	uint64_t rounds = 0;

	while (!is_done(s)) {
		for (unsigned int i = 0; i < POOLS; i++)
			post_receive(s, &s->pools[i]);
		SIM_CHECK(go_on(s) || poll_all(s), "messages are stuck");
		poll_all(s);
		SIM_CHECK(++rounds < 10000000, "messages do not get through");
	}
	while (go_on(s))
		;
	poll_all(s);
	for (unsigned int i = 0; i < PAIRS; i++)
		for (unsigned int j = 0; j < s->pairs[i].posted; j++)
			SIM_CHECK(s->pairs[i].letters[j].delivered !=
				  (s->pairs[i].letters[j].opcode == IBV_WR_RDMA_READ), "message %u of pair %u is lost",
				  j, i);
	check_limits(s);
}

/* All is at rest: what is queued is as many as the limit, and a message takes one. */
static void
cross_limits(struct shared *s)
{
	for (unsigned int i = 0; i < POOLS; i++) {
		struct letter l = { .opcode = IBV_WR_SEND, .length = 64, .pool = i };
		struct ibv_srq_attr attr = { .srq_limit = s->pools[i].outstandings };
		unsigned int pair = i == 0 ? 0 : PAIRS - 1;

		if (attr.srq_limit == 0 || !may_post(&s->pairs[pair]))
			continue;
		SIM_CHECK(uroce_modify_srq(s->pools[i].srq, &attr, IBV_SRQ_LIMIT) == 0, "uroce_modify_srq fails");
		s->pools[i].limit = attr.srq_limit;
		check_limits(s);
		SIM_CHECK(uroce_query_srq(s->pools[i].srq, &attr) == 0 && attr.srq_limit == s->pools[i].limit,
			  "a limit is reached too early");
		post_letter(s, pair, l);
		while (go_on(s))
			;
		poll_all(s);
		SIM_CHECK(is_done(s), "a message is stuck");
		check_limits(s);
	}
}

static void
create(struct shared *s)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT,
	};

	s->home = s->world->ends[random_below(&s->random, s->world->conf.ends)];
	s->xrcd = uroce_open_xrcd(end_context(s->home), &attr);
	SIM_CHECK(s->xrcd != NULL, "uroce_open_xrcd: %s", strerror(errno));
	for (unsigned int i = 0; i < POOLS; i++)
		create_pool(s, &s->pools[i]);
	for (unsigned int i = 0; i < PAIRS; i++) {
		struct pair *p = &s->pairs[i];
		uint32_t psn = UROCE_PSN_MASK - random_below(&s->random, 100);

		create_pair(s, p);
		connect_qp(s, p->receiver, p->sender, p->end, psn);
		connect_qp(s, p->sender, p->receiver, s->home, psn);
	}
}

/* An SRQ of XRC may go before the targets, one of RC's QPs may not. */
static void
destroy(struct shared *s)
{
	for (unsigned int i = 1; i < POOLS; i++)
		SIM_CHECK(uroce_destroy_srq(s->pools[i].srq) == 0, "uroce_destroy_srq fails");
	SIM_CHECK(uroce_destroy_srq(s->pools[0].srq) == EBUSY, "an SRQ is destroyed while QPs use it");
	SIM_CHECK(uroce_close_xrcd(s->xrcd) == EBUSY, "an XRCD is closed while QPs use it");
	for (unsigned int i = 0; i < PAIRS; i++) {
		struct pair *p = &s->pairs[i];

		SIM_CHECK(uroce_destroy_qp(p->sender) == 0 && uroce_destroy_qp(p->receiver) == 0,
			  "uroce_destroy_qp fails");
		SIM_CHECK(uroce_destroy_cq(p->cq) == 0, "uroce_destroy_cq fails");
		SIM_CHECK(uroce_dereg_mr(p->mr) == 0 && uroce_dereg_mr(p->writes_mr) == 0, "uroce_dereg_mr fails");
		free(p->sends);
		free(p->writes);
	}
	SIM_CHECK(uroce_destroy_srq(s->pools[0].srq) == 0, "uroce_destroy_srq fails");
	SIM_CHECK(uroce_close_xrcd(s->xrcd) == 0, "uroce_close_xrcd fails");
	for (unsigned int i = 0; i < POOLS; i++) {
		SIM_CHECK(uroce_destroy_cq(s->pools[i].cq) == 0, "uroce_destroy_cq fails");
		SIM_CHECK(uroce_dereg_mr(s->pools[i].mr) == 0, "uroce_dereg_mr fails");
		free(s->pools[i].memory);
	}
}

void
shared_run(struct world *w, uint64_t seed)
{
	static struct shared s;

	memset(&s, 0, sizeof(s));
	s.world = w;
	s.seed = seed;
	random_init(&s.random, seed, 11);
	create(&s);
	for (unsigned int i = random_below(&s.random, 400); i > 0; i--)
		act(&s);
	settle(&s);
	cross_limits(&s);
	destroy(&s);
}
