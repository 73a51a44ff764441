/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_post_send(3): checks and copies send work requests into a QP's ring, publishes a list with one store, and
 * rings the doorbell once. Any thread; no system call, no allocation. The QP's worker takes them from there.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_common.h>

#include "uroce.h"
#include "uroce_config.h"
#include "mem/pd.h"
#include "verbs/address/ah.h"
#include "verbs/device/device.h"
#include "verbs/qp/post.h"
#include "verbs/qp/qp.h"
#include "wire/headers.h"
#include "wire/opcode.h"

/* Properties of a work request, which depend on its opcode and on the transport of the QP. */
enum {
	POST_OK = 1 << 0,		/* it can be posted */
	POST_RDMA = 1 << 1,		/* it uses wr.rdma */
	POST_ATOMIC = 1 << 2,		/* it uses wr.atomic */
	POST_IMM = 1 << 3,
	POST_INLINE = 1 << 4,		/* its data may be inline */
	POST_SOLICITED = 1 << 5,	/* it consumes a receive WQE, whose completion may be solicited */
	POST_UD = 1 << 6,		/* it uses wr.ud */
	POST_8 = 1 << 7,		/* it has exactly 8 bytes of data */
	POST_MEMORY = 1 << 8,		/* it has no data: post_memory.c */
	POST_XRC = 1 << 9,		/* it uses qp_type.xrc */
};

#define OPCODES (IBV_WR_ATOMIC_WRITE + 1)
#define TRANSPORTS (UROCE_TRANSPORT_XRC + 1)
#define SEND (POST_OK | POST_INLINE | POST_SOLICITED)
#define WRITE (POST_OK | POST_RDMA | POST_INLINE)

static const uint16_t opcodes[TRANSPORTS][OPCODES] = {
	[UROCE_TRANSPORT_RC] = {
		[IBV_WR_RDMA_WRITE] = WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = WRITE | POST_IMM | POST_SOLICITED,
		[IBV_WR_SEND] = SEND,
		[IBV_WR_SEND_WITH_IMM] = SEND | POST_IMM,
		[IBV_WR_RDMA_READ] = POST_OK | POST_RDMA,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = POST_OK | POST_ATOMIC | POST_8,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = POST_OK | POST_ATOMIC | POST_8,
		[IBV_WR_LOCAL_INV] = POST_OK | POST_MEMORY,
		[IBV_WR_BIND_MW] = POST_OK | POST_MEMORY,
		[IBV_WR_SEND_WITH_INV] = SEND | POST_IMM,	/* the rkey takes the place of immediate data */
		[IBV_WR_FLUSH] = POST_OK | POST_MEMORY,
		[IBV_WR_ATOMIC_WRITE] = WRITE | POST_8,
	},
	[UROCE_TRANSPORT_UC] = {
		[IBV_WR_RDMA_WRITE] = WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = WRITE | POST_IMM | POST_SOLICITED,
		[IBV_WR_SEND] = SEND,
		[IBV_WR_SEND_WITH_IMM] = SEND | POST_IMM,
		[IBV_WR_LOCAL_INV] = POST_OK | POST_MEMORY,
		[IBV_WR_BIND_MW] = POST_OK | POST_MEMORY,
	},
	[UROCE_TRANSPORT_UD] = {
		[IBV_WR_SEND] = SEND | POST_UD,
		[IBV_WR_SEND_WITH_IMM] = SEND | POST_UD | POST_IMM,
	},
	[UROCE_TRANSPORT_XRC] = {
		[IBV_WR_RDMA_WRITE] = WRITE | POST_XRC,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = WRITE | POST_XRC | POST_IMM | POST_SOLICITED,
		[IBV_WR_SEND] = SEND | POST_XRC,
		[IBV_WR_SEND_WITH_IMM] = SEND | POST_XRC | POST_IMM,
		[IBV_WR_RDMA_READ] = POST_OK | POST_RDMA | POST_XRC,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = POST_OK | POST_ATOMIC | POST_8 | POST_XRC,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = POST_OK | POST_ATOMIC | POST_8 | POST_XRC,
		[IBV_WR_LOCAL_INV] = POST_OK | POST_MEMORY,
		[IBV_WR_BIND_MW] = POST_OK | POST_MEMORY,
		[IBV_WR_SEND_WITH_INV] = SEND | POST_XRC | POST_IMM,
	},
};

