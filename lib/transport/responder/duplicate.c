/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Answers duplicates of executed requests (R26-R28): acknowledges SENDs and WRITEs, and replays READs and atomics from
 * the responder's ring. On the engine's thread.
 */

#include "transport/qp/turns.h"
#include "transport/responder/responder.h"
#include "uroce_config.h"

/* @return the latest entry of the ring with this PSN; after a wrap of the PSNs an older entry may have the same PSN */
static struct uroce_rd_atomic *
find_resource(struct uroce_responder *resp, uint32_t psn, uint32_t *index)
{
	if (resp->resources == NULL)
		return NULL;
	for (uint32_t i = resp->resource_tail - 1; i != resp->resource_tail - resp->resource_mask - 2; i--) {
		struct uroce_rd_atomic *r = &resp->resources[i & resp->resource_mask];

		if (r->op != UROCE_OP_NONE && uroce_psn_distance(psn, r->first_psn) < r->psn_count) {
			*index = i;
			return r;
		}
	}
	return NULL;
}

/* Replay a part of a READ while some of the READ's responses have not been sent yet. The replayed responses leave
 * first, then the responder continues where it was. */
static void
replay_within(struct uroce_rd_atomic *r, uint32_t start, uint32_t count)
{
	const uint32_t room = 64;
	uint32_t base = r->again == 0 ? start : RTE_MIN(start, r->again_base);
	uint32_t end = start + count;

	/* the part has not been sent yet. If it is all the rest, the peer has received the responses before it: skip
	 * them */
	if (start >= r->next && end <= r->end) {
		if (end == r->end)
			r->start = r->next = start;
		return;
	}
	if (r->again != 0)
		end = RTE_MAX(end, r->again_base + room - (uint32_t)__builtin_clzll(r->again));
	if (end - base > room) {	/* no room in the bitmap: send all responses from the first to the last */
		r->start = r->next = RTE_MIN(base, r->next);
		r->end = RTE_MAX(end, r->end);
		r->again = 0;
		return;
	}
	if (r->again != 0)
		r->again <<= r->again_base - base;
	r->again |= ~0ull >> (room - count) << (start - base);
	r->again_base = base;
	r->again_goes_on = false;
}

/* R27: replay a part of the original READ, with the same rkey, from the PSN of the duplicate on. @return false: the
 * request is not a part of the original */
static bool
replay_read(struct uroce_qp *qp, struct uroce_rd_atomic *r, const struct uroce_packet *p)
{
	const struct uroce_reth *reth = uroce_packet_ext(p, UROCE_EXT_RETH);
	uint32_t start = uroce_psn_distance(p->psn, r->first_psn);
	uint32_t skipped = start * qp->mtu_bytes;
	uint32_t length = rte_be_to_cpu_32(reth->dma_len);
	uint32_t count = uroce_message_packets(qp, length);

	if (rte_be_to_cpu_32(reth->rkey) != r->rkey || rte_be_to_cpu_64(reth->va) != r->addr + skipped ||
	    length > r->length - skipped)
		return false;
	/* a part that ends before the original ends consists of whole packets */
	if (length != r->length - skipped && (length & (qp->mtu_bytes - 1)) != 0)
		return false;
	if (r->next != r->end || r->again != 0) {
		replay_within(r, start, count);
	} else {
		r->start = r->next = start;
		r->end = start + count;
	}
	/*
	 * In IBA the responses to a duplicate READ request begin with FIRST, as to any READ. Linux's rxe sends and
	 * expects MIDDLE in the middle of the READ; some versions also accept FIRST. Hardware sends MigReq 1, rxe 0.
	 */
	r->restart = p->bth->flags & UROCE_BTH_MIGREQ;
	uroce_responder_of(qp)->read_again = true;
	r->by_reference = false;
	return true;
}

/* A duplicate of the first packet behind a gap has arrived: the peer goes back N, and will also retransmit the packets
 * of the next gap. Replace an owed NAK for that gap by an ACK, because the NAK would make the peer go back once more. */
static void
withdraw_nak(struct uroce_responder *resp)
{
	if (resp->ack_owed && resp->reorder != NULL && resp->ack_syndrome == UROCE_AETH_SEQUENCE_NAK) {
		resp->ack_syndrome = UROCE_AETH_ACK;
		uroce_nak_on(resp, UROCE_ON_WITHDRAWN);
	}
}

enum uroce_verdict
uroce_duplicate_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	struct uroce_rd_atomic *r;
	uint32_t index;

	if (p->psn == resp->gap_end && uroce_peer_on(resp, UROCE_ON_DUPLICATE))
		withdraw_nak(resp);
	if (p->info->op == UROCE_OP_SEND || p->info->op == UROCE_OP_WRITE) {	/* R26 */
		uroce_ack_owe(e, qp, NULL);
		return UROCE_DUPLICATE;
	}
	r = find_resource(resp, p->psn, &index);
	if (r == NULL || r->op != p->info->op)
		return UROCE_DROP_DUPLICATE;	/* R28: no longer in the ring */
	if (r->op == UROCE_OP_READ_REQUEST) {
		if (!replay_read(qp, r, p))
			return UROCE_DROP_DUPLICATE;
	} else {
		r->next = 0;	/* R28: send the saved result again */
	}
	if ((int32_t)(index - resp->resource_head) < 0)
		resp->resource_head = index;
	uroce_qp_activate(e, qp);
	return UROCE_DUPLICATE;
}
