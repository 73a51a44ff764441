/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Counts a QP's retransmissions, NAKs and the like, and records why the QP failed. Never called for a packet in order.
 * The engine's thread.
 */

#include <string.h>

#include "verbs/qp/history.h"

const char *const uroce_qp_counter_names[UROCE_QP_COUNTER_COUNT] = {
	[UROCE_QP_RETRANSMITTED] = "retransmitted_packets",
	[UROCE_QP_RETRIES] = "retries",
	[UROCE_QP_TIMEOUTS] = "timeouts",
	[UROCE_QP_PROBES] = "probes",
	[UROCE_QP_RNR_NAKS_RECEIVED] = "rnr_naks_received",
	[UROCE_QP_RNR_NAKS_SENT] = "rnr_naks_sent",
	[UROCE_QP_NAKS_RECEIVED + UROCE_NAK_PSN_SEQUENCE_ERROR] = "naks_received_psn_sequence",
	[UROCE_QP_NAKS_RECEIVED + UROCE_NAK_INVALID_REQUEST] = "naks_received_invalid_request",
	[UROCE_QP_NAKS_RECEIVED + UROCE_NAK_REMOTE_ACCESS_ERROR] = "naks_received_remote_access",
	[UROCE_QP_NAKS_RECEIVED + UROCE_NAK_REMOTE_OPERATIONAL_ERROR] = "naks_received_remote_operational",
	[UROCE_QP_NAKS_RECEIVED + UROCE_NAK_INVALID_RD_REQUEST] = "naks_received_invalid_rd_request",
	[UROCE_QP_NAKS_SENT + UROCE_NAK_PSN_SEQUENCE_ERROR] = "naks_sent_psn_sequence",
	[UROCE_QP_NAKS_SENT + UROCE_NAK_INVALID_REQUEST] = "naks_sent_invalid_request",
	[UROCE_QP_NAKS_SENT + UROCE_NAK_REMOTE_ACCESS_ERROR] = "naks_sent_remote_access",
	[UROCE_QP_NAKS_SENT + UROCE_NAK_REMOTE_OPERATIONAL_ERROR] = "naks_sent_remote_operational",
	[UROCE_QP_NAKS_SENT + UROCE_NAK_INVALID_RD_REQUEST] = "naks_sent_invalid_rd_request",
	[UROCE_QP_SACKS_RECEIVED] = "sacks_received",
	[UROCE_QP_SACKS_SENT] = "sacks_sent",
	[UROCE_QP_CNPS_RECEIVED] = "cnps_received",
	[UROCE_QP_CNPS_SENT] = "cnps_sent",
	[UROCE_QP_NOT_OK] = "packets_not_ok",
};

const char *const uroce_qp_cause_names[UROCE_CAUSE_COUNT] = {
	[UROCE_CAUSE_NONE] = "none",
	[UROCE_CAUSE_MODIFIED] = "modified by the application",
	[UROCE_CAUSE_SEND] = "a send request failed",
	[UROCE_CAUSE_RECV] = "a receive request failed",
	[UROCE_CAUSE_REFUSED] = "a peer's request was refused",
	[UROCE_CAUSE_CQ_OVERRUN] = "a completion queue overran",
};

/* The worker is the only writer. Telemetry reads one counter of many QPs without stopping their workers. */
static void
add(uint32_t *counter, uint32_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

void
uroce_qp_history_reset(struct uroce_qp_history *h)
{
	memset(h, 0, sizeof(*h));
}

void
uroce_qp_history_count(struct uroce_qp_history *h, enum uroce_qp_counter counter, uint32_t n)
{
	add(&h->counters[counter], n);
}

void
uroce_qp_history_nak(struct uroce_qp_history *h, enum uroce_qp_counter first, uint8_t code)
{
	if (code < UROCE_QP_NAK_CODES)
		add(&h->counters[first + code], 1);
}

void
uroce_qp_history_verdict(struct uroce_qp_history *h, enum uroce_verdict verdict, uint64_t now_ns)
{
	add(&h->counters[UROCE_QP_NOT_OK], 1);
	h->last_verdict = (uint8_t)verdict;
	h->last_verdict_ns = now_ns;
}

/* Only the first cause is kept: later errors follow from it. */
void
uroce_qp_history_failed(struct uroce_qp_history *h, enum uroce_qp_cause cause, enum ibv_wc_status status,
			enum uroce_verdict verdict, uint64_t now_ns)
{
	if (h->cause != UROCE_CAUSE_NONE)
		return;
	h->cause = (uint8_t)cause;
	h->status = (uint8_t)status;
	h->verdict = (uint8_t)verdict;
	h->cause_ns = now_ns;
}

void
uroce_qp_history_mended(struct uroce_qp_history *h)
{
	h->cause = UROCE_CAUSE_NONE;
	h->status = IBV_WC_SUCCESS;
	h->verdict = UROCE_OK;
	h->cause_ns = 0;
}
