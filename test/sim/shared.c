/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The part of the workload with shared receive queues: messages of all pairs, receives that are often posted too late,
 * and pairs that fail and are renewed.
 */

#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "load.h"
#include "trace.h"
#include "uroce.h"
#include "workload.h"

#define BREAK_TURNS 80 /* mean interval of failures of a pair, in turns */

static void
create_words(struct shared *s)
{
	s->words = rte_zmalloc(NULL, (SHARED_PAIRS + 1) * sizeof(s->words[0]), 8);
	SIM_CHECK(s->words != NULL, "out of memory");
	for (unsigned int i = 0; i <= SHARED_PAIRS; i++)
		word_init(&s->words[i], &s->random);
	s->words_mr = uroce_reg_mr(s->home->pd, s->words, (SHARED_PAIRS + 1) * sizeof(s->words[0]),
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	SIM_CHECK(s->words_mr != NULL, "uroce_reg_mr: %s", strerror(errno));
}

static void
create(struct sim *sim)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT,
	};
	struct shared *s;

	if (sim->calm)
		return;
	s = calloc(1, sizeof(*s));
	SIM_CHECK(s != NULL, "out of memory");
	sim->shared = s;
	s->sim = sim;
	s->world = &sim->world;
	s->seed = sim->seed;
	random_init(&s->random, sim->seed, SHARED_STREAM);
	s->home = s->world->ends[random_below(&s->random, s->world->conf.ends)];
	s->xrcd = uroce_open_xrcd(end_context(s->home), &attr);
	SIM_CHECK(s->xrcd != NULL, "uroce_open_xrcd: %s", strerror(errno));
	create_words(s);
	for (unsigned int i = 0; i < SHARED_POOLS; i++)
		pool_create(s, &s->pools[i]);
	for (unsigned int i = 0; i < SHARED_PAIRS; i++)
		pair_create(s, &s->pairs[i]);
}

static struct parcel
draw_parcel(struct shared *s, const struct pair *p)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,       IBV_WR_SEND,	     IBV_WR_SEND_WITH_IMM,	IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct parcel l = {
		.opcode = opcodes[random_below(&s->random, RTE_DIM(opcodes))],
		.length = random_between(&s->random, 4, random_once_in(&s->random, 2) ? 100 : SHARED_MOST_BYTES),
		.pool = p->xrc ? random_between(&s->random, 1, SHARED_POOLS - 1) : 0,
	};

	if (parcel_is_atomic(&l))
		l.length = 8;
	return l;
}

static bool
poll_all(struct shared *s)
{
	bool any = false;

	for (unsigned int i = 0; i < SHARED_POOLS; i++)
		any |= pool_poll(s, &s->pools[i]);
	for (unsigned int i = 0; i < SHARED_PAIRS; i++)
		any |= pair_poll(s, &s->pairs[i]);
	return any;
}

static bool
act(struct sim *sim)
{
	struct shared *s = sim->shared;
	struct pair *p;
	bool did = false;

	if (s == NULL)
		return false;
	for (unsigned int n = random_below(&s->random, 4); n > 0; n--) {
		p = &s->pairs[random_below(&s->random, SHARED_PAIRS)];
		if (!pair_may_post(p))
			continue;
		pair_post(s, p, draw_parcel(s, p));
		did = true;
	}
	if (random_once_in(&s->random, 2))
		pool_post(s, &s->pools[random_below(&s->random, SHARED_POOLS)]);
	if (random_once_in(&s->random, 12))
		pool_modify(s, &s->pools[random_below(&s->random, SHARED_POOLS)]);
	if (random_once_in(&s->random, 3))
		poll_all(s);
	p = &s->pairs[random_below(&s->random, SHARED_PAIRS)];
	if (random_once_in(&s->random, BREAK_TURNS))
		pair_break(s, p);
	else if (p->broken && random_once_in(&s->random, 4))
		pair_renew(s, p);
	return did;
}

static bool
is_done(const struct shared *s)
{
	for (unsigned int i = 0; i < SHARED_PAIRS; i++)
		if (s->pairs[i].completed != s->pairs[i].posted || s->pairs[i].broken)
			return false;
	return true;
}

/* Posts receives for all messages in flight. RNR timers guarantee that the world has a next event. */
static bool
settle(struct sim *sim, bool receives)
{
	struct shared *s = sim->shared;

	if (s == NULL)
		return true;
	for (unsigned int i = 0; i < SHARED_PAIRS; i++)
		if (s->pairs[i].broken)
			pair_renew(s, &s->pairs[i]);
	for (unsigned int i = 0; receives && i < SHARED_POOLS && !is_done(s); i++)
		pool_post(s, &s->pools[i]);
	poll_all(s);
	return is_done(s);
}

