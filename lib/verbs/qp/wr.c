/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_wr_start(3) and the calls of struct ibv_qp_ex: builds work requests in place in the send queue, field by
 * field, and publishes them together. Between wr_start and wr_complete or wr_abort the calling thread holds the
 * queue's lock. Any thread; no system call, no allocation.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_common.h>

#include "uroce.h"
#include "uroce_config.h"
#include "verbs/address/ah.h"
#include "verbs/device/device.h"
#include "verbs/qp/post.h"
#include "verbs/qp/qp.h"
#include "verbs/qp/wr.h"
#include "verbs/wr_has_flush.h"
#include "wire/headers.h"
#include "wire/opcode.h"

#define KNOWN_FLAGS (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED)
#define ATOMIC_BYTES 8

/* The settings that a work request still needs, and those that it may not have. */
enum {
	NEEDS_ADDRESS = 1 << 0,		/* UD: wr_set_ud_addr */
	NEEDS_8 = 1 << 1,		/* one entry of 8 bytes */
	NO_INLINE = 1 << 2,
	NO_DATA = 1 << 3,
	NEEDS_SRQN = 1 << 4,		/* XRC: wr_set_xrc_srqn */
};

static void
fail(struct uroce_wr *wr, int error)
{
	if (wr->error == 0)
		wr->error = error;
	wr->sqe = NULL;
}

/* Check that the WQE has all settings that it needs: no more of them follow. */
static void
finish_sqe(struct uroce_wr *wr)
{
	const struct uroce_sqe *sqe = wr->sqe;

	if (likely(sqe == NULL || (wr->needs & (NEEDS_ADDRESS | NEEDS_8 | NEEDS_SRQN)) == 0))
		return;
	if ((wr->needs & (NEEDS_ADDRESS | NEEDS_SRQN)) || sqe->num_sge != 1 || sqe->length != ATOMIC_BYTES)
		fail(wr, EINVAL);
}

/* @return the next WQE, with its common fields set; NULL: this request or an earlier one is invalid */
static struct uroce_sqe *
next_sqe(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, unsigned int known_flags, uint8_t needs)
{
	struct uroce_qp *qp = uroce_qp_of(&ex->qp_base);
	struct uroce_wr *wr = &qp->wr;
	unsigned int flags = ex->wr_flags & known_flags;

	finish_sqe(wr);
	if (unlikely(wr->error != 0))
		return NULL;
	if (unlikely((ex->wr_flags & ~(KNOWN_FLAGS | IBV_SEND_INLINE)) != 0)) {
		fail(wr, EINVAL);
		return NULL;
	}
	if (unlikely(!uroce_wq_has_room(&qp->sq, wr->tail))) {
		fail(wr, ENOMEM);
		return NULL;
	}
	if (qp->sq_sig_all)
		flags |= IBV_SEND_SIGNALED;
	wr->sqe = uroce_sqe_at(&qp->sq, wr->tail++);
	wr->needs = needs | (qp->transport == UROCE_TRANSPORT_UD ? NEEDS_ADDRESS : 0);
	if (unlikely(qp->transport == UROCE_TRANSPORT_XRC) && (needs & NO_DATA) == 0)
		wr->needs |= NEEDS_SRQN;
	*wr->sqe = (struct uroce_sqe){
		.wr_id = ex->wr_id, .opcode = (uint8_t)opcode, .flags = (uint8_t)flags,
		.posted_status = IBV_WC_SUCCESS,
	};
	return wr->sqe;
}

/* ---- operations ---- */

static void
wr_send(struct ibv_qp_ex *ex)
{
	next_sqe(ex, IBV_WR_SEND, KNOWN_FLAGS, 0);
}

static void
wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct uroce_sqe *sqe = next_sqe(ex, IBV_WR_SEND_WITH_IMM, KNOWN_FLAGS, 0);

	if (likely(sqe != NULL))
		sqe->imm = imm_data;
}

static void
set_remote(struct uroce_sqe *sqe, uint32_t rkey, uint64_t remote_addr)
{
	sqe->rkey = rkey;
	sqe->remote_addr = remote_addr;
}

static void
wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	struct uroce_sqe *sqe = next_sqe(ex, IBV_WR_RDMA_WRITE, KNOWN_FLAGS & ~IBV_SEND_SOLICITED, 0);

	if (likely(sqe != NULL))
		set_remote(sqe, rkey, remote_addr);
}

