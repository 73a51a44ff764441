/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Turns messages into work requests, with a pattern if they are verified, and checks received messages. Runs in the
 * loops of both ends, on the thread that polls the worker.
 */

#include <string.h>

#include <rte_debug.h>
#include <rte_byteorder.h>

#include "measure/endpoint.h"
#include "measure/verify.h"

/* Flag of the pattern from the server: a reply differs from its message. */
#define FROM_SERVER (1u << 20)

static bool
is_announced(const struct perf_params *p)
{
	return p->op == PERF_WRITE && uroce_perf_params_receives(p);
}

static bool
is_memory_polled(const struct perf_params *p)
{
	return p->mode == PERF_LAT && uroce_perf_lat_kind(p) == PERF_LAT_MEMORY;
}

void
uroce_perf_poster_init(struct perf_end *end)
{
	struct perf_poster *w = &end->poster;
	const bool announced = is_announced(&end->params);

	w->per_message = announced ? 2 : 1;
	for (unsigned int i = 0; i < RTE_DIM(w->wrs); i++) {
		struct ibv_send_wr *wr = &w->wrs[i];

		*wr = (struct ibv_send_wr){
			.next = i + 1 < RTE_DIM(w->wrs) ? wr + 1 : NULL,
			.sg_list = &w->sges[i],
			.num_sge = end->params.size > 0 ? 1 : 0,
			.opcode = uroce_perf_ops[end->params.op].opcode,
			.send_flags = end->inlined ? IBV_SEND_INLINE : 0,
		};
		w->sges[i].length = end->params.size;
		if (announced && i % 2 == 1) {
			wr->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
			wr->num_sge = 0;
			wr->send_flags = 0;
		}
	}
}

static void
fill_message(const struct perf_end *end, const struct perf_qp *q, uint64_t seq, uint8_t *slot)
{
	const struct perf_params *p = &end->params;
	const bool polled = is_memory_polled(p);

	if (p->verify) {
		uint32_t from = end->server ? FROM_SERVER : 0;

		uroce_perf_fill(slot, p->size, uroce_perf_pattern(q->index | from, seq));
		if (!end->server && q->index == 0 && (int64_t)seq == p->fault &&
		    p->size > (polled ? 1u : 0u))
			slot[0] ^= 0x10;
	}
	if (polled)
		slot[p->size - 1] = uroce_perf_lat_marker(seq);
}

/* Fill the addresses and operands of a READ or an atomic. */
static void
fetch_fill(const struct perf_end *end, const struct perf_qp *q, uint64_t seq,
	   struct ibv_send_wr *wr)
{
	const struct perf_params *p = &end->params;
	uint8_t *slot = uroce_perf_slot(end, q->in, seq);
	uint64_t before, after;

	wr->sg_list->addr = (uintptr_t)slot;
	if (p->op == PERF_READ) {
		wr->wr.rdma.remote_addr = q->remote.out + (uint64_t)(slot - q->in);
		wr->wr.rdma.rkey = q->remote.rkey;
		if (p->verify)
			uroce_perf_poison(slot, p->size,
					  uroce_perf_pattern(q->index, seq & (end->slots - 1)));
		return;
	}
	before = uroce_perf_pattern(q->index, seq);
	after = uroce_perf_pattern(q->index, seq + 1);
	wr->wr.atomic.remote_addr = q->remote.in;
	wr->wr.atomic.rkey = q->remote.rkey;
	wr->wr.atomic.compare_add = p->op == PERF_FETCH_ADD ? after - before : before;
	wr->wr.atomic.swap = after;
	memset(slot, 0, sizeof(before));
}

static void
message_fill(struct perf_end *end, const struct perf_qp *q, uint64_t seq, struct ibv_send_wr *wr)
{
	uint8_t *slot;

	wr->sg_list->lkey = q->lkey;
	if (uroce_perf_ops[end->params.op].fetches) {
		fetch_fill(end, q, seq, wr);
		return;
	}
	slot = uroce_perf_slot(end, q->out, seq);
	fill_message(end, q, seq, slot);
	wr->sg_list->addr = (uintptr_t)slot;
	wr->imm_data = rte_cpu_to_be_32((uint32_t)seq);
	if (q->ah != NULL) {
		wr->wr.ud.ah = q->ah;
		wr->wr.ud.remote_qpn = q->remote.qpn;
		wr->wr.ud.remote_qkey = PERF_QKEY;
		return;
	}
	wr->wr.rdma.remote_addr = q->remote.in + (uint64_t)(slot - q->out);
	wr->wr.rdma.rkey = q->remote.rkey;
	if (end->poster.per_message == 2) {
		wr[1].wr.rdma.remote_addr = q->remote.in;
		wr[1].wr.rdma.rkey = q->remote.rkey;
		wr[1].imm_data = wr->imm_data;
	}
}

int
uroce_perf_post(struct perf_end *end, struct perf_qp *q, unsigned int n)
{
	struct perf_poster *w = &end->poster;
	struct ibv_send_wr *last = &w->wrs[n * w->per_message - 1];
	struct ibv_send_wr *next = last->next, *bad;
	int ret;

	RTE_ASSERT(n > 0 && n <= UROCE_PERF_BATCH);
	for (unsigned int i = 0; i < n; i++)
		message_fill(end, q, q->posted + i, &w->wrs[i * w->per_message]);
	last->wr_id = uroce_perf_wr_id(q, q->posted + n - 1);
	last->send_flags |= IBV_SEND_SIGNALED;
	last->next = NULL;
	ret = ibv_post_send(q->ibv, w->wrs, &bad);
	last->send_flags &= ~IBV_SEND_SIGNALED;
	last->next = next;
	if (ret == 0)
		q->posted += n;
	return ret;
}

int
uroce_perf_post_credit(struct perf_end *end, struct perf_qp *q)
{
	uint64_t checked = q->expected;
	struct ibv_sge sge = { .addr = (uintptr_t)&checked, .length = sizeof(checked) };
	struct ibv_send_wr *bad, wr = {
		.wr_id = uroce_perf_wr_id(q, checked) | PERF_WR_CREDIT,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = q->remote.credit, .rkey = q->remote.rkey },
	};
	int ret;

	RTE_ASSERT(end->params.verify);
	RTE_SET_USED(end);
	ret = ibv_post_send(q->ibv, &wr, &bad);
	if (ret != 0)
		return ret;
	q->credited = checked;
	q->credit_busy = true;
	return 0;
}

size_t
uroce_perf_check_message(const struct perf_end *end, const struct perf_qp *q, uint64_t place,
			 uint64_t seq)
{
	const struct perf_params *p = &end->params;
	const uint8_t *slot = uroce_perf_slot(end, q->in, place) + end->grh;
	const uint32_t from = end->server ? 0 : FROM_SERVER;

	if (p->op == PERF_READ)
		return uroce_perf_check(slot, p->size,
					uroce_perf_pattern(q->index, seq & (end->slots - 1)));
	if (uroce_perf_ops[p->op].atomic)
		return uroce_perf_pattern(q->index, seq) == *(const uint64_t *)slot ? PERF_VERIFIED
										    : 0;
	return uroce_perf_check(slot, p->size - (is_memory_polled(p) ? 1 : 0),
				uroce_perf_pattern(q->index | from, seq));
}
