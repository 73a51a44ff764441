/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Selective acknowledgements at the requester: sends ASKs, checks SACKs, and enters their runs into the recovery
 * record. A SACK is valid only if all packets that it reports were sent. On the engine's thread.
 */

#include "transport/packet/packet.h"
#include "transport/requester/requester.h"
#include "uroce_config.h"
#include "wire/sack.h"

int
uroce_sack_ask(struct uroce_engine *e, struct uroce_qp *qp, struct rte_mbuf **out)
{
	const struct uroce_packet_desc d = {
		.path = &qp->path,
		.bth = UROCE_BTH_TO_PEER(qp, UROCE_RC_ASK, uroce_requester_of(qp)->max_psn, UROCE_BTH_MARK),
	};
	int ret = uroce_packet_build(e, qp, &d, out);

	if (likely(ret == 0))
		uroce_count(e, UROCE_SENT_ASKS, 1);
	return ret;
}

/* Are the runs ascending, each behind a gap, and do they contain only packets that were sent and are in the window? */
static bool
runs_are_valid(const struct uroce_qp *qp, const struct uroce_sack *sack, int runs, uint32_t sent)
{
	uint32_t end = 0;

	for (int i = 0; i < runs; i++) {
		uint32_t offset = rte_be_to_cpu_16(sack->runs[i].offset);
		uint32_t count = rte_be_to_cpu_16(sack->runs[i].count);

		if (offset <= end || count == 0)
			return false;
		end = offset + count;
		if (end > sent || end > uroce_reorder_window(qp->dev))
			return false;
	}
	return true;
}

static void
take_runs(struct uroce_engine *e, struct uroce_qp *qp, uint32_t psn, const struct uroce_sack *sack, int runs)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	for (int i = 0; i < runs; i++) {
		uint32_t first = uroce_psn_add(psn, rte_be_to_cpu_16(sack->runs[i].offset));
		uint32_t count = rte_be_to_cpu_16(sack->runs[i].count);

		if (req->rtt_timed && uroce_psn_distance(req->rtt_psn, first) < count)
			uroce_rtt_measured(e, qp);
		uroce_recovery_sacked(qp, first, count);
	}
}

enum uroce_verdict
uroce_sack_check(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p, struct uroce_sack *sack,
		 uint32_t *asked)
{
	const struct uroce_aeth *aeth = uroce_packet_ext(p, UROCE_EXT_AETH);
	struct uroce_requester *req = uroce_requester_of(qp);
	uint32_t outstanding = uroce_psn_distance(req->max_psn, req->unacked);
	uint32_t ahead = uroce_psn_distance(p->psn, req->unacked);
	int runs = uroce_sack_runs(p->payload_bytes);

	if (runs < 0 || (aeth->syndrome & UROCE_AETH_CLASS_MASK) != UROCE_AETH_ACK)
		return UROCE_DROP_SACK;
	if (ahead > outstanding)	/* a late SACK, or a forged one */
		return uroce_psn_diff(p->psn, req->unacked) < 0 ? UROCE_DROP_ACK_UNEXPECTED : UROCE_DROP_SACK;
	uroce_packet_copy(p, 0, sack, p->payload_bytes);
	*asked = uroce_get24(sack->asked);
	if (!runs_are_valid(qp, sack, runs, outstanding - ahead))
		return UROCE_DROP_SACK;
	if (uroce_psn_distance(*asked, req->unacked) > outstanding) {
		if (uroce_psn_diff(*asked, req->unacked) > 0)
			return UROCE_DROP_SACK;
		*asked = p->psn;
	}
	uroce_count(e, UROCE_SACKS_RECEIVED, 1);
	uroce_qp_history_count(&qp->history, UROCE_QP_SACKS_RECEIVED, 1);
	uroce_trace_sack_received(qp->dev->index, qp->ibv.qp_num, p->psn);
	return UROCE_OK;
}

void
uroce_sack_apply(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p,
		 const struct uroce_sack *sack, uint32_t asked)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	req->peer = UROCE_PEER_SACKS;
	req->marked = true;
	req->doubts = 0;
	req->recovery->probe_state = UROCE_PROBE_NONE;
	take_runs(e, qp, p->psn, sack, uroce_sack_runs(p->payload_bytes));
	uroce_recovery_asked(qp, asked);
}
