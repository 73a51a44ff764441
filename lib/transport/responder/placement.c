/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Executes FLUSH and ATOMIC_WRITE, the memory placement extensions (IBA annex A19). The response to both is a READ
 * response without payload. The responder keeps both for duplicates, like READs and atomics. It executes a FLUSH when
 * the response is due, and a long FLUSH in pieces. On the engine's thread.
 */

#include <errno.h>
#include <string.h>

#include <rte_atomic.h>

#include "mem/persistent.h"
#include "transport/packet/packet.h"
#include "transport/responder/responder.h"
#include "uroce_config.h"
#include "uroce_verbs.h"

#define FETH_TYPE_MASK 0xfu
#define FETH_LEVEL_SHIFT 4
#define FETH_LEVEL_MASK 0x3u
#define ATOMIC_WRITE_BYTES 8

static uint32_t
feth_type(uint32_t feth)
{
	return feth & FETH_TYPE_MASK;
}

static uint32_t
feth_level(uint32_t feth)
{
	return feth >> FETH_LEVEL_SHIFT & FETH_LEVEL_MASK;
}

/* @return the rights that the QP and the key need for a type of FLUSH */
static uint32_t
flush_access(uint32_t type)
{
	return (type & IBV_FLUSH_GLOBAL ? IBV_ACCESS_FLUSH_GLOBAL : 0) |
	       (type & IBV_FLUSH_PERSISTENT ? IBV_ACCESS_FLUSH_PERSISTENT : 0);
}

/* Look up the key of a FLUSH. R19: also if the length is 0. */
static const struct uroce_mr_key *
flush_lookup(const struct uroce_qp *qp, uint32_t feth, uint32_t rkey, uint64_t addr, uint32_t length)
{
	const uint32_t access = flush_access(feth_type(feth));

	if (feth_level(feth) == IBV_FLUSH_MR)
		return uroce_key_lookup_whole(&qp->dev->mrs, rkey, qp->sq.pd, &qp->windows, access);
	return uroce_key_lookup(&qp->dev->mrs, rkey, qp->sq.pd, &qp->windows, addr, length, access);
}

enum uroce_verdict
uroce_flush_receive(struct uroce_qp *qp, const struct uroce_packet *p)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	const struct uroce_reth *reth = uroce_packet_ext(p, UROCE_EXT_RETH);
	const struct uroce_feth *header = uroce_packet_ext(p, UROCE_EXT_FETH);
	uint32_t feth = rte_be_to_cpu_32(header->bits);
	uint32_t length = rte_be_to_cpu_32(reth->dma_len);
	uint32_t rkey = rte_be_to_cpu_32(reth->rkey);
	uint64_t va = rte_be_to_cpu_64(reth->va);
	uint32_t access = flush_access(feth_type(feth));
	struct uroce_rd_atomic *r;

	if (access == 0 || feth_level(feth) > IBV_FLUSH_MR)
		return UROCE_NAK_FLUSH;	/* R25 */
	if ((qp->access & access) != access)
		return UROCE_NAK_NOT_ALLOWED;
	/* not R22, because rxe does not count FLUSHes as READs or atomics: the requester may retransmit it */
	if (uroce_rd_atomic_full(qp))
		return UROCE_NAK_FLUSH_RESOURCES;
	if (feth_level(feth) == IBV_FLUSH_RANGE && length > UROCE_MAX_MSG_BYTES)
		return UROCE_NAK_DMA_LEN;
	if (flush_lookup(qp, feth, rkey, va, length) == NULL)
		return UROCE_NAK_ACCESS;
	r = uroce_rd_atomic_add(resp);
	*r = (struct uroce_rd_atomic){
		.op = UROCE_OP_FLUSH, .addr = va, .rkey = rkey, .length = length, .feth = feth,
		.first_psn = resp->psn, .psn_count = 1, .end = 1, .msn = uroce_psn_add(resp->msn, 1),
	};
	return UROCE_OK;
}

