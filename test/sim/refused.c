/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Scenarios in which one request is wrong: it fails with the right error, and the requests behind it are flushed.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "load.h"
#include "oracle.h"
#include "scenario.h"
#include "uroce.h"

#define BAD_RECEIVE_BYTES 5000
#define LATE_ROUNDS	  8 /* more than any rnr_retry */

/* Post requests that succeed and consume no receives of the peer. */
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
		const uint32_t bytes = random_below(&sim->random, 3 * s->conn->mtu_bytes);

		q = request_make(sim, s, opcodes[random_below(&sim->random, RTE_DIM(opcodes))], bytes);
		if (q != NULL)
			request_post(s, &q, 1);
	}
}

void
scenario_post_behind(struct sim *sim, struct side *s, bool forbidden)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,           IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_SEND,       IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	unsigned int n = random_below(&sim->random, 8);
	struct request *q;

	for (; n > 0 && s->op_count < s->cap.max_send_wr; n--) {
		const uint32_t bytes = random_below(&sim->random, s->peer->largest_send + 1);

		/* without an error of its own, in case the responder executes it */
		q = request_make(sim, s, opcodes[random_below(&sim->random, RTE_DIM(opcodes))], bytes);
		if (q == NULL)
			return;
		q->op->must_fail = true;
		q->op->forbidden = forbidden;
		request_post(s, &q, 1);
	}
}

/* @return NULL: no memory is free for it */
static struct request *
make_culprit(struct sim *sim, struct side *s, enum ibv_wr_opcode opcode, uint32_t length)
{
	struct request *q = request_make(sim, s, opcode, length);

	if (q != NULL)
		s->culprit = q->op;
	return q;
}

/* @param partly	the responder may execute a part of it before it fails */
static bool
post_culprit(struct sim *sim, struct side *s, struct request *q, bool partly)
{
	/* A READ or atomic that fails when its response arrives: later requests are in flight by then. */
	bool answered = partly && (q->op->opcode == IBV_WR_RDMA_READ || q->op->word != NULL);

	q->op->must_fail = true;
	q->op->forbidden = !partly;
	request_post(s, &q, 1);
	scenario_post_behind(sim, s, !answered);
	return true;
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

bool
refused_bad_rkey(struct sim *sim, struct side *a)
{
	bool atomic = random_once_in(&sim->random, 4);
	struct request *q;
	uint32_t bytes;

	post_good(sim, a, random_below(&sim->random, 5));
	bytes = draw_some_bytes(sim, a);
	q = make_culprit(sim, a, atomic ? IBV_WR_ATOMIC_WRITE : draw_rdma(sim), bytes);
	if (q == NULL)
		return false;
	/* at other addresses an ATOMIC_WRITE would fail for its alignment */
	switch (atomic ? 0 : random_below(&sim->random, 4)) {
	case 0: /* an unknown key, or the key of other memory */
		q->wr.wr.rdma.rkey ^= 1 + random_below(&sim->random, UINT32_MAX);
		break;
	case 1: /* out of bounds */
		q->wr.wr.rdma.remote_addr = (uintptr_t)a->peer->end->memory.real +
					    a->peer->end->memory.bytes - q->op->length + 1;
		break;
	case 2: /* R20 */
		q->wr.wr.rdma.remote_addr = 0 - (uint64_t)random_below(&sim->random, q->op->length);
		break;
	default: /* a missing right: mrs[2] allows local reads only */
		q->wr.wr.rdma.rkey = a->peer->end->memory.mrs[2]->rkey;
		break;
	}
	return post_culprit(sim, a, q, false);
}

bool
refused_bad_atomic_rkey(struct sim *sim, struct side *a)
{
	struct request *q;

	post_good(sim, a, random_below(&sim->random, 5));
	q = make_culprit(sim, a, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	if (q == NULL)
		return false;
	/* mrs[2] to mrs[5] do not allow atomics */
	q->wr.wr.atomic.rkey = a->peer->end->memory.mrs[random_between(&sim->random, 2, 5)]->rkey;
	q->wr.wr.atomic.remote_addr = RTE_ALIGN((uintptr_t)a->peer->end->memory.real, 8);
	return post_culprit(sim, a, q, false);
}

bool
refused_misaligned_atomic(struct sim *sim, struct side *a)
{
	struct request *q;

	post_good(sim, a, random_below(&sim->random, 5));
	q = make_culprit(sim, a, IBV_WR_ATOMIC_CMP_AND_SWP, 8);
	if (q == NULL)
		return false;
	q->wr.wr.atomic.remote_addr += random_between(&sim->random, 1, 7);
	return post_culprit(sim, a, q, false);
}

/* The key is invalidated after the earlier requests were executed. */
bool
refused_deregistered(struct sim *sim, struct side *a)
{
	const uint32_t bytes = draw_some_bytes(sim, a);
	struct request *q = make_culprit(sim, a, draw_rdma(sim), bytes);
	struct ibv_mr *mr;

	if (q == NULL)
		return false;
	mr = uroce_reg_mr(a->peer->end->pd, region_real(q->op->remote), q->op->length,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	SIM_CHECK(mr != NULL, "uroce_reg_mr: %s", strerror(errno));
	q->wr.wr.rdma.rkey = mr->rkey;
	SIM_CHECK(uroce_dereg_mr(mr) == 0, "uroce_dereg_mr fails");
	return post_culprit(sim, a, q, false);
}

bool
refused_not_allowed(struct sim *sim, struct side *a)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_LOCAL_WRITE };
	const uint32_t bytes = draw_some_bytes(sim, a);
	struct request *q = make_culprit(sim, a,
					 random_once_in(&sim->random, 3) ? IBV_WR_ATOMIC_FETCH_AND_ADD
									 : draw_rdma(sim),
					 bytes);

	if (q == NULL)
		return false;
	SIM_CHECK(uroce_modify_qp(a->peer->qp, &attr, IBV_QP_ACCESS_FLAGS) == 0, "uroce_modify_qp fails");
	return post_culprit(sim, a, q, false);
}

/* R17 */
bool
refused_too_long(struct sim *sim, struct side *a)
{
	struct request *q;
	uint32_t room, length;

	if (a->peer->receive_count == 0 &&
	    !receive_post(sim, a->peer, random_below(&sim->random, 5000), NULL, false))
		return false;
	post_good(sim, a, random_below(&sim->random, 5));
	room = STAILQ_FIRST(&a->peer->receives)->length;
	length = room + random_between(&sim->random, 1, 2 * a->conn->mtu_bytes);
	q = make_culprit(sim, a, IBV_WR_SEND, length);
	return q != NULL && post_culprit(sim, a, q, true);
}

bool
refused_bad_lkey(struct sim *sim, struct side *a)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ,
		IBV_WR_SEND,
		IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	struct request *q;
	uint32_t bytes;

	if (a->peer->receive_count == 0 && !receive_post(sim, a->peer, a->peer->largest_send, NULL, false))
		return false;
	post_good(sim, a, random_below(&sim->random, 5));
	bytes = random_between(&sim->random, 1, RTE_MAX(a->peer->largest_send, 1u));
	q = make_culprit(sim, a, opcodes[random_below(&sim->random, RTE_DIM(opcodes))], bytes);
	if (q == NULL)
		return false;
	for (int i = 0; i < q->wr.num_sge; i++)
		q->sge[i].lkey ^= 0x00ffff00;
	q->wr.send_flags &= ~(unsigned int)IBV_SEND_INLINE;
	q->op->inlined = false;
	return post_culprit(sim, a, q, true);
}

