/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Posts the work requests of a queue: receives, RDMA READs of data, responses. The poller of the queue; the
 * main thread, which creates a queue, posts its first receives.
 */

#include "poller.h"
#include "post.h"
#include "queue.h"
#include "request.h"

static uint64_t
wr_id(void *object, enum nvmf_wr_kind kind)
{
	return (uintptr_t)object | kind;
}

int
uroce_nvmf_post_receive(struct nvmf_capsule *c)
{
	struct nvmf_queue *q = c->queue;
	struct ibv_sge sges[2] = {
		{ (uintptr_t)c->command, sizeof(*c->command), q->mr->lkey },
		{ (uintptr_t)c->data, UROCE_NVMF_IN_CAPSULE_BYTES, q->mr->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = wr_id(c, NVMF_WR_RECV), .sg_list = sges, .num_sge = 2 };
	struct ibv_recv_wr *bad;
	int ret = uroce_post_recv(q->qp, &wr, &bad);

	if (ret == 0)
		q->posted++;
	return ret;
}

bool
uroce_nvmf_post_fetch(struct nvmf_request *req)
{
	struct nvmf_queue *q = req->queue;
	struct ibv_sge sge = { (uintptr_t)req->data, req->data_bytes, q->poller->buffers.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = wr_id(req, NVMF_WR_FETCH),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = req->remote_addr, .rkey = req->rkey },
	};
	struct ibv_send_wr *bad;

	if (!q->dead && uroce_post_send(q->qp, &wr, &bad) != 0)
		q->dead = true;
	if (!q->dead)
		q->posted++;
	return !q->dead;
}

bool
uroce_nvmf_post_response(struct nvmf_request *req, bool with_data)
{
	struct nvmf_queue *q = req->queue;
	struct ibv_sge sges[2] = {
		{ (uintptr_t)req->data, req->data_bytes, q->poller->buffers.mr->lkey },
		{ (uintptr_t)req->completion, sizeof(*req->completion), q->mr->lkey },
	};
	struct ibv_send_wr send = {
		.wr_id = wr_id(req, NVMF_WR_RESPONSE),
		.sg_list = &sges[1],
		.num_sge = 1,
		.opcode = req->invalidate ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = req->rkey,
	};
	struct ibv_send_wr write = {
		.next = &send,
		.wr_id = wr_id(req, NVMF_WR_RESPONSE),
		.sg_list = &sges[0],
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = req->remote_addr, .rkey = req->rkey },
	};
	struct ibv_send_wr *bad;

	if (!q->dead && (uroce_nvmf_post_receive(req->capsule) != 0 ||
			 uroce_post_send(q->qp, with_data ? &write : &send, &bad) != 0))
		q->dead = true;
	if (!q->dead)
		q->posted++;
	return !q->dead;
}
