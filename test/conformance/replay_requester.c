/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Posts the work requests behind captured requests to uroce's requester when their first packet was captured. Each
 * captured request must match the requester's next frame; captured responses are given to the requester. For one
 * thread.
 */

#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "frame.h"
#include "replay.h"
#include "wire/psn.h"

#define ARENA_BYTES (1u << 20)
#define MAX_MESSAGES 128
#define LONGEST_WAIT_NS 5000000000ull	/* for a timeout */

struct message {
	uint32_t first_psn;
	uint32_t psns;
	uint8_t op;
	uint8_t *data;
};

struct requester {
	struct replay_end end;
	uint8_t *arena;
	uint32_t used;
	struct ibv_mr *mr;
	struct message messages[MAX_MESSAGES];
	unsigned int nb_messages;
	uint32_t next_psn;		/* of the next new message */
	struct device_frame ours;	/* not compared yet */
	bool has_ours;
};

static uint8_t *
reserve(struct requester *q, uint32_t bytes)
{
	uint8_t *at = q->arena + q->used;

	q->used += RTE_ALIGN_CEIL(bytes, 8);
	RTE_VERIFY(q->used <= ARENA_BYTES);
	return at;
}

/* Collect the payload of a message from all its packets. @return the last packet */
static const struct captured *
collect(const struct exchange *x, const struct captured *first, uint8_t *to)
{
	const struct captured *c = first;

	for (uint32_t i = 0;; i++) {
		c = capture_find(x, 0, true, uroce_psn_add(first->packet.psn, i));
		memcpy(to, c->payload, c->packet.payload_bytes);
		to += c->packet.payload_bytes;
		if (c->packet.info->flags & UROCE_OPF_LAST)
			return c;
	}
}

static enum ibv_wr_opcode
wr_opcode(const struct captured *first, const struct captured *last)
{
	bool imm = last->packet.info->ext[UROCE_EXT_IMMDT] != 0;

	switch (first->packet.info->op) {
	case UROCE_OP_SEND: return imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	case UROCE_OP_WRITE: return imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	case UROCE_OP_READ_REQUEST: return IBV_WR_RDMA_READ;
	case UROCE_OP_CMP_SWAP: return IBV_WR_ATOMIC_CMP_AND_SWP;
	default: return IBV_WR_ATOMIC_FETCH_AND_ADD;
	}
}

static void
set_target(const struct replay_end *end, const struct captured *c, struct ibv_send_wr *wr)
{
	const uint8_t *ext = c->packet.info->ext;

	if (ext[UROCE_EXT_RETH] != 0) {
		const struct uroce_reth *reth = uroce_packet_ext(&c->packet, UROCE_EXT_RETH);

		wr->wr.rdma.remote_addr = rte_be_to_cpu_64(reth->va);
		wr->wr.rdma.rkey = rte_be_to_cpu_32(reth->rkey);
	} else if (ext[UROCE_EXT_ATOMICETH] != 0) {
		const struct uroce_atomiceth *eth = uroce_packet_ext(&c->packet, UROCE_EXT_ATOMICETH);
		bool cas = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

		wr->wr.atomic.remote_addr = rte_be_to_cpu_64(eth->va);
		wr->wr.atomic.rkey = rte_be_to_cpu_32(eth->rkey);
		wr->wr.atomic.compare_add = rte_be_to_cpu_64(cas ? eth->compare : eth->swap_add);
		wr->wr.atomic.swap = rte_be_to_cpu_64(eth->swap_add);
	} else if (ext[UROCE_EXT_DETH] != 0) {
		const struct uroce_deth *deth = uroce_packet_ext(&c->packet, UROCE_EXT_DETH);

		wr->wr.ud.ah = end->ah;
		wr->wr.ud.remote_qpn = c->packet.dest_qpn;
		wr->wr.ud.remote_qkey = rte_be_to_cpu_32(deth->qkey);
	}
}