/* The keys of the peer's receive do not allow writing. */
bool
refused_bad_receive(struct sim *sim, struct side *a)
{
	struct request *q;

	if (!receive_post(sim, a->peer, BAD_RECEIVE_BYTES, NULL, true))
		return false;
	post_good(sim, a, random_below(&sim->random, 5));
	q = make_culprit(sim, a, IBV_WR_SEND, random_between(&sim->random, 1, BAD_RECEIVE_BYTES));
	return q != NULL && post_culprit(sim, a, q, true);
}

bool
refused_rnr(struct sim *sim, struct side *a)
{
	struct request *q;
	uint32_t bytes;

	post_good(sim, a, random_below(&sim->random, 5));
	bytes = random_below(&sim->random, 3 * a->conn->mtu_bytes);
	q = make_culprit(sim, a, random_once_in(&sim->random, 2) ? IBV_WR_SEND : IBV_WR_RDMA_WRITE_WITH_IMM,
			 bytes);
	if (q == NULL)
		return false;
	/* earlier packets of a WRITE may be placed before the RNR NAK of the last one */
	return post_culprit(sim, a, q, q->op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
}

/* R35, for the timer codes that connections use. */
static uint64_t
rnr_timer_ns(uint8_t code)
{
	static const uint16_t timers_10us[] = { 0,  1,  2,  3,  4,	6,   8,	  12,  16,  24,	 32,
						48, 64, 96, 128, 192, 256, 384, 512, 768, 1024 };

	SIM_CHECK(code > 0 && code < RTE_DIM(timers_10us), "a timer code of %u", code);
	return timers_10us[code] * UINT64_C(10000);
}

/* Post receives for the other connections meanwhile: if frames are lost, their RNR retries could run out. */
static void
go_on_until(struct sim *sim, uint64_t until_ns)
{
	uint64_t next_ns;

	for (;;) {
		while (world_poll(&sim->world))
			;
		load_shared.settle(sim, true);
		conns_feed(sim);
		next_ns = world_next(&sim->world);
		if (next_ns > until_ns)
			break;
		sim->world.now_ns = next_ns;
	}
	sim->world.now_ns = until_ns;
}

/* Receives are posted a little later than their messages, more often than the RNR retry count allows for one message.
 * Each message has its own retries, so nothing fails. */
bool
refused_late(struct sim *sim, struct side *a)
{
	uint64_t timer_ns = rnr_timer_ns(a->conn->min_rnr_timer);
	struct request *q;

	for (unsigned int i = 0; i < LATE_ROUNDS; i++) {
		q = request_make(sim, a, IBV_WR_SEND, 0);
		if (q == NULL)
			return false;
		request_signal(a, q);
		request_post(a, &q, 1);
		go_on_until(sim, sim->world.now_ns + timer_ns + timer_ns / 2);
		if (!receive_post(sim, a->peer, 0, NULL, false))
			return false;
		for (unsigned int waits = 0; a->op_count > 0; waits++) {
			SIM_CHECK(waits < 1000000, "QP 0x%06x: a message never finds its receive", a->qpn);
			go_on_until(sim, RTE_MAX(sim->world.now_ns + timer_ns, world_next(&sim->world)));
			oracle_poll_all(a);
			oracle_poll_all(a->peer);
		}
	}
	return true;
}
