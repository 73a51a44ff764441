/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The trace points of all layers, one function for each, for rare events. A trace point that is not enabled in EAL
 * costs a call, a load and a branch. Any thread. See doc/howto/tracing.rst.
 */

#ifndef UROCE_BASE_TRACE_H
#define UROCE_BASE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rte_common.h>

/* `device` is the device's index; strings are constant; PSNs have 24 bits. */

void uroce_trace_qp_state(uint16_t device, uint32_t qpn, enum ibv_qp_state from, enum ibv_qp_state to) __rte_cold;
/**
 * The QP, or its send queue, enters the error state.
 * @param status	of the failed request; IBV_WC_SUCCESS: none
 * @param verdict	on the refused packet; "ok": none
 */
void uroce_trace_qp_error(uint16_t device, uint32_t qpn, const char *cause, enum ibv_wc_status status,
			  const char *verdict) __rte_cold;

/** One packet is retransmitted. @param psns	1; of a READ request, the number of its responses */
void uroce_trace_retransmit(uint16_t device, uint32_t qpn, uint32_t psn, uint32_t psns, const char *why) __rte_cold;
/** All packets from psn on will be retransmitted. @param next	the first PSN that has not been sent */
void uroce_trace_go_back(uint16_t device, uint32_t qpn, uint32_t psn, uint32_t next, uint8_t retries_left,
			 const char *why) __rte_cold;
/** The QP makes no progress: it probes the peer before the transport timeout. */
void uroce_trace_probe(uint16_t device, uint32_t qpn, uint32_t psn) __rte_cold;

/** @param syndrome	of the AETH */
void uroce_trace_nak_sent(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t syndrome) __rte_cold;
void uroce_trace_nak_received(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t syndrome) __rte_cold;
/** @param timer	the code in the syndrome (R35) */
void uroce_trace_rnr_sent(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t timer) __rte_cold;
void uroce_trace_rnr_received(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t timer, uint8_t retries_left)
	__rte_cold;
/** @param psn	the first PSN that has not been received */
void uroce_trace_sack_sent(uint16_t device, uint32_t qpn, uint32_t psn) __rte_cold;
void uroce_trace_sack_received(uint16_t device, uint32_t qpn, uint32_t psn) __rte_cold;

void uroce_trace_cnp_sent(uint16_t device, uint32_t qpn, uint32_t dest_qpn) __rte_cold;
/** @param obeyed	false: the CNP was ignored */
void uroce_trace_cnp_received(uint16_t device, uint32_t qpn, bool obeyed) __rte_cold;

/** A connection of the CM changes its state. A QPN of 0 is not known yet.
 * @param local_id	its local communication ID */
void uroce_trace_cm_state(uint32_t local_id, uint32_t local_qpn, uint32_t remote_qpn, const char *from, const char *to)
	__rte_cold;

#endif /* UROCE_BASE_TRACE_H */