/* Post the work request of the message that begins here. */
static void
post(struct requester *q, const struct captured *first)
{
	const struct exchange *x = q->end.x;
	bool atomic = first->packet.info->ext[UROCE_EXT_ATOMICETH] != 0;
	uint32_t bytes = atomic ? 8 : capture_message_bytes(x, first);
	struct message *m = &q->messages[q->nb_messages++];
	struct ibv_sge sge = { .length = bytes, .lkey = q->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = q->nb_messages - 1, .sg_list = &sge, .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	const struct captured *last = first;

	RTE_VERIFY(q->nb_messages <= MAX_MESSAGES);
	*m = (struct message){ .first_psn = first->packet.psn, .op = first->packet.info->op,
			       .psns = RTE_MAX(1u, (bytes + x->mtu - 1) / x->mtu), .data = reserve(q, bytes) };
	sge.addr = (uintptr_t)m->data;
	if (m->op == UROCE_OP_SEND || m->op == UROCE_OP_WRITE)
		last = collect(x, first, m->data);
	wr.opcode = wr_opcode(first, last);
	if (last->packet.info->ext[UROCE_EXT_IMMDT] != 0)
		wr.imm_data = ((const struct uroce_immdt *)uroce_packet_ext(&last->packet, UROCE_EXT_IMMDT))->imm;
	if (last->packet.solicited)
		wr.send_flags |= IBV_SEND_SOLICITED;
	set_target(&q->end, first, &wr);
	RTE_VERIFY(ibv_post_send(q->end.qp, &wr, &bad) == 0);
	q->next_psn = uroce_psn_add(m->first_psn, m->psns);
}

/* The requester's next frame must match the captured request. */
static void
request(struct requester *q, const struct captured *c)
{
	if ((c->packet.info->flags & UROCE_OPF_FIRST) && c->packet.psn == q->next_psn)
		post(q, c);
	for (;;) {
		enum difference_kind kind;
		const char *what;

		if (!q->has_ours)
			q->has_ours = device_send_one(&q->ours, LONGEST_WAIT_NS);
		what = q->has_ours ? replay_compare(c, &q->ours) : "no request from uroce";
		if (what == NULL) {
			q->has_ours = false;
			return;
		}
		kind = difference_find(c->file, REPLAY_REQUESTER, c->number);
		if (kind == DIFFERENCE_NONE) {
			char text[512];

			replay_fail(&q->end, c, what,
				    q->has_ours ? frame_describe(&q->ours, text, sizeof(text)) : NULL);
		}
		if (kind == CAPTURED_IS_NOT_OURS)
			return;
		q->has_ours = false;
		if (kind != OURS_IS_NOT_CAPTURED)
			return;
	}
}

static const struct message *
message_of(const struct requester *q, uint32_t psn)
{
	for (unsigned int i = 0; i < q->nb_messages; i++)
		if (uroce_psn_distance(psn, q->messages[i].first_psn) < q->messages[i].psns)
			return &q->messages[i];
	return NULL;
}

/* Check the bytes that responses have brought. */
static void
check_data(struct requester *q, const struct captured *c)
{
	const struct message *m = message_of(q, c->packet.psn);

	if (m == NULL)
		return;
	if (c->packet.info->op == UROCE_OP_READ_RESPONSE) {
		uint32_t offset = uroce_psn_distance(c->packet.psn, m->first_psn) * q->end.x->mtu;

		if (memcmp(m->data + offset, c->payload, c->packet.payload_bytes) != 0)
			replay_fail(&q->end, c, "the payload is not in memory", NULL);
	} else if (c->packet.info->op == UROCE_OP_ATOMIC_ACK) {
		const struct uroce_atomicacketh *eth = uroce_packet_ext(&c->packet, UROCE_EXT_ATOMICACKETH);
		uint64_t original = rte_be_to_cpu_64(eth->original);

		if (memcmp(m->data, &original, sizeof(original)) != 0)
			replay_fail(&q->end, c, "the original is not in memory", NULL);
	}
}

/* The status of the last message, by the last response. */
static enum ibv_wc_status
last_status(const struct exchange *x)
{
	uint8_t syndrome = captured_syndrome(x->frames[x->n - 1]);

	if ((syndrome & UROCE_AETH_CLASS_MASK) == UROCE_AETH_RNR_NAK)
		return IBV_WC_RNR_RETRY_EXC_ERR;
	switch (syndrome) {
	case UROCE_AETH_NAK | UROCE_NAK_INVALID_REQUEST: return IBV_WC_REM_INV_REQ_ERR;
	case UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR: return IBV_WC_REM_ACCESS_ERR;
	case UROCE_AETH_NAK | UROCE_NAK_REMOTE_OPERATIONAL_ERROR: return IBV_WC_REM_OP_ERR;
	default: return IBV_WC_SUCCESS;
	}
}

static void
check_completions(struct requester *q)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < q->nb_messages; i++) {
		enum ibv_wc_status status = i + 1 == q->nb_messages ? last_status(q->end.x) : IBV_WC_SUCCESS;

		if (ibv_poll_cq(q->end.send_cq, 1, &wc) != 1)
			replay_fail(&q->end, NULL, "a completion is missing", NULL);
		else if (wc.wr_id != i || wc.status != status)
			replay_fail(&q->end, NULL, "another completion", uroce_wc_status_str(wc.status));
	}
	if (q->has_ours || device_send_one(&q->ours, LONGEST_WAIT_NS)) {
		char text[512];

		replay_fail(&q->end, NULL, "not captured", frame_describe(&q->ours, text, sizeof(text)));
	}
}

void
replay_requester(const struct exchange *x)
{
	static struct requester q;

	memset(&q, 0, sizeof(q));
	replay_end_open(&q.end, x, REPLAY_REQUESTER);
	q.arena = calloc(1, ARENA_BYTES);
	RTE_VERIFY(q.arena != NULL);
	q.mr = uroce_reg_mr(q.end.pd, q.arena, ARENA_BYTES, IBV_ACCESS_LOCAL_WRITE);
	RTE_VERIFY(q.mr != NULL);
	q.next_psn = x->first_psn;
	for (unsigned int i = 0; i < x->n; i++) {
		if (captured_is_request(x->frames[i]))
			request(&q, x->frames[i]);
		else if (!x->frames[i]->lost)
			replay_end_in(&q.end, x->frames[i], NULL, NULL);
	}
	check_completions(&q);
	for (unsigned int i = 0; i < x->n; i++)
		check_data(&q, x->frames[i]);
	RTE_VERIFY(uroce_destroy_qp(q.end.qp) == 0);
	q.end.qp = NULL;
	RTE_VERIFY(uroce_dereg_mr(q.mr) == 0);
	free(q.arena);
	replay_end_close(&q.end);
}
