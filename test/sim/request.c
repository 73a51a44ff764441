/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates work requests: memory at both ends, cut into random SGEs, with keys that grant just enough rights. Fields that
 * do not matter get wrong values.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "builder.h"
#include "oracle.h"
#include "trace.h"
#include "uroce.h"
#include "workload.h"

#define SEND_PERCENT  70 /* most of an end's memory for requests */
#define SPARE_PERCENT 40 /* most of it including receives without a message */

static bool
is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Is it an operation on memory keys, without data? */
static bool
is_of_memory(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_FLUSH || opcode == IBV_WR_BIND_MW || opcode == IBV_WR_LOCAL_INV;
}

/* Allocate 1 to max_sge regions of `length` bytes in all; some are empty. */
static unsigned int
cut(struct sim *sim, struct side *s, uint32_t length, unsigned int max_sge, unsigned int percent,
    struct region **regions)
{
	unsigned int n = random_between(&sim->random, 1,
					random_once_in(&sim->random, 2) ? 1 : max_sge);
	uint32_t left = length, part;

	for (unsigned int i = 0; i < n; i++) {
		part = i == n - 1 ? left : random_below(&sim->random, left + 1);
		regions[i] = region_get(&s->end->memory, part, percent);
		if (regions[i] == NULL) {
			while (i > 0)
				region_put(regions[--i]);
			return 0;
		}
		left -= part;
	}
	return n;
}

static void
fill_sge(struct ibv_sge *sge, const struct region *r, int access)
{
	sge->addr = (uintptr_t)region_real(r);
	sge->length = r->bytes;
	sge->lkey = region_key(r, access);
}

/* A scenario may use all memory. */
static unsigned int
send_percent(const struct side *s)
{
	return s->may_fail ? 100 : SEND_PERCENT;
}

static unsigned int
receive_percent(const struct side *s)
{
	return s->may_fail || oracle_wants_receive(s) ? 100 : SPARE_PERCENT;
}

static bool
make_locals(struct sim *sim, struct side *s, struct request *q)
{
	bool to_local = q->op->opcode == IBV_WR_RDMA_READ || is_atomic(q->op->opcode);
	unsigned int max_sge = is_atomic(q->op->opcode) ? 1 : s->cap.max_send_sge;
	struct op *op = q->op;

	if (op->length == 0 && random_once_in(&sim->random, 2))
		return true; /* no SGE */
	op->num_sge = cut(sim, s, op->length, max_sge, send_percent(s), op->locals);
	for (unsigned int i = 0; i < op->num_sge; i++)
		fill_sge(&q->sge[i], op->locals[i], to_local ? IBV_ACCESS_LOCAL_WRITE : 0);
	q->wr.num_sge = (int)op->num_sge;
	return op->num_sge > 0;
}

static int
remote_access(enum ibv_wr_opcode opcode)
{
	switch ((int)opcode) { /* IBV_WR_FLUSH may not be in the enum */
	case IBV_WR_RDMA_READ: return IBV_ACCESS_REMOTE_READ;
	case IBV_WR_FLUSH: return IBV_ACCESS_FLUSH_GLOBAL;
	default: return IBV_ACCESS_REMOTE_WRITE;
	}
}

/* Allocate the peer's region; for an ATOMIC_WRITE, retry until it is aligned. */
static struct region *
remote_region(struct side *s, const struct op *op)
{
	struct region *r;

	for (unsigned int i = 0; i < 64; i++) {
		r = region_get(&s->peer->end->memory, op->length, send_percent(s));
		if (r == NULL || op->opcode != IBV_WR_ATOMIC_WRITE || ((uintptr_t)region_real(r) & 7) == 0)
			return r;
		region_put(r);
	}
	return NULL;
}

static bool
make_remote(struct sim *sim, struct side *s, struct request *q)
{
	struct op *op = q->op;
	uint64_t addr;
	uint32_t rkey;

	if (op->length == 0) { /* R19 */
		q->wr.wr.rdma.remote_addr = random_draw(&sim->random);
		q->wr.wr.rdma.rkey = (uint32_t)random_draw(&sim->random);
		return true;
	}
	op->remote = remote_region(s, op);
	if (op->remote == NULL)
		return false;
	addr = (uintptr_t)region_real(op->remote);
	rkey = op->opcode == IBV_WR_FLUSH ? 0 : window_draw_key(sim, s);
	if (rkey == 0)
		rkey = region_key(op->remote, remote_access(op->opcode));
	if (op->opcode == IBV_WR_FLUSH) {
		/* the type 2 window grants these rights, too */
		if (window_is_lent(s) && random_once_in(&sim->random, 2))
			rkey = s->peer->window.rkey;
		uroce_send_wr_flush(&q->wr, rkey, addr, op->length, IBV_FLUSH_GLOBAL,
				    random_once_in(&sim->random, 4) ? IBV_FLUSH_MR : IBV_FLUSH_RANGE);
		return true;
	}
	q->wr.wr.rdma.remote_addr = addr;
	q->wr.wr.rdma.rkey = rkey;
	return true;
}