#define ATOMIC_BYTES 8
#define KNOWN_SEND_FLAGS \
	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE)

static uint16_t
opcode_traits(const struct uroce_qp *qp, const struct ibv_send_wr *wr)
{
	return (unsigned int)wr->opcode < OPCODES ? opcodes[qp->transport][wr->opcode] : 0;
}

bool
uroce_post_knows(uint8_t transport, enum ibv_wr_opcode opcode)
{
	return (unsigned int)opcode < OPCODES && opcodes[transport][opcode] != 0;
}

static int
check_send(const struct uroce_wq *sq, const struct ibv_send_wr *wr, uint16_t traits, uint64_t bytes)
{
	if (unlikely(traits == 0 || (wr->send_flags & ~KNOWN_SEND_FLAGS) != 0))
		return EINVAL;
	if (wr->send_flags & IBV_SEND_INLINE) {
		if ((traits & POST_INLINE) == 0 || bytes > sq->max_inline)
			return EINVAL;
	}
	if (traits & POST_UD) {
		if (wr->wr.ud.ah == NULL || wr->wr.ud.remote_qpn > UROCE_QPN_MASK)
			return EINVAL;
	}
	if (unlikely(traits & POST_8)) {
		/* the result of an atomic goes to one entry */
		if (bytes != ATOMIC_BYTES || ((traits & POST_ATOMIC) && wr->num_sge != 1))
			return EINVAL;
	}
	if (unlikely((traits & POST_XRC) && wr->qp_type.xrc.remote_srqn > UROCE_QPN_MASK))
		return EINVAL;
	return 0;
}

static void
write_data(struct uroce_sqe *sqe, const struct ibv_send_wr *wr)
{
	uint8_t *to = (uint8_t *)sqe->sge;

	if ((wr->send_flags & IBV_SEND_INLINE) == 0) {
		sqe->num_sge = wr->num_sge;
		for (int i = 0; i < wr->num_sge; i++)
			sqe->sge[i] = wr->sg_list[i];
		return;
	}
	sqe->num_sge = 0;
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (sge->length == 0)
			continue;
		memcpy(to, (const void *)(uintptr_t)sge->addr, sge->length);
		to += sge->length;
	}
}

void
uroce_post_ud(const struct uroce_qp *qp, struct uroce_sqe *sqe, struct ibv_ah *ibv_ah, uint32_t remote_qpn,
	      uint32_t remote_qkey)
{
	struct uroce_ah *ah = uroce_ah_of(ibv_ah);

	uroce_ah_get(ah);
	sqe->ud.ah = ah;
	sqe->ud.remote_qpn = remote_qpn;
	sqe->ud.qkey = remote_qkey;
	if (unlikely(ah->ibv.pd != qp->ibv.pd && !uroce_pd_same(ah->ibv.pd, qp->ibv.pd)))
		sqe->posted_status = IBV_WC_LOC_QP_OP_ERR;
}

