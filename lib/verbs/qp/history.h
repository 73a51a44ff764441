/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A QP's history, for the diagnosis of slow and failed QPs: counters of retransmissions, NAKs and the like, and the
 * cause of its error state. Its worker writes it only when such an event happens; telemetry reads it.
 */

#ifndef UROCE_VERBS_QP_HISTORY_H
#define UROCE_VERBS_QP_HISTORY_H

#include <stdint.h>

#include <infiniband/verbs.h>
#include <rte_common.h>

#include "wire/headers.h"
#include "wire/verdict.h"

#define UROCE_QP_NAK_CODES (UROCE_NAK_INVALID_RD_REQUEST + 1)

/* Counters of a QP. NAKs have UROCE_QP_NAK_CODES counters each way: add enum uroce_nak. */
enum uroce_qp_counter {
	UROCE_QP_RETRANSMITTED,		/* packets that were retransmitted */
	UROCE_QP_RETRIES,		/* charged to retry_cnt (R34) */
	UROCE_QP_TIMEOUTS,		/* transport timeouts */
	UROCE_QP_PROBES,		/* packets sent before a timeout, so that the peer answers */
	UROCE_QP_RNR_NAKS_RECEIVED,	/* the peer had no receive */
	UROCE_QP_RNR_NAKS_SENT,		/* this end had no receive */
	UROCE_QP_NAKS_RECEIVED,		/* NAKs received */
	UROCE_QP_NAKS_RECEIVED_LAST = UROCE_QP_NAKS_RECEIVED + UROCE_QP_NAK_CODES - 1,
	UROCE_QP_NAKS_SENT,		/* NAKs sent */
	UROCE_QP_NAKS_SENT_LAST = UROCE_QP_NAKS_SENT + UROCE_QP_NAK_CODES - 1,
	UROCE_QP_SACKS_RECEIVED,	/* reports of packets behind a gap */
	UROCE_QP_SACKS_SENT,		/* the same, sent to the peer */
	UROCE_QP_CNPS_RECEIVED,		/* the network has marked packets of this QP */
	UROCE_QP_CNPS_SENT,		/* marked packets have arrived */
	UROCE_QP_NOT_OK,		/* packets received with another verdict than ok */
	UROCE_QP_COUNTER_COUNT,
};

/* The first cause of the error state of a QP or of its send queue. */
enum uroce_qp_cause {
	UROCE_CAUSE_NONE,
	UROCE_CAUSE_MODIFIED,		/* the application moved it to ERR */
	UROCE_CAUSE_SEND,		/* a send request failed */
	UROCE_CAUSE_RECV,		/* a receive request failed */
	UROCE_CAUSE_REFUSED,		/* a request of the peer was refused, which ends the QP */
	UROCE_CAUSE_CQ_OVERRUN,
	UROCE_CAUSE_COUNT,
};

struct uroce_qp_history {
	uint32_t counters[UROCE_QP_COUNTER_COUNT];	/* since the QP was in RESET */
	uint8_t cause;			/* enum uroce_qp_cause */
	uint8_t status;			/* enum ibv_wc_status of the request that failed first */
	uint8_t verdict;		/* enum uroce_verdict of the packet that was refused */
	uint8_t last_verdict;		/* the last verdict that was not UROCE_OK; UROCE_OK: none */
	uint64_t cause_ns;		/* time of the cause, by the engine's clock */
	uint64_t last_verdict_ns;
};

extern const char *const uroce_qp_counter_names[UROCE_QP_COUNTER_COUNT];
extern const char *const uroce_qp_cause_names[UROCE_CAUSE_COUNT];

/* All but reset and mended are off the fast path. */
void uroce_qp_history_reset(struct uroce_qp_history *h);
void uroce_qp_history_count(struct uroce_qp_history *h, enum uroce_qp_counter counter, uint32_t n) __rte_cold;
/** @param first	UROCE_QP_NAKS_RECEIVED or UROCE_QP_NAKS_SENT */
void uroce_qp_history_nak(struct uroce_qp_history *h, enum uroce_qp_counter first, uint8_t code) __rte_cold;
/** Count a packet whose verdict is not UROCE_OK. */
void uroce_qp_history_verdict(struct uroce_qp_history *h, enum uroce_verdict verdict, uint64_t now_ns) __rte_cold;
/** Record why the QP or its send queue goes into error, unless a cause is recorded already. Without a status or
 * verdict, pass 0. */
void uroce_qp_history_failed(struct uroce_qp_history *h, enum uroce_qp_cause cause, enum ibv_wc_status status,
			     enum uroce_verdict verdict, uint64_t now_ns) __rte_cold;
/** Forget the cause: the application has resumed the send queue. */
void uroce_qp_history_mended(struct uroce_qp_history *h);

#endif /* UROCE_VERBS_QP_HISTORY_H */