static void
wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
	struct uroce_sqe *sqe = next_sqe(ex, IBV_WR_RDMA_WRITE_WITH_IMM, KNOWN_FLAGS, 0);

	if (unlikely(sqe == NULL))
		return;
	set_remote(sqe, rkey, remote_addr);
	sqe->imm = imm_data;
}

static void
wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	struct uroce_sqe *sqe = next_sqe(ex, IBV_WR_RDMA_READ, KNOWN_FLAGS & ~IBV_SEND_SOLICITED,
					 NO_INLINE);

	if (likely(sqe != NULL))
		set_remote(sqe, rkey, remote_addr);
}

static void
atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t remote_addr,
       uint64_t compare_add, uint64_t swap)
{
	struct uroce_sqe *sqe = next_sqe(ex, opcode, KNOWN_FLAGS & ~IBV_SEND_SOLICITED,
					 NEEDS_8 | NO_INLINE);

	if (unlikely(sqe == NULL))
		return;
	set_remote(sqe, rkey, remote_addr);
	sqe->compare_add = compare_add;
	sqe->swap = swap;
}

static void
wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
		  uint64_t swap)
{
	atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

static void
wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

static void
wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct uroce_sqe *sqe = next_sqe(ex, IBV_WR_SEND_WITH_INV, KNOWN_FLAGS, 0);

	if (likely(sqe != NULL))
		sqe->imm = rte_cpu_to_be_32(invalidate_rkey);
}

/* The call passes the 8 bytes, so no data can be set. */
static void
wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, const void *atomic_wr)
{
	struct uroce_sqe *sqe = next_sqe(ex, IBV_WR_ATOMIC_WRITE, KNOWN_FLAGS & ~IBV_SEND_SOLICITED, NO_DATA);

	if (unlikely(sqe == NULL))
		return;
	set_remote(sqe, rkey, remote_addr);
	sqe->flags |= IBV_SEND_INLINE;
	sqe->length = ATOMIC_BYTES;
	memcpy(sqe->sge, atomic_wr, ATOMIC_BYTES);
}

/* A bind, a local invalidate or a FLUSH, as ibv_post_send() makes it. */
static void
memory(struct ibv_qp_ex *ex, struct ibv_send_wr *request)
{
	struct uroce_qp *qp = uroce_qp_of(&ex->qp_base);
	struct uroce_sqe *sqe = next_sqe(ex, request->opcode, KNOWN_FLAGS & ~IBV_SEND_SOLICITED, NO_DATA);

	if (unlikely(sqe == NULL))
		return;
	request->wr_id = ex->wr_id;
	request->send_flags = sqe->flags;
	if (unlikely(uroce_post_memory_check(qp, request, IBV_MW_TYPE_2) != 0))
		fail(&qp->wr, EINVAL);
	else
		uroce_post_memory_write(qp, sqe, request);
}

static void
wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct ibv_send_wr request = { .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = invalidate_rkey };

	memory(ex, &request);
}

/* The window gets its new rkey in wr_complete. */
static void
wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *bind_info)
{
	struct ibv_send_wr request = {
		.opcode = IBV_WR_BIND_MW, .bind_mw = { .mw = mw, .rkey = rkey, .bind_info = *bind_info },
	};
	uint32_t old = mw == NULL ? 0 : mw->rkey;

	memory(ex, &request);
	if (likely(mw != NULL))
		mw->rkey = old;
	uroce_qp_of(&ex->qp_base)->wr.binds = true;
}

#ifdef UROCE_WR_HAS_FLUSH
static void
wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, size_t length, uint8_t type, uint8_t level)
{
	struct ibv_send_wr request;

	uroce_send_wr_flush(&request, rkey, remote_addr, length, type, level);
	memory(ex, &request);
}

static void
init_flush(struct ibv_qp_ex *ex)
{
	ex->wr_flush = wr_flush;
}
#else	/* rdma-core 44 */
#define IBV_QP_EX_WITH_FLUSH 0

static void
init_flush(struct ibv_qp_ex *ex)
{
	RTE_SET_USED(ex);
}
#endif

/* ---- data and addresses ---- */

/* R42: a message that is too long is queued, and completes in error in its turn. */
static void
set_length(struct uroce_sqe *sqe, uint64_t bytes)
{
	sqe->length = RTE_MIN(bytes, (uint64_t)UINT32_MAX);
	if (unlikely(bytes > UROCE_MAX_MSG_BYTES))
		sqe->posted_status = IBV_WC_LOC_LEN_ERR;
}

