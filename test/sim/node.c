/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The queue pairs of unreliable.c, and the contents of their messages.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unreliable.h"
#include "uroce.h"
#include "wire/psn.h"

static void
create_memory(struct node *n)
{
	size_t slots = 2 * NODE_DEPTH + (n->type == IBV_QPT_UC ? NODE_MESSAGES : 0);
	size_t bytes = slots * NODE_SLOT_BYTES;

	n->sends = calloc(1, bytes);
	SIM_CHECK(n->sends != NULL, "out of memory");
	n->receives = n->sends + NODE_DEPTH * NODE_SLOT_BYTES;
	n->writes = n->receives + NODE_DEPTH * NODE_SLOT_BYTES;
	n->mr = uroce_reg_mr(n->end->pd, n->sends, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	SIM_CHECK(n->mr != NULL, "uroce_reg_mr: %s", strerror(errno));
}

void
node_create(struct unreliable *u, struct node *n, unsigned int index, enum ibv_qp_type type, unsigned int end)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type, .cap = { NODE_DEPTH, NODE_DEPTH, 2, 2, 0 },
	};

	memset(n, 0, sizeof(*n));
	n->index = index;
	n->end = u->world->ends[end];
	n->type = type;
	n->mtu_bytes = type == IBV_QPT_UD ? 4096 : 1024;
	create_memory(n);
	n->cq = uroce_create_cq(end_context(n->end), 2 * NODE_DEPTH, n, NULL, 0);
	SIM_CHECK(n->cq != NULL, "uroce_create_cq: %s", strerror(errno));
	attr.send_cq = attr.recv_cq = n->cq;
	n->qp = uroce_create_qp(n->end->pd, &attr);
	SIM_CHECK(n->qp != NULL, "uroce_create_qp: %s", strerror(errno));
}

static void
modify(struct node *n, struct ibv_qp_attr *attr, enum ibv_qp_state to, int mask)
{
	int ret;

	attr->qp_state = to;
	ret = uroce_modify_qp(n->qp, attr, mask | IBV_QP_STATE);
	SIM_CHECK(ret == 0, "uroce_modify_qp to %d: %s", (int)to, strerror(ret));
}

void
node_connect(struct unreliable *u, struct node *n)
{
	const struct node *peer = &u->nodes[n->peer];
	struct ibv_qp_attr attr = {
		.port_num = 1, .qkey = NODE_QKEY, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp->qp_num,
		/* a UC responder accepts the first message with any PSN */
		.rq_psn = random_below(&u->random, UROCE_PSN_MASK + 1),
		.sq_psn = UROCE_PSN_MASK - random_below(&u->random, 100),
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = peer->end->gid, .hop_limit = 9 } },
	};
	bool ud = n->type == IBV_QPT_UD;

	modify(n, &attr, IBV_QPS_INIT,
	       IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
	modify(n, &attr, IBV_QPS_RTR,
	       ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
	modify(n, &attr, IBV_QPS_RTS, IBV_QP_SQ_PSN);
}

void
node_attach(struct unreliable *u, struct node *n)
{
	SIM_CHECK(uroce_attach_mcast(n->qp, &u->group, 0) == 0, "uroce_attach_mcast fails");
	n->member = true;
	/* messages in flight may reach it */
	for (unsigned int i = NODE_UC_COUNT; i < NODE_COUNT; i++)
		for (unsigned int j = 0; j < u->nodes[i].posted; j++)
			u->nodes[i].letters[j].members |= 1u << n->index;
}

void
node_detach(const struct unreliable *u, struct node *n)
{
	SIM_CHECK(uroce_detach_mcast(n->qp, &u->group, 0) == 0, "uroce_detach_mcast fails");
	n->member = false;
}

void
node_destroy(const struct unreliable *u, struct node *n)
{
	if (n->member) {
		SIM_CHECK(uroce_destroy_qp(n->qp) == EBUSY, "a QP is destroyed that is in a group"); /* R49 */
		node_detach(u, n);
	}
	SIM_CHECK(uroce_destroy_qp(n->qp) == 0, "uroce_destroy_qp fails");
	SIM_CHECK(uroce_destroy_cq(n->cq) == 0, "uroce_destroy_cq fails");
	SIM_CHECK(uroce_dereg_mr(n->mr) == 0, "uroce_dereg_mr fails");
	free(n->sends);
}

uint8_t
letter_byte(const struct unreliable *u, unsigned int node, unsigned int number, uint32_t offset)
{
	uint64_t z = u->seed + ((uint64_t)letter_id(node, number) << 32 | offset / 8);

	if (offset < 4)
		return (uint8_t)(letter_id(node, number) >> (8 * offset));
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint8_t)((z ^ z >> 31) >> (offset % 8 * 8));
}
