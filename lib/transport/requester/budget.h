/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Budgets: how many packets the QPs of an engine have in flight together, for each peer. An engine has a fixed number of
 * budgets, and a hash of the peer's address chooses one. While one peer uses it, the QPs to another peer with the same
 * hash have no budget, only their windows. On the engine's thread.
 */

#ifndef UROCE_TRANSPORT_REQUESTER_BUDGET_H
#define UROCE_TRANSPORT_REQUESTER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_common.h>

#include "uroce_config.h"

struct uroce_engine;
struct uroce_qp;

TAILQ_HEAD(uroce_qp_list, uroce_qp);

/* The steps of the search for a limit, which begins again with the first. */
enum uroce_budget_step {
	UROCE_BUDGET_MEASURE,	/* measures the rate with the limit */
	UROCE_BUDGET_DOUBLE,	/* tries twice the limit: is the rate higher? */
	UROCE_BUDGET_HALVE,	/* tries half the limit: is the rate the same? */
	UROCE_BUDGET_KEEP,	/* keeps the limit until keep_ns */
};

struct uroce_budget {
	struct uroce_qp_list waiting;	/* QPs that have a packet to send, the next one first */
	uint8_t gid[16];		/* of the peer */
	uint32_t qps;			/* QPs that use it now (UROCE_QP_BULK); 0: any peer may take it */
	uint32_t in_flight;		/* packets of all QPs that count */
	uint32_t limit;			/* a turn begins only below it */
	uint64_t since_ns;		/* start of the epoch, in which the rate is measured; 0: none has begun */
	uint64_t keep_ns;		/* UROCE_BUDGET_KEEP ends */
	uint32_t answered;		/* packets answered in the epoch */
	uint32_t pace;			/* least time for 1,024 packets with the limit before the trial, ns */
	uint8_t step;			/* enum uroce_budget_step */
	uint8_t epochs;			/* epochs of the step that have ended */
	bool limited;			/* a QP has waited in this epoch */
	bool settled;			/* the first search is over */
	/* of peer_probe.c */
	uint32_t silence_ns;		/* longest silence of the peer after which it turned out to be alive */
	uint64_t forget_ns;		/* time at which to forget it */
	uint64_t probed_ns;		/* time of the last probe */
};

#endif /* UROCE_TRANSPORT_REQUESTER_BUDGET_H */
