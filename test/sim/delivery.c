/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks messages received on UC and UD: each is complete, is not mixed with another one, and has the right Q_Key. They
 * arrive in order if the link keeps the order, and all of them if it loses none.
 */

#include <string.h>

#include <rte_common.h>

#include "digest.h"
#include "unreliable.h"
#include "uroce.h"

#define GRH_BYTES 40

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

/* Find a message, and its sender, by its id. */
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
	const uint8_t *src = u->nodes[from].end->gid.raw;
	const uint8_t *dst = to == NODE_GROUP ? u->group.raw : u->nodes[to].end->gid.raw;
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

static bool
is_for(const struct letter *l, const struct node *n)
{
	return l->to == NODE_GROUP ? n->member && (l->members & 1u << n->index) != 0 : l->to == n->index;
}

static void
check_order(struct unreliable *u, struct node *n, unsigned int from, unsigned int number, struct letter *l)
{
	bool again = (l->came_to & 1u << n->index) != 0;

	l->came_to |= 1u << n->index;
	u->delivered += l->to != NODE_GROUP;
	if (!u->in_order)
		return;
	SIM_CHECK(!again, "message %u is delivered twice", number);
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

	SIM_CHECK(wc->wr_id == (NODE_RECV_BIT | n->received) && wc->status == IBV_WC_SUCCESS, "receive 0x%jx: %s",
		  (uintmax_t)wc->wr_id, uroce_wc_status_str(wc->status));
	n->received++;
	memcpy(&id, slot + grh, sizeof(id));
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		id = rte_be_to_cpu_32(wc->imm_data);
	l = find_letter(u, id, &from, &number);
	SIM_CHECK(is_for(l, n) && !l->wrong_qkey && l->status == IBV_WC_SUCCESS, "a message that is not for it");
	SIM_CHECK(wc->byte_len == l->length + grh && wc->src_qp == u->nodes[from].qp->qp_num, "length or sender");
	SIM_CHECK(letter_has_imm(l) == !!(wc->wc_flags & IBV_WC_WITH_IMM) &&
			  (grh != 0) == !!(wc->wc_flags & IBV_WC_GRH),
		  "wc.wc_flags 0x%x", wc->wc_flags);
	if (grh != 0)
		check_grh(u, slot, from, l->to);
	check_bytes(u, from, number, letter_is_write(l) ? n->writes + number * NODE_SLOT_BYTES : slot + grh, l->length);
	for (unsigned int i = 0; i < NODE_GUARD_BYTES; i++)
		SIM_CHECK(slot[NODE_SLOT_BYTES - NODE_GUARD_BYTES + i] == NODE_GUARD, "a byte behind a receive");
	check_order(u, n, from, number, l);
}

bool
delivery_poll(struct unreliable *u, struct node *n)
{
	struct ibv_wc wc;
	bool any = false;

	for (int got; (got = uroce_poll_cq(n->cq, 1, &wc)) != 0; any = true) {
		digest_completion(u->world->now_ns, n->end->index, &wc);
		SIM_CHECK(got == 1 && wc.qp_num == n->qp->qp_num, "uroce_poll_cq");
		if (wc.wr_id & NODE_RECV_BIT)
			check_recv(u, n, &wc);
		else
			check_send(n, &wc);
	}
	return any;
}

void
delivery_check_writes(const struct unreliable *u, const struct node *n)
{
	const struct node *peer = &u->nodes[n->peer];

	for (unsigned int i = 0; i < NODE_MESSAGES; i++) {
		const uint8_t *slot = n->writes + i * NODE_SLOT_BYTES;
		bool written = i < peer->posted && letter_is_write(&peer->letters[i]) && n->type == IBV_QPT_UC;
		uint32_t length = written ? peer->letters[i].length : 0;

		for (uint32_t at = 0; at < NODE_SLOT_BYTES; at++)
			SIM_CHECK(slot[at] == 0 || (at < length && slot[at] == letter_byte(u, peer->index, i, at)),
				  "node %u: byte %u of WRITE %u", n->index, at, i);
	}
}

uint64_t
delivery_expected(const struct unreliable *u)
{
	uint64_t expected = 0;

	for (unsigned int i = 0; i < NODE_COUNT; i++)
		for (unsigned int j = 0; j < u->nodes[i].posted; j++) {
			const struct letter *l = &u->nodes[i].letters[j];

			expected += l->status == IBV_WC_SUCCESS && !l->wrong_qkey && l->opcode != IBV_WR_RDMA_WRITE &&
				    l->to != NODE_GROUP;
		}
	return expected;
}