static void
wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct uroce_qp *qp = uroce_qp_of(&ex->qp_base);
	struct uroce_sqe *sqe = qp->wr.sqe;

	if (unlikely(sqe == NULL))
		return;
	if (unlikely(num_sge > qp->sq.max_sge || (qp->wr.needs & NO_DATA))) {
		fail(&qp->wr, EINVAL);
		return;
	}
	sqe->flags &= (uint8_t)~IBV_SEND_INLINE;
	sqe->num_sge = (uint8_t)num_sge;
	for (size_t i = 0; i < num_sge; i++)
		sqe->sge[i] = sg_list[i];
	set_length(sqe, uroce_sge_bytes(sg_list, (int)num_sge));
}

static void
wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void
wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf, const struct ibv_data_buf *bufs)
{
	struct uroce_qp *qp = uroce_qp_of(&ex->qp_base);
	struct uroce_sqe *sqe = qp->wr.sqe;
	uint8_t *to;
	size_t bytes = 0;

	if (unlikely(sqe == NULL))
		return;
	if (unlikely(qp->wr.needs & (NO_INLINE | NO_DATA))) {
		fail(&qp->wr, EINVAL);
		return;
	}
	to = (uint8_t *)sqe->sge;
	for (size_t i = 0; i < num_buf; i++) {
		if (unlikely(bufs[i].length > qp->sq.max_inline - bytes)) {
			fail(&qp->wr, EINVAL);
			return;
		}
		if (bufs[i].length != 0)
			memcpy(to + bytes, bufs[i].addr, bufs[i].length);
		bytes += bufs[i].length;
	}
	sqe->flags |= IBV_SEND_INLINE;
	sqe->num_sge = 0;
	sqe->length = (uint32_t)bytes;
}

static void
wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

static void
wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct uroce_qp *qp = uroce_qp_of(&ex->qp_base);
	struct uroce_wr *wr = &qp->wr;

	if (unlikely(wr->sqe == NULL))
		return;
	/* once for each WQE, because it takes a reference to the handle */
	if (unlikely((wr->needs & NEEDS_ADDRESS) == 0 || ah == NULL || remote_qpn > UROCE_QPN_MASK)) {
		fail(wr, EINVAL);
		return;
	}
	wr->needs &= (uint8_t)~NEEDS_ADDRESS;
	uroce_post_ud(qp, wr->sqe, ah, remote_qpn, remote_qkey);
}

static void
wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct uroce_wr *wr = &uroce_qp_of(&ex->qp_base)->wr;

	if (unlikely(wr->sqe == NULL))
		return;
	if (unlikely((wr->needs & NO_DATA) || remote_srqn > UROCE_QPN_MASK)) {
		fail(wr, EINVAL);
		return;
	}
	wr->needs &= (uint8_t)~NEEDS_SRQN;
	wr->sqe->remote_srqn = remote_srqn;
}

/* ---- begin and end ---- */

void
uroce_wr_start(struct ibv_qp_ex *ex)
{
	struct uroce_qp *qp = uroce_qp_of(&ex->qp_base);

	uroce_wq_lock(&qp->sq);
	qp->wr.tail = qp->sq.tail;
	qp->wr.sqe = NULL;
	qp->wr.binds = false;
	qp->wr.error = __atomic_load_n(&qp->state, __ATOMIC_RELAXED) < IBV_QPS_RTS ? EINVAL : 0;
}

/* Drop the address handles of the WQEs since wr_start. */
static void
take_back(struct uroce_qp *qp)
{
	if (qp->transport != UROCE_TRANSPORT_UD)
		return;
	for (uint32_t i = qp->sq.tail; i != qp->wr.tail; i++) {
		struct uroce_sqe *sqe = uroce_sqe_at(&qp->sq, i);

		if (sqe->ud.ah != NULL)
			uroce_ah_put(sqe->ud.ah);
	}
}

static void
wr_abort(struct ibv_qp_ex *ex)
{
	struct uroce_qp *qp = uroce_qp_of(&ex->qp_base);

	take_back(qp);
	uroce_wq_unlock(&qp->sq);
}

