/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The requester's window: how many PSNs a QP may have in flight. It begins with UROCE_WINDOW_PACKETS and doubles, up to
 * the device's, while a whole window leaves in one round trip and this takes hardly longer than the shortest one: the
 * path holds the window then, and not a queue. On the engine's thread.
 */

#include "transport/requester/requester.h"
#include "uroce_config.h"

#define GROW_PART 4	/* grow while a round trip is longer than the shortest by at most this part */
#define FORGET_PART 1024	/* each longer round trip raises the shortest one by this part of the difference */
#define SHRINK	  2	/* shrink when the last and the smoothed round trip are longer than this times the shortest */

static uint8_t
initial(const struct uroce_qp *qp)
{
	return RTE_MIN(qp->dev->log2_window, (uint8_t)UROCE_LOG2_WINDOW);
}

void
uroce_window_reset(struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	req->log2_window = initial(qp);
	req->least_rtt_ns = 0;
}

void
uroce_window_limit(struct uroce_qp *qp)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	req->log2_window = RTE_MIN(req->log2_window, initial(qp));
}

/* A QP that goes back N, or whose peer drops out-of-order packets, would retransmit a large window after a loss. */
static bool
may_grow(const struct uroce_qp *qp)
{
	const struct uroce_requester *req = uroce_requester_of(qp);

	return req->log2_window < qp->dev->log2_window && req->peer != UROCE_PEER_PLAIN && qp->timeout != 0 &&
	       !qp->dev->go_back_n;
}

/* Have three quarters of a window left since the measured packet? Not all: ACKs come for several packets. */
static bool
is_full(const struct uroce_requester *req)
{
	return uroce_psn_distance(req->max_psn, req->rtt_psn) >= uroce_window(req) - uroce_window(req) / 4;
}

void
uroce_window_measured(struct uroce_qp *qp, uint32_t rtt_ns)
{
	struct uroce_requester *req = uroce_requester_of(qp);

	if (likely(qp->dev->log2_window <= UROCE_LOG2_WINDOW))
		return;
	if (req->least_rtt_ns == 0 || rtt_ns < req->least_rtt_ns)
		req->least_rtt_ns = rtt_ns;
	else	/* the path may have become longer */
		req->least_rtt_ns += (rtt_ns - req->least_rtt_ns + FORGET_PART - 1) / FORGET_PART;
	if (RTE_MIN(rtt_ns, req->srtt_ns) / SHRINK > req->least_rtt_ns && req->log2_window > initial(qp))
		req->log2_window--;
	else if (rtt_ns - req->least_rtt_ns <= req->least_rtt_ns / GROW_PART && may_grow(qp) && is_full(req))
		req->log2_window++;
}