static void
make_atomic(struct sim *sim, struct side *s, struct request *q)
{
	unsigned int end = s->peer->end->index;
	struct op *op = q->op;

	op->word = random_once_in(&sim->random, 2) && !s->may_fail
			   ? &sim->words[end][random_below(&sim->random, SIM_SHARED_WORDS)]
			   : &sim->words[end][SIM_SHARED_WORDS + 2 * s->conn->index +
					      (s == &s->conn->side[1])];
	op->compare_add = random_draw(&sim->random);
	op->swap = random_draw(&sim->random);
	if (op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP && !random_once_in(&sim->random, 4))
		op->compare_add = op->word->guess;
	q->wr.wr.atomic.remote_addr = (uintptr_t)&op->word->value;
	q->wr.wr.atomic.rkey = sim->word_mrs[end]->rkey;
	q->wr.wr.atomic.compare_add = op->compare_add;
	q->wr.wr.atomic.swap = op->swap;
}

static void
draw_flags(struct sim *sim, struct side *s, struct request *q)
{
	struct op *op = q->op;
	bool may_inline = op->opcode != IBV_WR_RDMA_READ && !is_atomic(op->opcode) && !is_of_memory(op->opcode);

	if (s->sq_sig_all || random_once_in(&sim->random, 2) ||
	    s->op_count + 1 >= s->cap.max_send_wr || s->unsignaled + 1 >= s->cap.max_send_wr / 2)
		op->signaled = true;
	if (op->signaled && !(s->sq_sig_all && random_once_in(&sim->random, 2)))
		q->wr.send_flags |= IBV_SEND_SIGNALED;
	if (random_once_in(&sim->random, 3))
		op->solicited = true;
	if (op->solicited)
		q->wr.send_flags |= IBV_SEND_SOLICITED;
	if (random_once_in(&sim->random, 8))
		q->wr.send_flags |= IBV_SEND_FENCE;
	if (may_inline && op->length <= s->cap.max_inline_data && random_once_in(&sim->random, 2)) {
		q->wr.send_flags |= IBV_SEND_INLINE;
		op->inlined = true;
		for (int i = 0; i < q->wr.num_sge; i++)
			q->sge[i].lkey = (uint32_t)random_draw(&sim->random);
	}
}

static struct request *
request_alloc(struct sim *sim, struct side *s, enum ibv_wr_opcode opcode, uint32_t length)
{
	struct request *q = calloc(1, sizeof(*q));

	SIM_CHECK(q != NULL, "out of memory");
	q->op = calloc(1, sizeof(*q->op));
	SIM_CHECK(q->op != NULL, "out of memory");
	q->op->opcode = opcode;
	q->op->length = length;
	q->op->imm = (uint32_t)random_draw(&sim->random);
	q->op->wr_id = s->next_wr_id & ~UINT64_C(1);
	q->wr.wr_id = q->op->wr_id;
	q->wr.opcode = opcode;
	q->wr.imm_data = q->op->imm;
	q->wr.sg_list = q->sge;
	return q;
}

static void
request_free(struct request *q)
{
	for (unsigned int i = 0; i < q->op->num_sge; i++)
		region_put(q->op->locals[i]);
	region_put(q->op->remote);
	free(q->op);
	free(q);
}

/* Fill in the fields of the opcode. @return false: no memory is free, or a window is not in the required state */
static bool
make_special(struct sim *sim, struct side *s, struct request *q)
{
	switch (q->op->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM: return true;
	case IBV_WR_SEND_WITH_INV: return window_is_lent(s);
	case IBV_WR_BIND_MW: return window_request(sim, s, q);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD: make_atomic(sim, s, q); return true;
	default: return make_remote(sim, s, q);
	}
}

static uint32_t
length_of(enum ibv_wr_opcode opcode, uint32_t length)
{
	if (is_atomic(opcode) || opcode == IBV_WR_ATOMIC_WRITE)
		return 8;
	if (opcode == IBV_WR_FLUSH)
		return RTE_MAX(length, 1u); /* R19: the rkey is checked even for length 0 */
	return opcode == IBV_WR_BIND_MW ? 0 : length;
}

struct request *
request_make(struct sim *sim, struct side *s, enum ibv_wr_opcode opcode, uint32_t length)
{
	struct request *q = request_alloc(sim, s, opcode, length_of(opcode, length));

	if ((!is_of_memory(opcode) && !make_locals(sim, s, q)) || !make_special(sim, s, q)) {
		request_free(q);
		return NULL;
	}
	draw_flags(sim, s, q);
	if (opcode == IBV_WR_SEND_WITH_INV)
		window_invalidate(s, q);
	s->next_wr_id += 2;
	s->op_count++;
	s->unsignaled = q->op->signaled ? 0 : s->unsignaled + 1;
	return q;
}