/* Queue exactly as many receives as the limit, and send a message that consumes one. */
static void
cross_limit(struct shared *s, unsigned int pool)
{
	struct parcel l = { .opcode = IBV_WR_SEND, .length = 64, .pool = pool };
	struct pair *pair = &s->pairs[pool == 0 ? 0 : SHARED_PAIRS - 1];
	struct pool *p = &s->pools[pool];
	struct ibv_srq_attr attr = { .srq_limit = p->outstandings };

	if (attr.srq_limit == 0 || !pair_may_post(pair))
		return;
	SIM_CHECK(uroce_modify_srq(p->srq, &attr, IBV_SRQ_LIMIT) == 0, "uroce_modify_srq fails");
	p->limit = attr.srq_limit;
	pool_check_limit(s, p);
	SIM_CHECK(p->limit != 0, "a limit is reached too early");
	pair_post(s, pair, l);
	workload_settle(s->sim, false);
	pool_check_limit(s, p);
	SIM_CHECK(p->limit == 0, "a limit that is crossed is not reported");
}

static void
rest(struct sim *sim)
{
	struct shared *s = sim->shared;

	if (s == NULL)
		return;
	poll_all(s);
	for (unsigned int i = 0; i < SHARED_PAIRS; i++)
		pair_check_delivered(&s->pairs[i]);
	for (unsigned int i = 0; i < SHARED_POOLS; i++) {
		pool_check_limit(s, &s->pools[i]);
		cross_limit(s, i);
	}
	for (unsigned int i = 0; i <= SHARED_PAIRS; i++)
		word_check(&s->words[i]);
}

static bool
pair_event(struct shared *s, struct pair *p, enum ibv_event_type type, const struct ibv_qp *qp)
{
	if (qp != p->sender && qp != p->receiver)
		return false;
	if (type == IBV_EVENT_QP_LAST_WQE_REACHED) {
		SIM_CHECK(qp == p->receiver && p->broken, "pair %u: there is no last receive", p->index);
		/* consumed receives complete before the event */
		poll_all(s);
		p->last_wqes++;
		return true;
	}
	SIM_CHECK(type == IBV_EVENT_COMM_EST || (type == IBV_EVENT_QP_FATAL && p->broken) ||
			  (type == IBV_EVENT_QP_ACCESS_ERR && p->refused && qp == p->receiver), "pair %u: %s", p->index,
		  uroce_event_type_str(type));
	return true;
}

static bool
event(struct sim *sim, struct end *e, const struct ibv_async_event *event)
{
	struct shared *s = sim->shared;

	(void)e;
	if (s == NULL || event->event_type == IBV_EVENT_CQ_ERR)
		return false;
	if (event->event_type == IBV_EVENT_SRQ_LIMIT_REACHED) {
		for (unsigned int i = 0; i < SHARED_POOLS; i++)
			if (event->element.srq == s->pools[i].srq) {
				SIM_CHECK(s->pools[i].limit > 0, "a limit is reached twice");
				s->pools[i].limit = 0;
				return true;
			}
		return false;
	}
	for (unsigned int i = 0; i < SHARED_PAIRS; i++)
		if (pair_event(s, &s->pairs[i], event->event_type, event->element.qp))
			return true;
	return false;
}

static void
report(struct sim *sim)
{
	const struct shared *s = sim->shared;

	for (unsigned int i = 0; s != NULL && i < SHARED_PAIRS; i++)
		if (s->pairs[i].completed != s->pairs[i].posted)
			trace_note(sim->world.now_ns, "pair %u: %u of %u requests have completed", i,
				   s->pairs[i].completed, s->pairs[i].posted);
}

/* An XRC SRQ can be destroyed before the targets, an SRQ of RC QPs cannot. */
static void
destroy(struct sim *sim)
{
	struct shared *s = sim->shared;

	if (s == NULL)
		return;
	for (unsigned int i = 1; i < SHARED_POOLS; i++)
		SIM_CHECK(uroce_destroy_srq(s->pools[i].srq) == 0, "uroce_destroy_srq fails");
	SIM_CHECK(uroce_destroy_srq(s->pools[0].srq) == EBUSY, "an SRQ is destroyed while QPs use it");
	SIM_CHECK(uroce_close_xrcd(s->xrcd) == EBUSY, "an XRCD is closed while QPs use it");
	for (unsigned int i = 0; i < SHARED_PAIRS; i++)
		pair_destroy(&s->pairs[i]);
	SIM_CHECK(uroce_destroy_srq(s->pools[0].srq) == 0, "uroce_destroy_srq fails");
	SIM_CHECK(uroce_close_xrcd(s->xrcd) == 0, "uroce_close_xrcd fails");
	for (unsigned int i = 0; i < SHARED_POOLS; i++)
		pool_destroy(&s->pools[i]);
	SIM_CHECK(uroce_dereg_mr(s->words_mr) == 0, "uroce_dereg_mr fails");
	for (unsigned int i = 0; i <= SHARED_PAIRS; i++)
		word_fini(&s->words[i]);
	rte_free(s->words);
	free(s);
}

const struct load load_shared = {
	.name = "shared",
	.share = 2,
	.create = create,
	.act = act,
	.settle = settle,
	.rest = rest,
	.event = event,
	.report = report,
	.destroy = destroy,
};
