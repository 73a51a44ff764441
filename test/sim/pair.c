/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Senders to shared receive queues: RC, and XRC from initiator to target. Each message contains its sender and number.
 * Completed requests were executed in order, and once.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "digest.h"
#include "harness/qp.h"
#include "load.h"
#include "shared.h"
#include "uroce.h"
#include "wire/psn.h"

uint8_t
parcel_byte(const struct shared *s, unsigned int pair, unsigned int number, uint32_t offset)
{
	uint64_t z = s->seed + ((uint64_t)parcel_id(pair, number) << 32 | offset / 8);

	if (offset < 4)
		return (uint8_t)(parcel_id(pair, number) >> (8 * offset));
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint8_t)((z ^ z >> 27) >> (offset % 8 * 8));
}

/* ---- creation ---- */

static void
make_memory(struct end *e, size_t bytes, uint8_t **memory, struct ibv_mr **mr)
{
	*memory = calloc(1, bytes);
	SIM_CHECK(*memory != NULL, "out of memory");
	*mr = uroce_reg_mr(e->pd, *memory, bytes,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	SIM_CHECK(*mr != NULL, "uroce_reg_mr: %s", strerror(errno));
}

void
pair_create(struct shared *s, struct pair *p)
{
	p->index = (unsigned int)(p - s->pairs);
	p->xrc = p->index >= SHARED_PAIRS / 2;
	p->end = s->world->ends[random_below(&s->random, s->world->conf.ends)];
	p->cq = uroce_create_cq(end_context(p->end), SHARED_DEPTH, NULL, NULL, 0);
	SIM_CHECK(p->cq != NULL, "uroce_create_cq: %s", strerror(errno));
	make_memory(p->end, SHARED_DEPTH * SHARED_SLOT_BYTES, &p->sends, &p->mr);
	make_memory(s->home, SHARED_MESSAGES * SHARED_SLOT_BYTES, &p->writes, &p->writes_mr);
	pair_connect(s, p);
}

static void
destroy_qps(struct pair *p)
{
	SIM_CHECK(uroce_destroy_qp(p->sender) == 0 && uroce_destroy_qp(p->receiver) == 0,
		  "uroce_destroy_qp fails");
}

void
pair_destroy(struct pair *p)
{
	destroy_qps(p);
	SIM_CHECK(uroce_destroy_cq(p->cq) == 0, "uroce_destroy_cq fails");
	SIM_CHECK(uroce_dereg_mr(p->mr) == 0 && uroce_dereg_mr(p->writes_mr) == 0, "uroce_dereg_mr fails");
	free(p->sends);
	free(p->writes);
}

static struct ibv_qp *
create_qp(struct end *e, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = uroce_create_qp_ex(end_context(e), attr);

	SIM_CHECK(qp != NULL, "uroce_create_qp_ex: %s", strerror(errno));
	return qp;
}

static void
create_qps(struct shared *s, struct pair *p)
{
	struct ibv_qp_init_attr_ex attr = {
		.comp_mask = IBV_QP_INIT_ATTR_PD, .cap = { SHARED_DEPTH, 0, 2, 0, 0 },
	};

	attr.qp_type = p->xrc ? IBV_QPT_XRC_SEND : IBV_QPT_RC;
	attr.pd = p->end->pd;
	attr.send_cq = attr.recv_cq = p->cq;
	p->sender = create_qp(p->end, &attr);
	attr.qp_type = p->xrc ? IBV_QPT_XRC_RECV : IBV_QPT_RC;
	attr.comp_mask = p->xrc ? IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD;
	attr.xrcd = s->xrcd;
	attr.pd = s->home->pd;
	attr.send_cq = attr.recv_cq = s->pools[0].cq;
	attr.srq = s->pools[0].srq;
	p->receiver = create_qp(s->home, &attr);
}

static void
connect_qp(struct shared *s, struct ibv_qp *qp, const struct ibv_qp *peer, const struct end *peer_end, uint32_t psn)
{
	uint64_t round_trip_ns = link_round_trip_ns(&s->world->conf.link);
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp_num, .rq_psn = psn, .sq_psn = psn,
		.max_rd_atomic = 4, .max_dest_rd_atomic = 4, .min_rnr_timer = 5, .retry_cnt = 7, .rnr_retry = 7,
		.timeout = 4,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = peer_end->gid, .hop_limit = 9 } },
	};

	while ((UINT64_C(4096) << attr.timeout) < 4 * round_trip_ns + 1000000)
		attr.timeout++;
	harness_qp_to(qp, attr, IBV_QPS_RTS);
}