/* @return 0; -EAGAIN: the FLUSH continues in a later turn; -EACCES: the memory is not registered any more */
static int
flush(struct uroce_engine *e, const struct uroce_qp *qp, struct uroce_rd_atomic *r)
{
	const struct uroce_mr_key *key = flush_lookup(qp, r->feth, r->rkey, r->addr, r->length);
	bool whole = feth_level(r->feth) == IBV_FLUSH_MR;
	uint64_t length, piece;

	if (key == NULL)
		return -EACCES;
	/* Make the QP's WRITEs, which this thread has placed, visible to other threads. Pairs with an acquire of a
	 * thread that reads the memory after the FLUSH. */
	rte_atomic_thread_fence(__ATOMIC_SEQ_CST);
	if ((feth_type(r->feth) & IBV_FLUSH_PERSISTENT) == 0)
		return 0;
	length = whole ? key->length : r->length;
	if (r->flushed >= length)
		return 0;
	piece = RTE_MIN(length - r->flushed, (uint64_t)UROCE_FLUSH_BYTES);
	uroce_persist(uroce_mr_va(key, (whole ? key->addr : r->addr) + r->flushed), piece);
	r->flushed += piece;
	if (r->flushed == length)
		return 0;
	e->yield = true;
	return -EAGAIN;
}

/* Execute the FLUSHes before an ATOMIC_WRITE, because it may announce that their data are persistent. @return false: a
 * FLUSH is not done yet, or has failed; its response precedes that of the ATOMIC_WRITE */
static bool
flushed_before(struct uroce_engine *e, const struct uroce_qp *qp)
{
	const struct uroce_responder *resp = uroce_responder_of(qp);
	int ret = 0;

	for (uint32_t i = resp->resource_head; i != resp->resource_tail && ret == 0; i++) {
		struct uroce_rd_atomic *r = &resp->resources[i & resp->resource_mask];

		if (r->op == UROCE_OP_FLUSH && !r->answered)
			ret = flush(e, qp, r);
	}
	e->yield = false;	/* flush() sets it to end a turn to send, and this is not a turn */
	return ret == 0;
}

enum uroce_verdict
uroce_atomic_write_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	const struct uroce_reth *reth = uroce_packet_ext(p, UROCE_EXT_RETH);
	uint64_t addr = rte_be_to_cpu_64(reth->va);
	const struct uroce_mr_key *key;
	struct uroce_rd_atomic *r;
	uint64_t value;
	uint64_t *va;

	if (uroce_rd_atomic_full(qp))	/* R22 */
		return UROCE_NAK_RD_ATOMIC;
	if (p->payload_bytes != ATOMIC_WRITE_BYTES || rte_be_to_cpu_32(reth->dma_len) != ATOMIC_WRITE_BYTES ||
	    (addr & (ATOMIC_WRITE_BYTES - 1)) != 0)
		return UROCE_NAK_ATOMIC_WRITE;	/* R24 */
	key = uroce_key_lookup(&qp->dev->mrs, rte_be_to_cpu_32(reth->rkey), qp->sq.pd, &qp->windows, addr,
			       ATOMIC_WRITE_BYTES, IBV_ACCESS_REMOTE_WRITE);
	if (key == NULL)
		return UROCE_NAK_ACCESS;
	va = (uint64_t *)uroce_mr_va(key, addr);
	/* va may be aligned differently from addr, which need not be an address of this process */
	if (((uintptr_t)va & (ATOMIC_WRITE_BYTES - 1)) != 0)
		return UROCE_NAK_ATOMIC_WRITE;
	if (!flushed_before(e, qp))
		return UROCE_NAK_FLUSH_PENDING;
	uroce_packet_copy(p, 0, &value, sizeof(value));
	/* pairs with an acquire of the reader: earlier writes are visible before this value */
	__atomic_store_n(va, value, __ATOMIC_RELEASE);
	r = uroce_rd_atomic_add(resp);
	*r = (struct uroce_rd_atomic){
		.op = UROCE_OP_ATOMIC_WRITE, .first_psn = resp->psn, .psn_count = 1, .end = 1,
		.msn = uroce_psn_add(resp->msn, 1),
	};
	return UROCE_OK;
}

int
uroce_placement_response(struct uroce_engine *e, struct uroce_qp *qp, struct uroce_rd_atomic *r,
			 struct rte_mbuf **out)
{
	const struct uroce_packet_desc d = {
		.path = &qp->path, .bth = UROCE_BTH_TO_PEER(qp, UROCE_RC_READ_RESPONSE_ONLY, r->first_psn, 0),
		.syndrome = UROCE_AETH_ACK | uroce_responder_of(qp)->credits, .msn = r->msn,
	};
	int ret = 0;

	/* a duplicate needs no second flush */
	if (r->op == UROCE_OP_FLUSH && !r->answered)
		ret = flush(e, qp, r);
	return ret == 0 ? uroce_packet_build(e, qp, &d, out) : ret;
}
