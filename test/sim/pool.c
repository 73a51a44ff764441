/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Shared receive queues: each message consumes the oldest receive, and completes whole and in its sender's order. The
 * queues are resized and armed meanwhile.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "digest.h"
#include "load.h"
#include "shared.h"
#include "uroce.h"

void
pool_create(struct shared *s, struct pool *p)
{
	bool xrc = p != &s->pools[0];
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = SHARED_SLOTS, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = xrc ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
		.pd = s->home->pd,
		.xrcd = s->xrcd,
	};

	p->cq = uroce_create_cq(end_context(s->home), SHARED_SLOTS, NULL, NULL, 0);
	SIM_CHECK(p->cq != NULL, "uroce_create_cq: %s", strerror(errno));
	p->memory = calloc(SHARED_SLOTS, SHARED_SLOT_BYTES);
	SIM_CHECK(p->memory != NULL, "out of memory");
	p->mr = uroce_reg_mr(s->home->pd, p->memory, SHARED_SLOTS * SHARED_SLOT_BYTES, IBV_ACCESS_LOCAL_WRITE);
	SIM_CHECK(p->mr != NULL, "uroce_reg_mr: %s", strerror(errno));
	attr.cq = p->cq;
	if (xrc)
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	p->srq = uroce_create_srq_ex(end_context(s->home), &attr);
	SIM_CHECK(p->srq != NULL, "uroce_create_srq_ex: %s", strerror(errno));
	p->max_wr = SHARED_SLOTS;
	SIM_CHECK(!xrc || uroce_get_srq_num(p->srq, &p->number) == 0, "uroce_get_srq_num fails");
}

void
pool_destroy(struct pool *p)
{
	SIM_CHECK(uroce_destroy_cq(p->cq) == 0, "uroce_destroy_cq fails");
	SIM_CHECK(uroce_dereg_mr(p->mr) == 0, "uroce_dereg_mr fails");
	free(p->memory);
}