static void
set_rkeys(struct uroce_qp *qp)
{
	for (uint32_t i = qp->sq.tail; i != qp->wr.tail; i++) {
		const struct uroce_sqe *sqe = uroce_sqe_at(&qp->sq, i);

		if (sqe->opcode == IBV_WR_BIND_MW)
			((struct ibv_mw *)(uintptr_t)sqe->bind.mw)->rkey = sqe->rkey;
	}
}

static int
wr_complete(struct ibv_qp_ex *ex)
{
	struct uroce_qp *qp = uroce_qp_of(&ex->qp_base);
	bool posted = qp->wr.tail != qp->sq.tail;
	int error;

	finish_sqe(&qp->wr);
	error = qp->wr.error;
	if (unlikely(error != 0)) {
		wr_abort(ex);
		return error;
	}
	if (unlikely(qp->wr.binds))
		set_rkeys(qp);
	/* pairs with the worker's acquire: it sees whole entries */
	__atomic_store_n(&qp->sq.tail, qp->wr.tail, __ATOMIC_RELEASE);
	uroce_wq_unlock(&qp->sq);
	if (likely(posted))
		qp->dev->ops.worker->doorbell(qp);
	return 0;
}

/* ---- set-up of a QP ---- */

static const struct {
	uint64_t flag;
	enum ibv_wr_opcode opcode;
} ops[] = {
	{ IBV_QP_EX_WITH_RDMA_WRITE, IBV_WR_RDMA_WRITE },
	{ IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM },
	{ IBV_QP_EX_WITH_SEND, IBV_WR_SEND },
	{ IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM },
	{ IBV_QP_EX_WITH_RDMA_READ, IBV_WR_RDMA_READ },
	{ IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP },
	{ IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ IBV_QP_EX_WITH_LOCAL_INV, IBV_WR_LOCAL_INV },
	{ IBV_QP_EX_WITH_BIND_MW, IBV_WR_BIND_MW },
	{ IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WR_SEND_WITH_INV },
	{ IBV_QP_EX_WITH_ATOMIC_WRITE, IBV_WR_ATOMIC_WRITE },
	{ IBV_QP_EX_WITH_FLUSH, IBV_WR_FLUSH },
};

int
uroce_wr_check(enum ibv_qp_type type, uint64_t send_ops)
{
	uint64_t known = 0;

	for (unsigned int i = 0; i < RTE_DIM(ops); i++)
		if (uroce_post_knows(uroce_qp_transport(type), ops[i].opcode))
			known |= ops[i].flag;
	return (send_ops & ~known) == 0 ? 0 : EOPNOTSUPP;
}

static void
init_ops(struct ibv_qp_ex *ex, uint64_t send_ops)
{
	if (send_ops & IBV_QP_EX_WITH_RDMA_WRITE)
		ex->wr_rdma_write = wr_rdma_write;
	if (send_ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ex->wr_rdma_write_imm = wr_rdma_write_imm;
	if (send_ops & IBV_QP_EX_WITH_SEND)
		ex->wr_send = wr_send;
	if (send_ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ex->wr_send_imm = wr_send_imm;
	if (send_ops & IBV_QP_EX_WITH_RDMA_READ)
		ex->wr_rdma_read = wr_rdma_read;
	if (send_ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if (send_ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	if (send_ops & IBV_QP_EX_WITH_LOCAL_INV)
		ex->wr_local_inv = wr_local_inv;
	if (send_ops & IBV_QP_EX_WITH_BIND_MW)
		ex->wr_bind_mw = wr_bind_mw;
	if (send_ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		ex->wr_send_inv = wr_send_inv;
	if (send_ops & IBV_QP_EX_WITH_ATOMIC_WRITE)
		ex->wr_atomic_write = wr_atomic_write;
	if (send_ops & IBV_QP_EX_WITH_FLUSH)
		init_flush(ex);
}

void
uroce_wr_init(struct uroce_qp *qp, uint64_t send_ops)
{
	struct ibv_qp_ex *ex = &qp->ex;

	init_ops(ex, send_ops);
	ex->wr_start = uroce_wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	if (qp->transport == UROCE_TRANSPORT_UD)
		ex->wr_set_ud_addr = wr_set_ud_addr;
	if (qp->transport == UROCE_TRANSPORT_XRC)
		ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
}

struct ibv_qp_ex *
uroce_qp_to_qp_ex(struct ibv_qp *ibv)
{
	struct uroce_qp *qp = uroce_qp_of(ibv);

	return qp->ex.wr_start != NULL ? &qp->ex : NULL;
}
