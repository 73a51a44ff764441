/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Posts a request by one call for the operation and one for its data.
 */

#include "builder.h"

#include <string.h>

#include <rte_common.h>

#include "uroce.h"
#include "workload.h"

uint64_t
builder_operations(void)
{
	return IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
	       IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
	       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
	       IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_WRITE;
}

bool
builder_takes(struct request *const *requests, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (requests[i]->op->opcode == IBV_WR_FLUSH)
			return false;
	return true;
}

/* The call copies the bytes of an ATOMIC_WRITE. */
static void
atomic_write(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr)
{
	uint8_t bytes[8];
	uint32_t offset = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		memcpy(bytes + offset, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		offset += wr->sg_list[i].length;
	}
	ibv_wr_atomic_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, bytes);
}

static void
call(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr)
{
	uint64_t addr = wr->wr.rdma.remote_addr;
	uint32_t rkey = wr->wr.rdma.rkey;

	switch (wr->opcode) {
	case IBV_WR_SEND: ibv_wr_send(qp); break;
	case IBV_WR_SEND_WITH_IMM: ibv_wr_send_imm(qp, wr->imm_data); break;
	case IBV_WR_SEND_WITH_INV: ibv_wr_send_inv(qp, wr->invalidate_rkey); break;
	case IBV_WR_RDMA_WRITE: ibv_wr_rdma_write(qp, rkey, addr); break;
	case IBV_WR_RDMA_WRITE_WITH_IMM: ibv_wr_rdma_write_imm(qp, rkey, addr, wr->imm_data); break;
	case IBV_WR_RDMA_READ: ibv_wr_rdma_read(qp, rkey, addr); break;
	case IBV_WR_ATOMIC_WRITE: atomic_write(qp, wr); break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr, wr->wr.atomic.compare_add,
				      wr->wr.atomic.swap);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr, wr->wr.atomic.compare_add);
		break;
	case IBV_WR_BIND_MW: ibv_wr_bind_mw(qp, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info); break;
	case IBV_WR_LOCAL_INV: ibv_wr_local_inv(qp, wr->invalidate_rkey); break;
	default: sim_fail("opcode %d has no call", (int)wr->opcode);
	}
}

static void
set_data(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr)
{
	struct ibv_data_buf buffers[UROCE_MAX_SGE];

	if (wr->opcode == IBV_WR_BIND_MW || wr->opcode == IBV_WR_LOCAL_INV || wr->opcode == IBV_WR_ATOMIC_WRITE)
		return;
	if ((wr->send_flags & IBV_SEND_INLINE) == 0) {
		ibv_wr_set_sge_list(qp, (size_t)wr->num_sge, wr->sg_list);
		return;
	}
	for (int i = 0; i < wr->num_sge; i++)
		buffers[i] = (struct ibv_data_buf){ (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length };
	ibv_wr_set_inline_data_list(qp, (size_t)wr->num_sge, buffers);
}

void
builder_post(struct ibv_qp *ibv, struct request *const *requests, unsigned int n, struct sim_random *r)
{
	struct ibv_qp_ex *qp = uroce_qp_to_qp_ex(ibv);
	int ret;

	for (bool again = random_once_in(r, 4); ; again = false) {
		ibv_wr_start(qp);
		for (unsigned int i = 0; i < n; i++) {
			qp->wr_id = requests[i]->wr.wr_id;
			qp->wr_flags = requests[i]->wr.send_flags & ~(unsigned int)IBV_SEND_INLINE;
			call(qp, &requests[i]->wr);
			set_data(qp, &requests[i]->wr);
		}
		if (!again)
			break;
		/* aborted requests are not posted */
		ibv_wr_abort(qp);
	}
	ret = ibv_wr_complete(qp);
	SIM_CHECK(ret == 0, "ibv_wr_complete: %s", strerror(ret));
}
