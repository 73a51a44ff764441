/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * FLUSH and ATOMIC_WRITE. uroce posts them by uroce_post_send(). libibverbs posts them only by struct ibv_qp_ex, and
 * FLUSH only since rdma-core 45 (-DPROBE_FLUSH).
 */

#include <errno.h>
#include <string.h>

#include "end.h"
#include "line.h"

#ifdef PROBE_UROCE
#include "uroce_verbs.h"
#endif

#define ATOMIC_BYTES 8

struct placement {
	bool flush;	/* or else ATOMIC_WRITE */
	uint64_t id, remote, len, at;
	uint32_t rkey;
	uint8_t type, level;
};

#if defined(PROBE_UROCE)
struct ibv_qp *
create_placement_qp(struct ibv_qp_init_attr *init)
{
	return uroce_create_qp(pd, init);
}

static int
post(unsigned int q, const struct placement *p)
{
	struct ibv_sge sge = { (uintptr_t)self.memory + p->at, ATOMIC_BYTES, self.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = p->id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_ATOMIC_WRITE,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { .remote_addr = p->remote, .rkey = p->rkey },
	};

	if (p->flush)
		uroce_send_wr_flush(&wr, p->rkey, p->remote, p->len, p->type, p->level);
	return uroce_post_send(self.qps[q], &wr, &bad);
}
#elif defined(PROBE_FLUSH)
struct ibv_qp *
create_placement_qp(struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = init->qp_type, .srq = init->srq, .send_cq = init->send_cq, .recv_cq = init->recv_cq,
		.cap = init->cap, .pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE,
	};

	return ibv_create_qp_ex(context, &attr);
}

static int
post(unsigned int q, const struct placement *p)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(self.qps[q]);

	ibv_wr_start(qp);
	qp->wr_id = p->id;
	qp->wr_flags = IBV_SEND_SIGNALED;
	if (p->flush)
		ibv_wr_flush(qp, p->rkey, p->remote, p->len, p->type, p->level);
	else
		ibv_wr_atomic_write(qp, p->rkey, p->remote, self.memory + p->at);
	return ibv_wr_complete(qp);
}
#else
struct ibv_qp *
create_placement_qp(struct ibv_qp_init_attr *init)
{
	(void)init;
	errno = EOPNOTSUPP;
	return NULL;
}

static int
post(unsigned int q, const struct placement *p)
{
	(void)q;
	(void)p;
	return EOPNOTSUPP;
}
#endif

void
do_place(const char *line)
{
	uint64_t n = line_number(line, "n", 1), at = line_number(line, "at", 0);
	uint64_t stride = line_number(line, "stride", ATOMIC_BYTES);
	struct placement p = {
		.flush = line_number(line, "flush", 0) != 0,
		.remote = line_number(line, "remote", 0),
		.len = line_number(line, "len", 0),
		.at = at,
		.rkey = (uint32_t)line_number(line, "rkey", 0),
		.type = (uint8_t)line_number(line, "type", 1),
		.level = (uint8_t)line_number(line, "level", 0),
	};
	int ret = 0;

	if (!p.flush && !in_memory(at, ATOMIC_BYTES, n, stride)) {
		puts("error outside the memory");
		return;
	}
	for (p.id = 0; p.id < n && ret == 0; p.id++) {
		ret = post(qp_index(line), &p);
		p.at += stride;
		p.remote += line_number(line, "remote_stride", stride);
	}
	if (ret == 0)
		puts("ok");
	else
		printf("error place: %s\n", strerror(ret));
}
