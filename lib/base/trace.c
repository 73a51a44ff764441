/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Writes the trace points out of line, so that their callers need not include rte_trace.h. Any thread.
 */

#define ALLOW_EXPERIMENTAL_API

#include "base/trace_points.h"
#include "base/trace.h"

static const char *
state_name(enum ibv_qp_state state)
{
	static const char *const names[] = {
		[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT", [IBV_QPS_RTR] = "RTR", [IBV_QPS_RTS] = "RTS",
		[IBV_QPS_SQD] = "SQD",	   [IBV_QPS_SQE] = "SQE",   [IBV_QPS_ERR] = "ERR",
	};

	return (unsigned int)state < RTE_DIM(names) ? names[state] : "?";
}

void
uroce_trace_qp_state(uint16_t device, uint32_t qpn, enum ibv_qp_state from, enum ibv_qp_state to)
{
	qp_state(device, qpn, state_name(from), state_name(to));
}

void
uroce_trace_qp_error(uint16_t device, uint32_t qpn, const char *cause, enum ibv_wc_status status,
		     const char *verdict)
{
	qp_error(device, qpn, cause, (uint8_t)status, verdict);
}

void
uroce_trace_retransmit(uint16_t device, uint32_t qpn, uint32_t psn, uint32_t psns, const char *why)
{
	retransmit(device, qpn, psn, psns, why);
}

void
uroce_trace_go_back(uint16_t device, uint32_t qpn, uint32_t psn, uint32_t next, uint8_t retries_left, const char *why)
{
	go_back(device, qpn, psn, next, retries_left, why);
}

void
uroce_trace_probe(uint16_t device, uint32_t qpn, uint32_t psn)
{
	probe(device, qpn, psn);
}

void
uroce_trace_nak_sent(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t syndrome)
{
	nak_sent(device, qpn, psn, syndrome);
}

void
uroce_trace_nak_received(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t syndrome)
{
	nak_received(device, qpn, psn, syndrome);
}

void
uroce_trace_rnr_sent(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t timer)
{
	rnr_sent(device, qpn, psn, timer);
}

void
uroce_trace_rnr_received(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t timer, uint8_t retries_left)
{
	rnr_received(device, qpn, psn, timer, retries_left);
}

void
uroce_trace_sack_sent(uint16_t device, uint32_t qpn, uint32_t psn)
{
	sack_sent(device, qpn, psn);
}

void
uroce_trace_sack_received(uint16_t device, uint32_t qpn, uint32_t psn)
{
	sack_received(device, qpn, psn);
}

void
uroce_trace_cnp_sent(uint16_t device, uint32_t qpn, uint32_t dest_qpn)
{
	cnp_sent(device, qpn, dest_qpn);
}

void
uroce_trace_cnp_received(uint16_t device, uint32_t qpn, bool obeyed)
{
	cnp_received(device, qpn, obeyed);
}

void
uroce_trace_cm_state(uint32_t local_id, uint32_t local_qpn, uint32_t remote_qpn, const char *from, const char *to)
{
	cm_state(local_id, local_qpn, remote_qpn, from, to);
}
