/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The extended calls: QPs whose work requests are built field by field, and CQs that are read in the same way.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ends.h"

enum { DEPTH = 8, IMMEDIATE = 0x1234 };

struct extended {
	struct end end;
	struct ibv_cq_ex *cq;
	struct ibv_qp_ex *qp;
};

static void
extended_open(struct extended *e, struct ibv_device *device)
{
	struct ibv_cq_init_attr_ex cq = {
		.cqe = 2 * DEPTH,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_qp_init_attr_ex qp = {
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 2, .max_recv_sge = 1,
			 .max_inline_data = 16 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_READ,
	};

	end_open(&e->end, device);
	NEED((e->cq = ibv_create_cq_ex(e->end.context, &cq)) != NULL);
	qp.send_cq = ibv_cq_ex_to_cq(e->cq);
	qp.recv_cq = qp.send_cq;
	qp.pd = e->end.pd;
	NEED((e->end.qp = ibv_create_qp_ex(e->end.context, &qp)) != NULL);
	NEED((e->qp = ibv_qp_to_qp_ex(e->end.qp)) != NULL);
}

static void
extended_close(struct extended *e)
{
	NEED(ibv_destroy_qp(e->end.qp) == 0);
	NEED(ibv_destroy_cq(ibv_cq_ex_to_cq(e->cq)) == 0);
	NEED(ibv_dereg_mr(e->end.mr) == 0);
	NEED(ibv_destroy_cq(e->end.cq) == 0);
	NEED(ibv_destroy_comp_channel(e->end.channel) == 0);
	NEED(ibv_dealloc_pd(e->end.pd) == 0);
	NEED(ibv_close_device(e->end.context) == 0);
	free(e->end.buffer);
}

/* Stop at the next completion, which the caller reads until end_poll. */
static void
start_poll(struct extended *e)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int ret;

	do
		ret = ibv_start_poll(e->cq, &attr);
	while (ret == ENOENT);
	NEED(ret == 0);
	NEED(e->cq->status == IBV_WC_SUCCESS);
	NEED(ibv_wc_read_qp_num(e->cq) == e->end.qp->qp_num);
}

/* An unsignaled WRITE, and eight more bytes with immediate data; then an aborted list. */
static void
write_both(struct extended *from, const struct address *to)
{
	uint32_t lkey = from->end.mr->lkey;

	ibv_wr_start(from->qp);
	from->qp->wr_id = 99;
	from->qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(from->qp, to->rkey, to->buffer);
	ibv_wr_set_sge(from->qp, lkey, (uintptr_t)from->end.buffer, 8);
	ibv_wr_abort(from->qp);

	ibv_wr_start(from->qp);
	from->qp->wr_id = 1;
	from->qp->wr_flags = 0;
	ibv_wr_rdma_write(from->qp, to->rkey, to->buffer);
	ibv_wr_set_sge(from->qp, lkey, (uintptr_t)from->end.buffer, BYTES / 2);
	from->qp->wr_id = 2;
	from->qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write_imm(from->qp, to->rkey, to->buffer + BYTES / 2, htobe32(IMMEDIATE));
	ibv_wr_set_inline_data(from->qp, from->end.buffer, 8);
	NEED(ibv_wr_complete(from->qp) == 0);
}

static uint64_t
check_write(struct extended *from, struct extended *to)
{
	uint64_t at;

	start_poll(to);
	NEED(to->cq->wr_id == 3);
	NEED(ibv_wc_read_opcode(to->cq) == IBV_WC_RECV_RDMA_WITH_IMM);
	NEED(be32toh(ibv_wc_read_imm_data(to->cq)) == IMMEDIATE);
	NEED(ibv_wc_read_byte_len(to->cq) == 8);
	at = ibv_wc_read_completion_ts(to->cq);
	NEED(ibv_next_poll(to->cq) == ENOENT);
	ibv_end_poll(to->cq);
	start_poll(from);
	NEED(from->cq->wr_id == 2);
	NEED(ibv_wc_read_opcode(from->cq) == IBV_WC_RDMA_WRITE);
	ibv_end_poll(from->cq);
	NEED(memcmp(from->end.buffer, to->end.buffer, BYTES / 2) == 0);
	NEED(memcmp(from->end.buffer, to->end.buffer + BYTES / 2, 8) == 0);
	return at;
}

/* READ back into two buffers; timestamps must not decrease. */
static void
read_back(struct extended *into, struct extended *from, uint64_t since)
{
	const struct address of = end_address(&from->end);
	const struct ibv_sge pieces[] = {
		{ .addr = (uintptr_t)into->end.buffer + 16, .length = 4, .lkey = into->end.mr->lkey },
		{ .addr = (uintptr_t)into->end.buffer, .length = 4, .lkey = into->end.mr->lkey },
	};

	memcpy(from->end.buffer, "01234567", 8);
	ibv_wr_start(into->qp);
	into->qp->wr_id = 4;
	into->qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(into->qp, of.rkey, of.buffer);
	ibv_wr_set_sge_list(into->qp, 2, pieces);
	NEED(ibv_wr_complete(into->qp) == 0);
	start_poll(into);
	NEED(into->cq->wr_id == 4);
	NEED(ibv_wc_read_completion_ts(into->cq) >= since);
	ibv_end_poll(into->cq);
	NEED(memcmp(into->end.buffer + 16, "0123", 4) == 0);
	NEED(memcmp(into->end.buffer, "4567", 4) == 0);
}

int
main(void)
{
	struct extended a, b;
	struct address of_a, of_b;
	uint64_t at;

	extended_open(&a, device_at(0));
	extended_open(&b, device_at(0));
	of_a = end_address(&a.end);
	of_b = end_address(&b.end);
	end_connect(&a.end, &of_b);
	end_connect(&b.end, &of_a);
	for (int i = 0; i < BYTES; i++)
		a.end.buffer[i] = (uint8_t)(i * 7);
	post_recv(&b.end, 3);
	write_both(&a, &of_b);
	at = check_write(&a, &b);
	read_back(&a, &b, at);
	extended_close(&a);
	extended_close(&b);
	puts("built and read field by field");
	return 0;
}