void
pair_connect(struct shared *s, struct pair *p)
{
	uint32_t psn = UROCE_PSN_MASK - random_below(&s->random, 100);

	create_qps(s, p);
	connect_qp(s, p->receiver, p->sender, p->end, psn);
	connect_qp(s, p->sender, p->receiver, s->home, psn);
	p->life++;
	p->broken = p->failed = p->refused = false;
	p->last_wqes = 0;
	memset(p->next_of, 0, sizeof(p->next_of));
}

/* ---- posting ---- */

bool
pair_may_post(const struct pair *p)
{
	return !p->broken && p->posted < SHARED_MESSAGES && p->posted - p->completed < SHARED_DEPTH;
}

static uint8_t *
slot_of(const struct pair *p, unsigned int number)
{
	return p->sends + number % SHARED_DEPTH * (size_t)SHARED_SLOT_BYTES;
}

static uint8_t *
write_slot_of(const struct pair *p, unsigned int number)
{
	return p->writes + number * (size_t)SHARED_SLOT_BYTES;
}

/* @return the pair's own word, or the one that all pairs share */
static struct word *
word_of(const struct shared *s, const struct pair *p, unsigned int number)
{
	return &s->words[number % 2 == 0 ? p->index : SHARED_PAIRS];
}

static void
fill(struct shared *s, const struct pair *p, unsigned int number)
{
	const struct parcel *l = &p->parcels[number];
	uint8_t *at = l->opcode == IBV_WR_RDMA_READ ? write_slot_of(p, number) : slot_of(p, number);

	for (uint32_t i = 0; i < l->length; i++)
		at[i] = parcel_byte(s, p->index, number, i);
}

static void
set_target(struct shared *s, const struct pair *p, unsigned int number, struct ibv_send_wr *wr)
{
	struct parcel *l = &s->pairs[p->index].parcels[number];
	struct word *word = word_of(s, p, number);

	if (!parcel_is_atomic(l)) {
		wr->wr.rdma.remote_addr = (uintptr_t)write_slot_of(p, number);
		wr->wr.rdma.rkey = p->writes_mr->rkey ^ (p->refused ? 0x00ffff00 : 0);
		return;
	}
	l->swap = random_draw(&s->random);
	l->compare_add = l->opcode == IBV_WR_ATOMIC_CMP_AND_SWP && !random_once_in(&s->random, 4)
				 ? word->guess : random_draw(&s->random);
	wr->wr.atomic.remote_addr = (uintptr_t)&word->value;
	wr->wr.atomic.rkey = s->words_mr->rkey;
	wr->wr.atomic.compare_add = l->compare_add;
	wr->wr.atomic.swap = l->swap;
}

void
pair_post(struct shared *s, struct pair *p, struct parcel parcel)
{
	unsigned int number = p->posted++;
	uint8_t *slot = slot_of(p, number);
	uint32_t first = random_below(&s->random, parcel.length + 1);
	struct ibv_sge sge[] = {
		{ (uintptr_t)slot, first, p->mr->lkey },
		{ (uintptr_t)slot + first, parcel.length - first, p->mr->lkey },
	};
	struct ibv_send_wr wr = {
		.wr_id = number, .opcode = parcel.opcode, .sg_list = sge, .num_sge = 2,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = rte_cpu_to_be_32(parcel_id(p->index, number)),
		.qp_type.xrc.remote_srqn = s->pools[parcel.pool].number,
	}, *bad;

	if (parcel_is_atomic(&parcel)) {
		sge[0].length = 8;
		wr.num_sge = 1;
	}
	p->parcels[number] = parcel;
	set_target(s, p, number, &wr);
	fill(s, p, number);
	SIM_CHECK(uroce_post_send(p->sender, &wr, &bad) == 0, "uroce_post_send fails");
}

/* ---- checking ---- */

void
pair_check_bytes(const struct shared *s, unsigned int pair, unsigned int number, const uint8_t *bytes, const char *what)
{
	uint32_t length = s->pairs[pair].parcels[number].length;

	for (uint32_t i = 0; i < length; i++)
		SIM_CHECK(bytes[i] == parcel_byte(s, pair, number, i), "%s %u of pair %u differs at byte %u of %u",
			  what, number, pair, i, length);
}

