/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Receives messages on unreliable connections. After a packet that is out of sequence or refused, the rest of its
 * message is dropped (R13, R15). The next FIRST or ONLY begins a new message, with any PSN, and uses the receive WQE of
 * the dropped message. On the engine's thread.
 */

#include <rte_branch_prediction.h>

#include "transport/packet/packet.h"
#include "transport/unreliable/unreliable.h"

/* Complete the receive WQE of a message whose last packet has arrived. */
static void
complete(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS, .opcode = opcode, .byte_len = uroce_responder_of(qp)->offset };

	uroce_recv_immediate(p, &wc);
	uroce_qp_complete_recv(e, qp, &wc, p->solicited);
}

static enum uroce_verdict
receive_send(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	const struct uroce_rqe *rqe = uroce_recv_take(qp);
	struct uroce_responder *resp = uroce_responder_of(qp);
	struct uroce_slice slice;

	if (rqe == NULL)
		return UROCE_DROP_NO_RECV;
	if (!uroce_payload_fits(qp, p) || p->payload_bytes > rqe->length - resp->offset)
		return UROCE_DROP_PAYLOAD;
	slice = (struct uroce_slice){
		.sge = rqe->sge, .num_sge = rqe->num_sge, .offset = resp->offset,
		.length = p->payload_bytes, .access = IBV_ACCESS_LOCAL_WRITE,
		.pd = uroce_recv_pd(qp),
	};
	if (slice.length > 0 && unlikely(uroce_slice_scatter(qp, &slice, p) != 0)) {
		uroce_qp_fail_recv(e, qp, IBV_WC_LOC_PROT_ERR);
		return UROCE_DROP_LOCAL_PROTECTION;
	}
	resp->offset += p->payload_bytes;
	if (p->info->flags & UROCE_OPF_LAST)
		complete(e, qp, p, IBV_WC_RECV);
	return UROCE_OK;
}

/* Drop a request with a wrong key. UC has no NAK, which would fail the QP of a peer that guesses keys: so this QP fails
 * after UROCE_UC_MAX_WRONG_KEYS wrong keys. */
static enum uroce_verdict
wrong_key(struct uroce_engine *e, struct uroce_qp *qp)
{
	if (++uroce_responder_of(qp)->wrong_keys < UROCE_UC_MAX_WRONG_KEYS)
		return UROCE_DROP_ACCESS;
	uroce_qp_history_failed(&qp->history, UROCE_CAUSE_REFUSED, IBV_WC_SUCCESS, UROCE_DROP_ACCESS, e->now_ns);
	uroce_qp_fail(e, qp, IBV_EVENT_QP_ACCESS_ERR);
	return UROCE_DROP_ACCESS;
}

static enum uroce_verdict
receive_write(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	const struct uroce_mr_key *key;

	if (p->info->flags & UROCE_OPF_FIRST) {
		const struct uroce_reth *reth = uroce_packet_ext(p, UROCE_EXT_RETH);

		resp->length = rte_be_to_cpu_32(reth->dma_len);
		resp->rkey = rte_be_to_cpu_32(reth->rkey);
		resp->addr = rte_be_to_cpu_64(reth->va);
		uroce_count(e, UROCE_RX_WRITE_REQUESTS, 1);
	}
	if (!(qp->access & IBV_ACCESS_REMOTE_WRITE))
		return UROCE_DROP_ACCESS;
	if ((p->info->flags & UROCE_OPF_RECV) && uroce_recv_take(qp) == NULL)
		return UROCE_DROP_NO_RECV;
	if (!uroce_payload_fits(qp, p) || !uroce_dma_length_fits(resp, p))
		return UROCE_DROP_PAYLOAD;
	if (resp->length > 0) {		/* R18, R20; R19: no check for length 0 */
		key = uroce_key_lookup(&qp->dev->mrs, resp->rkey, qp->sq.pd, &qp->windows, resp->addr,
				       resp->length, IBV_ACCESS_REMOTE_WRITE);
		if (unlikely(key == NULL))
			return wrong_key(e, qp);
		uroce_packet_copy(p, 0, uroce_mr_va(key, resp->addr) + resp->offset, p->payload_bytes);
	}
	resp->offset += p->payload_bytes;
	if (p->info->flags & UROCE_OPF_RECV)
		complete(e, qp, p, IBV_WC_RECV_RDMA_WITH_IMM);
	return UROCE_OK;
}

/* R13. A FIRST or ONLY ends an unfinished message; any other packet must follow its predecessor without a gap. */
static bool
in_sequence(struct uroce_responder *resp, const struct uroce_packet *p)
{
	if (p->info->flags & UROCE_OPF_FIRST) {
		resp->offset = 0;
		return true;
	}
	return p->psn == resp->psn && p->info->op == resp->message_op;
}

enum uroce_verdict
uroce_uc_receive(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p)
{
	struct uroce_responder *resp = uroce_responder_of(qp);
	enum uroce_verdict verdict = UROCE_DROP_SEQUENCE;

	if (unlikely(!uroce_is_receiving(qp)))
		return UROCE_DROP_QP_STATE;
	if (unlikely(qp->state == IBV_QPS_RTR))
		uroce_qp_established(qp);
	if (likely(in_sequence(resp, p)))
		verdict = p->info->op == UROCE_OP_SEND ? receive_send(e, qp, p) : receive_write(e, qp, p);
	if (unlikely(!uroce_is_receiving(qp)))
		return verdict;		/* the QP has failed */
	resp->psn = uroce_psn_add(p->psn, 1);
	resp->message_op = verdict == UROCE_OK && !(p->info->flags & UROCE_OPF_LAST) ? p->info->op
										      : UROCE_OP_NONE;
	if (verdict == UROCE_OK)
		uroce_count(e, UROCE_RECEIVED_BYTES, p->payload_bytes);
	return verdict;
}
