/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Posts the work requests that carry no data: bind and local invalidate, for which no packet is sent, and FLUSH.
 * Called under the lock of the send queue. Any thread.
 */

#include <errno.h>

#include <rte_byteorder.h>

#include "uroce.h"
#include "uroce_config.h"
#include "mem/mw.h"
#include "verbs/qp/post.h"
#include "verbs/qp/qp.h"
#include "wire/headers.h"

/* LOCAL_WRITE means nothing to a peer, but applications pass it because the region must have it. */
#define WINDOW_ACCESS \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | \
	 IBV_ACCESS_ZERO_BASED | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)

#define KNOWN_SEND_FLAGS (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED)

static int
check_bind(const struct uroce_qp *qp, const struct ibv_send_wr *wr, enum ibv_mw_type type)
{
	const struct ibv_mw *mw = wr->bind_mw.mw;

	if (mw == NULL || mw->type != type || mw->context != qp->ibv.context)	/* o10-37.2.34, .35 */
		return EINVAL;
	return (wr->bind_mw.bind_info.mw_access_flags & ~(unsigned int)WINDOW_ACCESS) != 0 ? EINVAL : 0;
}

int
uroce_post_memory_check(const struct uroce_qp *qp, const struct ibv_send_wr *wr, enum ibv_mw_type type)
{
	if ((wr->send_flags & ~(unsigned int)KNOWN_SEND_FLAGS) != 0)
		return EINVAL;
	return wr->opcode == IBV_WR_BIND_MW ? check_bind(qp, wr, type) : 0;
}

static void
write_bind(struct uroce_sqe *sqe, const struct ibv_send_wr *wr)
{
	const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;
	struct uroce_mw *mw = (struct uroce_mw *)wr->bind_mw.mw;

	sqe->bind.addr = info->addr;
	sqe->bind.length = info->length;
	sqe->bind.mw = mw;
	sqe->bind_access = info->mw_access_flags;
	sqe->bind_lkey = info->mr != NULL ? info->mr->lkey : 0;
	sqe->rkey = uroce_mw_next_rkey(mw, wr->bind_mw.rkey);
	mw->ibv.rkey = sqe->rkey;
}

/* uroce_send_wr_flush() documents the fields. */
static void
write_flush(struct uroce_sqe *sqe, const struct ibv_send_wr *wr)
{
	const uint64_t bytes = wr->wr.atomic.compare_add;

	sqe->remote_addr = wr->wr.atomic.remote_addr;
	sqe->rkey = wr->wr.atomic.rkey;
	sqe->imm = rte_cpu_to_be_32((uint32_t)wr->wr.atomic.swap);
	sqe->length = RTE_MIN(bytes, (uint64_t)UINT32_MAX);
	if (bytes > UROCE_MAX_MSG_BYTES)
		sqe->posted_status = IBV_WC_LOC_LEN_ERR;
}

void
uroce_post_memory_write(const struct uroce_qp *qp, struct uroce_sqe *sqe, const struct ibv_send_wr *wr)
{
	unsigned int flags = wr->send_flags & ~(unsigned int)IBV_SEND_SOLICITED;

	if (qp->sq_sig_all)
		flags |= IBV_SEND_SIGNALED;
	*sqe = (struct uroce_sqe){
		.wr_id = wr->wr_id,
		.opcode = (uint8_t)wr->opcode,
		.flags = (uint8_t)flags,
		.posted_status = IBV_WC_SUCCESS,
	};
	if (wr->opcode == IBV_WR_BIND_MW)
		write_bind(sqe, wr);
	else if (wr->opcode == IBV_WR_LOCAL_INV)
		sqe->rkey = wr->invalidate_rkey;
	else
		write_flush(sqe, wr);
}