void
request_signal(struct side *s, struct request *q)
{
	q->wr.send_flags |= IBV_SEND_SIGNALED;
	q->op->signaled = true;
	s->unsignaled = 0;
}

/* Posting has copied inline data: the application overwrites it at once. */
static void
reuse_inlined(struct op *op)
{
	for (unsigned int i = 0; i < op->num_sge; i++) {
		if (op->locals[i]->refs == 1)
			region_fill(op->locals[i]);
		region_put(op->locals[i]);
	}
	op->num_sge = 0;
}

/* Record the keys of the request for key.c. */
static void
note_keys(struct op *op, const struct ibv_send_wr *wr)
{
	if (is_atomic(op->opcode) || op->opcode == IBV_WR_FLUSH)
		op->rkey = wr->wr.atomic.rkey;
	else if (op->remote != NULL)
		op->rkey = wr->wr.rdma.rkey;
	for (unsigned int i = 0; i < op->num_sge; i++)
		op->lkeys[i] = op->inlined ? 0 : wr->sg_list[i].lkey;
}

void
request_post(struct side *s, struct request **requests, unsigned int n)
{
	struct sim_random *r = s->end->memory.random;
	bool built = s->built && builder_takes(requests, n) && random_once_in(r, 2);
	struct ibv_send_wr *bad;
	int ret;

	for (unsigned int i = 0; i < n; i++) {
		struct op *op = requests[i]->op;

		/* ibv_wr_atomic_write() copies the data */
		op->inlined |= built && op->opcode == IBV_WR_ATOMIC_WRITE;

		requests[i]->wr.next = i + 1 < n ? &requests[i + 1]->wr : NULL;
		note_keys(op, &requests[i]->wr);
		oracle_send(s, op);
		trace_note(s->end->world->now_ns,
			   "end %u qp 0x%06x post wr 0x%jx opcode %d bytes %u sges %u "
			   "flags 0x%x",
			   s->end->index, s->qpn, (uintmax_t)op->wr_id, (int)op->opcode, op->length,
			   op->num_sge, requests[i]->wr.send_flags);
	}
	if (built) {
		builder_post(s->qp, requests, n, r);
	} else {
		ret = uroce_post_send(s->qp, &requests[0]->wr, &bad);
		SIM_CHECK(ret == 0, "uroce_post_send: %s", strerror(ret));
	}
	for (unsigned int i = 0; i < n; i++) {
		if (requests[i]->op->inlined)
			reuse_inlined(requests[i]->op);
		free(requests[i]);
	}
}

/* Replace keys by unknown ones, or by ones that do not allow writing. */
static void
spoil(struct sim *sim, struct side *s, struct ibv_sge *sge, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (random_once_in(&sim->random, 2))
			sge[i].lkey ^= 0x00ffff00;
		else
			sge[i].lkey = s->end->memory.mrs[2]->lkey;
}

bool
receive_post(struct sim *sim, struct side *s, uint32_t length, const struct ibv_mr *mr, bool bad)
{
	struct ibv_sge sge[UROCE_MAX_SGE];
	struct ibv_recv_wr wr = { .sg_list = sge }, *bad_wr;
	struct receive *r = calloc(1, sizeof(*r));
	int ret;

	SIM_CHECK(r != NULL, "out of memory");
	if (length > 0 || random_once_in(&sim->random, 2)) {
		r->num_sge = cut(sim, s, length, s->cap.max_recv_sge, receive_percent(s),
				 r->regions);
		if (r->num_sge == 0) {
			free(r);
			return false;
		}
	}
	for (unsigned int i = 0; i < r->num_sge; i++)
		fill_sge(&sge[i], r->regions[i], IBV_ACCESS_LOCAL_WRITE);
	for (unsigned int i = 0; i < r->num_sge && mr != NULL; i++)
		sge[i].lkey = mr->lkey;
	if (bad)
		spoil(sim, s, sge, r->num_sge);
	for (unsigned int i = 0; i < r->num_sge; i++)
		r->lkeys[i] = sge[i].lkey;
	r->bad = bad;
	r->wr_id = s->next_wr_id | 1;
	s->next_wr_id += 2;
	r->length = length;
	wr.wr_id = r->wr_id;
	wr.num_sge = (int)r->num_sge;
	oracle_receive(s, r);
	ret = uroce_post_recv(s->qp, &wr, &bad_wr);
	SIM_CHECK(ret == 0, "uroce_post_recv: %s", strerror(ret));
	return true;
}
