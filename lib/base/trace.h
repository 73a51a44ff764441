/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The trace points of all layers, one function for each, for rare events that matter. A trace point writes to
 * memory only while its user has enabled it in EAL; else it costs a call, a load and a branch. Any thread. See
 * doc/tracing.rst.
 */

#ifndef UROCE_BASE_TRACE_H
#define UROCE_BASE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rte_common.h>

/* Devices by their index; names are constant, PSNs of 24 bits. */

void uroce_trace_qp_state(uint16_t device, uint32_t qpn, enum ibv_qp_state from, enum ibv_qp_state to) __rte_cold;
/** It goes into error, or its send queue does. @param status of the request that failed, @param verdict on the packet
 * that was refused; where there is none: IBV_WC_SUCCESS, "ok" */
void uroce_trace_qp_error(uint16_t device, uint32_t qpn, const char *cause, enum ibv_wc_status status,
			  const char *verdict) __rte_cold;

/** One packet is sent again; of a READ, the request for so many PSNs. */
void uroce_trace_retransmit(uint16_t device, uint32_t qpn, uint32_t psn, uint32_t psns, const char *why) __rte_cold;
/** All from psn on will be; `next` is the first that was not sent. */
void uroce_trace_go_back(uint16_t device, uint32_t qpn, uint32_t psn, uint32_t next, uint8_t retries_left,
			 const char *why) __rte_cold;
/** No progress for a while: the peer is made to answer. */
void uroce_trace_probe(uint16_t device, uint32_t qpn, uint32_t psn) __rte_cold;

/** @param syndrome	the AETH's */
void uroce_trace_nak_sent(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t syndrome) __rte_cold;
void uroce_trace_nak_received(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t syndrome) __rte_cold;
/** @param timer	the code in the syndrome (R35) */
void uroce_trace_rnr_sent(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t timer) __rte_cold;
void uroce_trace_rnr_received(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t timer, uint8_t retries_left)
	__rte_cold;
/** @param psn	the first that has not come */
void uroce_trace_sack_sent(uint16_t device, uint32_t qpn, uint32_t psn) __rte_cold;
void uroce_trace_sack_received(uint16_t device, uint32_t qpn, uint32_t psn) __rte_cold;

void uroce_trace_cnp_sent(uint16_t device, uint32_t qpn, uint32_t dest_qpn) __rte_cold;
/** @param obeyed	the QP has become slower, or would have */
void uroce_trace_cnp_received(uint16_t device, uint32_t qpn, bool obeyed) __rte_cold;

/** Of a connection of the CM's, by its local communication ID; QPNs may be 0: not known yet. */
void uroce_trace_cm_state(uint32_t local_id, uint32_t local_qpn, uint32_t remote_qpn, const char *from, const char *to)
	__rte_cold;

#endif /* UROCE_BASE_TRACE_H */