static void
note_atomic(struct shared *s, struct pair *p, unsigned int number, bool unknown)
{
	const struct parcel *l = &p->parcels[number];
	struct word_result result = {
		.owner = p->life * SHARED_PAIRS + p->index,
		.opcode = l->opcode,
		.compare_add = l->compare_add,
		.swap = l->swap,
		.unknown = unknown,
	};

	memcpy(&result.original, slot_of(p, number), sizeof(result.original));
	word_note(word_of(s, p, number), &result);
}

static void
check_succeeded(struct shared *s, struct pair *p, const struct ibv_wc *wc)
{
	unsigned int number = p->completed;
	struct parcel *l = &p->parcels[number];

	SIM_CHECK(!p->failed, "request %u of pair %u succeeds after an error", number, p->index);
	l->succeeded = true;
	if (l->opcode == IBV_WR_RDMA_READ)
		pair_check_bytes(s, p->index, number, slot_of(p, number), "READ");
	if (l->opcode == IBV_WR_RDMA_WRITE || l->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		pair_check_bytes(s, p->index, number, write_slot_of(p, number), "WRITE");
	if (parcel_is_atomic(l))
		note_atomic(s, p, number, false);
	SIM_CHECK((l->opcode != IBV_WR_RDMA_READ && !parcel_is_atomic(l)) || wc->byte_len == l->length,
		  "wc.byte_len %u instead of %u", wc->byte_len, l->length);
}

static void
check_failed(struct shared *s, struct pair *p, const struct ibv_wc *wc)
{
	struct parcel *l = &p->parcels[p->completed];

	SIM_CHECK(p->broken, "request %u of pair %u: %s", p->completed, p->index, uroce_wc_status_str(wc->status));
	SIM_CHECK(wc->status == IBV_WC_WR_FLUSH_ERR ||
			  (!p->failed && wc->status == IBV_WC_RETRY_EXC_ERR) ||
			  (!p->failed && p->refused && wc->status == IBV_WC_REM_ACCESS_ERR),
		  "request %u of pair %u: %s, and not flushed", p->completed, p->index,
		  uroce_wc_status_str(wc->status));
	p->failed = l->failed = true;
	if (parcel_is_atomic(l))
		note_atomic(s, p, p->completed, true);
}

bool
pair_poll(struct shared *s, struct pair *p)
{
	struct ibv_wc wc;
	bool any = false;

	for (; uroce_poll_cq(p->cq, 1, &wc) == 1; any = true) {
		digest_completion(s->world->now_ns, p->end->index, &wc);
		SIM_CHECK(wc.wr_id == p->completed && p->completed < p->posted && wc.qp_num == p->sender->qp_num,
			  "request %ju of pair %u completes instead of %u", (uintmax_t)wc.wr_id, p->index,
			  p->completed);
		if (wc.status == IBV_WC_SUCCESS)
			check_succeeded(s, p, &wc);
		else
			check_failed(s, p, &wc);
		p->completed++;
	}
	return any;
}

void
pair_check_delivered(const struct pair *p)
{
	for (unsigned int i = 0; i < p->posted; i++)
		SIM_CHECK(!parcel_is_message(&p->parcels[i]) || p->parcels[i].failed || p->parcels[i].delivered,
			  "message %u of pair %u is lost", i, p->index);
}

/* ---- failing ---- */

static void
to_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	SIM_CHECK(uroce_modify_qp(qp, &attr, IBV_QP_STATE) == 0, "uroce_modify_qp to ERR fails");
}

void
pair_break(struct shared *s, struct pair *p)
{
	if (p->broken)
		return;
	if (pair_may_post(p) && random_once_in(&s->random, 2)) {
		p->refused = true;
		pair_post(s, p, (struct parcel){ .opcode = IBV_WR_RDMA_WRITE, .length = 4,
						 .pool = p->xrc ? 1 : 0 });
		p->broken = true;
		return;
	}
	p->broken = true;
	to_error(random_once_in(&s->random, 2) ? p->sender : p->receiver);
}

void
pair_renew(struct shared *s, struct pair *p)
{
	to_error(p->sender);
	to_error(p->receiver);
	for (unsigned int i = 0; i < SHARED_POOLS; i++)
		pool_poll(s, &s->pools[i]);
	pair_poll(s, p);
	loads_take_events(s->sim, s->home);
	SIM_CHECK(p->completed == p->posted, "pair %u: request %u was not flushed", p->index, p->completed);
	SIM_CHECK(p->last_wqes == 1, "pair %u: %u events of its last receive", p->index, p->last_wqes);
	pair_check_delivered(p);
	destroy_qps(p);
	pair_connect(s, p);
}