void
pool_post(struct shared *s, struct pool *p)
{
	unsigned int slot = (unsigned int)(p->posted % SHARED_SLOTS);
	uint8_t *at = p->memory + slot * (size_t)SHARED_SLOT_BYTES;
	uint32_t first = random_below(&s->random, SHARED_MOST_BYTES + 1);
	struct ibv_sge sge[] = {
		{ (uintptr_t)at, first, p->mr->lkey },
		{ (uintptr_t)at + first, SHARED_MOST_BYTES - first, p->mr->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = sge, .num_sge = 2 }, *bad;
	int ret;

	if (p->outstanding[slot])
		return;
	memset(at, 0, SHARED_MOST_BYTES);
	memset(at + SHARED_MOST_BYTES, SHARED_GUARD, SHARED_GUARD_BYTES);
	ret = uroce_post_srq_recv(p->srq, &wr, &bad);
	/* consumed receives do not count against the size */
	SIM_CHECK(ret == 0 || (ret == ENOMEM && p->outstandings >= p->max_wr), "uroce_post_srq_recv: %s",
		  strerror(ret));
	if (ret != 0)
		return;
	p->outstanding[slot] = true;
	p->post_of[slot] = p->posted++;
	p->outstandings++;
}

void
pool_modify(struct shared *s, struct pool *p)
{
	struct ibv_srq_attr attr = { .max_wr = random_between(&s->random, 1, 2 * SHARED_SLOTS),
				     .srq_limit = random_below(&s->random, 4) };
	bool resize = random_once_in(&s->random, 2), arm = random_once_in(&s->random, 2);
	int ret;

	/* an event of the old limit */
	loads_take_events(s->sim, s->home);
	ret = uroce_modify_srq(p->srq, &attr, (resize ? IBV_SRQ_MAX_WR : 0) | (arm ? IBV_SRQ_LIMIT : 0));
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

void
pool_check_limit(struct shared *s, const struct pool *p)
{
	struct ibv_srq_attr attr;

	loads_take_events(s->sim, s->home);
	SIM_CHECK(uroce_query_srq(p->srq, &attr) == 0, "uroce_query_srq fails");
	SIM_CHECK(attr.max_wr == p->max_wr, "the size changes");
	SIM_CHECK(attr.srq_limit == p->limit, "a limit of %u is %u, and there was no event", p->limit,
		  attr.srq_limit);
	SIM_CHECK(p->limit == 0 || p->outstandings >= p->limit, "a limit is missed");
}

/* ---- checking ---- */

/* Messages consume the oldest receives: an older one that has not completed belongs to another QP, at most one each. */
static void
check_taken_in_order(const struct shared *s, const struct pool *p, unsigned int slot)
{
	unsigned int takers = p == &s->pools[0] ? SHARED_PAIRS / 2 : SHARED_PAIRS - SHARED_PAIRS / 2, older = 0;

	for (unsigned int i = 0; i < SHARED_SLOTS; i++)
		older += p->outstanding[i] && p->post_of[i] < p->post_of[slot];
	SIM_CHECK(older < takers, "receive %u is taken before %u older ones", slot, older);
}

/* @return the number of the message; sets *pair */
static unsigned int
identify(const struct shared *s, const uint8_t *slot, const struct ibv_wc *wc, unsigned int *pair)
{
	unsigned int number;
	uint32_t id;

	memcpy(&id, slot, sizeof(id));
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		id = rte_be_to_cpu_32(wc->imm_data);
	*pair = id >> 16 & 0xff;
	number = id & 0xffff;
	SIM_CHECK(id >> 24 == 0xa5 && *pair < SHARED_PAIRS && number < s->pairs[*pair].posted,
		  "0x%08x was never sent", id);
	return number;
}

static void
check_message(struct shared *s, unsigned int pool, const uint8_t *slot, const struct ibv_wc *wc)
{
	unsigned int pair, number = identify(s, slot, wc, &pair);
	struct pair *p = &s->pairs[pair];
	struct parcel *l = &p->parcels[number];
	bool is_write = l->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	SIM_CHECK(l->pool == pool && !l->delivered && number >= p->next_of[pool],
		  "message %u of pair %u: another queue's, twice, or out of order", number, pair);
	SIM_CHECK(wc->qp_num == p->receiver->qp_num && wc->src_qp == p->sender->qp_num && wc->byte_len == l->length,
		  "QPN, sender or length of message %u of pair %u", number, pair);
	SIM_CHECK(wc->opcode == (is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV) &&
		  wc->wc_flags == (l->opcode == IBV_WR_SEND ? 0 : IBV_WC_WITH_IMM),
		  "wc.opcode %d, wc.wc_flags 0x%x", (int)wc->opcode, wc->wc_flags);
	pair_check_bytes(s, pair, number, is_write ? p->writes + number * (size_t)SHARED_SLOT_BYTES : slot, "message");
	l->delivered = true;
	p->next_of[pool] = number + 1;
}

/* A message that has begun, or a refused WRITE with immediate, has consumed a receive, which is flushed. */
static void
check_flushed(const struct shared *s, const struct ibv_wc *wc)
{
	for (unsigned int i = 0; i < SHARED_PAIRS; i++) {
		const struct pair *p = &s->pairs[i];

		if (p->receiver->qp_num == wc->qp_num) {
			SIM_CHECK(p->broken && wc->status == IBV_WC_WR_FLUSH_ERR, "pair %u: a receive: %s", i,
				  uroce_wc_status_str(wc->status));
			SIM_CHECK(p->last_wqes == 0, "pair %u: a receive after its last one", i);
			return;
		}
	}
	sim_fail("a receive of QP 0x%06x fails, and the QP belongs to no pair", wc->qp_num);
}

static void
check_recv(struct shared *s, struct pool *p, const struct ibv_wc *wc)
{
	const uint8_t *slot = p->memory + wc->wr_id * SHARED_SLOT_BYTES;

	SIM_CHECK(wc->wr_id < SHARED_SLOTS && p->outstanding[wc->wr_id],
		  "receive %ju completes twice, or was never posted", (uintmax_t)wc->wr_id);
	check_taken_in_order(s, p, (unsigned int)wc->wr_id);
	p->outstanding[wc->wr_id] = false;
	p->outstandings--;
	if (wc->status == IBV_WC_SUCCESS)
		check_message(s, (unsigned int)(p - s->pools), slot, wc);
	else
		check_flushed(s, wc);
	for (unsigned int i = 0; i < SHARED_GUARD_BYTES; i++)
		SIM_CHECK(slot[SHARED_MOST_BYTES + i] == SHARED_GUARD, "a byte behind a receive");
}

bool
pool_poll(struct shared *s, struct pool *p)
{
	struct ibv_wc wc;
	bool any = false;

	for (; uroce_poll_cq(p->cq, 1, &wc) == 1; any = true) {
		digest_completion(s->world->now_ns, s->home->index, &wc);
		check_recv(s, p, &wc);
	}
	return any;
}
