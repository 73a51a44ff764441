/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Measures the round trip to a QP's peer, on one packet at a time, and derives the probe timer from it. A retransmitted
 * packet is never measured, because its answer may be to either transmission (Karn's algorithm). For the same reason
 * the probe backoff ends only when a round trip has been measured. On the engine's thread.
 */

#include "transport/requester/requester.h"
#include "uroce_config.h"

void
uroce_rtt_reset(struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	req->rtt_timed = false;
	req->srtt_ns = req->rttvar_ns = 0;
	req->probes = 0;
	req->probe_ns = qp->dev->go_back_n ? 0 : UROCE_PROBE_INITIAL_NS;
}

/* As RFC 6298, 2.2 and 2.3, but the probe delay has one more round trip, because the peer may acknowledge in
 * batches. */
void
uroce_rtt_measured(struct uroce_engine *e, struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);
	uint64_t rtt_ns = RTE_MIN(e->now_ns - req->rtt_sent_ns, (uint64_t)UINT32_MAX / 8);
	uint32_t rtt = RTE_MAX((uint32_t)rtt_ns, 1u);

	req->rtt_timed = false;
	req->probes = 0;
	if (req->probe_ns == 0)
		return;
	if (req->srtt_ns == 0) {
		req->srtt_ns = rtt;
		req->rttvar_ns = rtt / 2;
	} else {
		uint32_t off = rtt > req->srtt_ns ? rtt - req->srtt_ns : req->srtt_ns - rtt;

		req->rttvar_ns += (int32_t)(off - req->rttvar_ns) / 4;
		req->srtt_ns += (int32_t)(rtt - req->srtt_ns) / 8;
	}
	uroce_window_measured(qp, rtt);
	req->probe_ns = (uint32_t)RTE_MIN(RTE_MAX(2ull * req->srtt_ns + 4ull * req->rttvar_ns, UROCE_PROBE_MIN_NS),
					  (uint64_t)UINT32_MAX);
	/* a slow peer is not a loss */
	req->probe_ns = RTE_MAX(req->probe_ns, uroce_peer_silence(e, qp));
}