static void
write_sqe(const struct uroce_qp *qp, struct uroce_sqe *sqe, const struct ibv_send_wr *wr,
	  uint16_t traits, uint64_t bytes)
{
	unsigned int flags = wr->send_flags;

	if (qp->sq_sig_all)
		flags |= IBV_SEND_SIGNALED;
	if ((traits & POST_SOLICITED) == 0)
		flags &= ~IBV_SEND_SOLICITED;
	*sqe = (struct uroce_sqe){
		.wr_id = wr->wr_id,
		.imm = traits & POST_IMM ? wr->imm_data : 0,
		.length = RTE_MIN(bytes, (uint64_t)UINT32_MAX),
		.opcode = wr->opcode,
		.flags = flags,
		/* R42: a message that is too long is queued, and completes in error in its turn */
		.posted_status = bytes > UROCE_MAX_MSG_BYTES ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS,
	};
	if (traits & POST_RDMA) {
		sqe->remote_addr = wr->wr.rdma.remote_addr;
		sqe->rkey = wr->wr.rdma.rkey;
	} else if (traits & POST_ATOMIC) {
		sqe->remote_addr = wr->wr.atomic.remote_addr;
		sqe->rkey = wr->wr.atomic.rkey;
		sqe->compare_add = wr->wr.atomic.compare_add;
		sqe->swap = wr->wr.atomic.swap;
	} else if (traits & POST_UD) {
		uroce_post_ud(qp, sqe, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	}
	if (unlikely(wr->opcode == IBV_WR_SEND_WITH_INV))
		sqe->imm = rte_cpu_to_be_32(wr->invalidate_rkey);
	if (unlikely(traits & POST_XRC))
		sqe->remote_srqn = wr->qp_type.xrc.remote_srqn;
	write_data(sqe, wr);
}

static int
post_memory(struct uroce_qp *qp, uint32_t tail, const struct ibv_send_wr *wr)
{
	int ret = uroce_post_memory_check(qp, wr, IBV_MW_TYPE_2);

	if (ret != 0)
		return ret;
	if (!uroce_wq_has_room(&qp->sq, tail))
		return ENOMEM;
	uroce_post_memory_write(qp, uroce_sqe_at(&qp->sq, tail), wr);
	return 0;
}

static int
post_one_send(struct uroce_qp *qp, uint32_t tail, const struct ibv_send_wr *wr)
{
	uint16_t traits = opcode_traits(qp, wr);
	uint64_t bytes;
	int ret;

	if (unlikely(traits & POST_MEMORY))
		return post_memory(qp, tail, wr);
	if (unlikely(wr->num_sge < 0 || wr->num_sge > qp->sq.max_sge))
		return EINVAL;
	bytes = uroce_sge_bytes(wr->sg_list, wr->num_sge);
	ret = check_send(&qp->sq, wr, traits, bytes);
	if (unlikely(ret != 0))
		return ret;
	if (unlikely(!uroce_wq_has_room(&qp->sq, tail)))
		return ENOMEM;
	write_sqe(qp, uroce_sqe_at(&qp->sq, tail), wr, traits, bytes);
	return 0;
}

/* Overlap the cache misses of a QP that has not been used for long. Without these prefetches they would come one after
 * the other, because the lock orders the accesses before and after it. */
static inline void
prefetch(const struct uroce_qp *qp)
{
	rte_prefetch0(&qp->sq);
	rte_prefetch0(&qp->dev);
}

int
uroce_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct uroce_qp *qp = uroce_qp_of(ibv);
	struct uroce_wq *sq = &qp->sq;
	bool posted;
	uint32_t tail;
	int ret = 0;

	prefetch(qp);
	uroce_wq_lock(sq);
	if (unlikely(__atomic_load_n(&qp->state, __ATOMIC_RELAXED) < IBV_QPS_RTS)) {
		uroce_wq_unlock(sq);
		*bad_wr = wr;
		return EINVAL;
	}
	for (tail = sq->tail; wr != NULL; wr = wr->next, tail++) {
		ret = post_one_send(qp, tail, wr);
		if (unlikely(ret != 0)) {
			*bad_wr = wr;
			break;
		}
	}
	posted = tail != sq->tail;
	/* pairs with the worker's acquire: it sees whole entries */
	__atomic_store_n(&sq->tail, tail, __ATOMIC_RELEASE);
	uroce_wq_unlock(sq);
	if (likely(posted))
		qp->dev->ops.worker->doorbell(qp);
	return ret;
}
