/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The fields of each trace point, for the macros of rte_trace. Only trace_points.c, which registers the trace points,
 * and trace.c, which writes them, include this file: rte_trace is experimental in DPDK 22.11.
 */

#ifndef UROCE_BASE_TRACE_POINTS_H
#define UROCE_BASE_TRACE_POINTS_H

#include <stdint.h>

#include <rte_trace_point.h>

/* RTE_TRACE_POINT() names the point's state __NAME, but all symbols of the library begin with uroce_. */
#define UROCE_TRACE_POINT(name, args, ...) \
	extern rte_trace_point_t __##name __asm__("uroce_trace_point_" #name); \
	RTE_TRACE_POINT(name, args, __VA_ARGS__)

UROCE_TRACE_POINT(qp_state,
	RTE_TRACE_POINT_ARGS(uint16_t device, uint32_t qpn, const char *from, const char *to),
	rte_trace_point_emit_u16(device);
	rte_trace_point_emit_u32(qpn);
	rte_trace_point_emit_string(from);
	rte_trace_point_emit_string(to);
)

UROCE_TRACE_POINT(qp_error,
	RTE_TRACE_POINT_ARGS(uint16_t device, uint32_t qpn, const char *cause, uint8_t status, const char *verdict),
	rte_trace_point_emit_u16(device);
	rte_trace_point_emit_u32(qpn);
	rte_trace_point_emit_string(cause);
	rte_trace_point_emit_u8(status);
	rte_trace_point_emit_string(verdict);
)

UROCE_TRACE_POINT(retransmit,
	RTE_TRACE_POINT_ARGS(uint16_t device, uint32_t qpn, uint32_t psn, uint32_t psns, const char *why),
	rte_trace_point_emit_u16(device);
	rte_trace_point_emit_u32(qpn);
	rte_trace_point_emit_u32(psn);
	rte_trace_point_emit_u32(psns);
	rte_trace_point_emit_string(why);
)

UROCE_TRACE_POINT(go_back,
	RTE_TRACE_POINT_ARGS(uint16_t device, uint32_t qpn, uint32_t psn, uint32_t next, uint8_t retries_left,
			     const char *why),
	rte_trace_point_emit_u16(device);
	rte_trace_point_emit_u32(qpn);
	rte_trace_point_emit_u32(psn);
	rte_trace_point_emit_u32(next);
	rte_trace_point_emit_u8(retries_left);
	rte_trace_point_emit_string(why);
)

UROCE_TRACE_POINT(probe,
	RTE_TRACE_POINT_ARGS(uint16_t device, uint32_t qpn, uint32_t psn),
	rte_trace_point_emit_u16(device);
	rte_trace_point_emit_u32(qpn);
	rte_trace_point_emit_u32(psn);
)

UROCE_TRACE_POINT(nak_sent,
	RTE_TRACE_POINT_ARGS(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t syndrome),
	rte_trace_point_emit_u16(device);
	rte_trace_point_emit_u32(qpn);
	rte_trace_point_emit_u32(psn);
	rte_trace_point_emit_u8(syndrome);
)

UROCE_TRACE_POINT(nak_received,
	RTE_TRACE_POINT_ARGS(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t syndrome),
	rte_trace_point_emit_u16(device);
	rte_trace_point_emit_u32(qpn);
	rte_trace_point_emit_u32(psn);
	rte_trace_point_emit_u8(syndrome);
)

UROCE_TRACE_POINT(rnr_sent,
	RTE_TRACE_POINT_ARGS(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t timer),
	rte_trace_point_emit_u16(device);
	rte_trace_point_emit_u32(qpn);
	rte_trace_point_emit_u32(psn);
	rte_trace_point_emit_u8(timer);
)

UROCE_TRACE_POINT(rnr_received,
	RTE_TRACE_POINT_ARGS(uint16_t device, uint32_t qpn, uint32_t psn, uint8_t timer, uint8_t retries_left),
	rte_trace_point_emit_u16(device);
	rte_trace_point_emit_u32(qpn);
	rte_trace_point_emit_u32(psn);
	rte_trace_point_emit_u8(timer);
	rte_trace_point_emit_u8(retries_left);
)

UROCE_TRACE_POINT(sack_sent,
	RTE_TRACE_POINT_ARGS(uint16_t device, uint32_t qpn, uint32_t psn),
	rte_trace_point_emit_u16(device);
	rte_trace_point_emit_u32(qpn);
	rte_trace_point_emit_u32(psn);
)

UROCE_TRACE_POINT(sack_received,
	RTE_TRACE_POINT_ARGS(uint16_t device, uint32_t qpn, uint32_t psn),
	rte_trace_point_emit_u16(device);
	rte_trace_point_emit_u32(qpn);
	rte_trace_point_emit_u32(psn);
)

UROCE_TRACE_POINT(cnp_sent,
	RTE_TRACE_POINT_ARGS(uint16_t device, uint32_t qpn, uint32_t dest_qpn),
	rte_trace_point_emit_u16(device);
	rte_trace_point_emit_u32(qpn);
	rte_trace_point_emit_u32(dest_qpn);
)

UROCE_TRACE_POINT(cnp_received,
	RTE_TRACE_POINT_ARGS(uint16_t device, uint32_t qpn, uint8_t obeyed),
	rte_trace_point_emit_u16(device);
	rte_trace_point_emit_u32(qpn);
	rte_trace_point_emit_u8(obeyed);
)

UROCE_TRACE_POINT(cm_state,
	RTE_TRACE_POINT_ARGS(uint32_t local_id, uint32_t local_qpn, uint32_t remote_qpn, const char *from,
			     const char *to),
	rte_trace_point_emit_u32(local_id);
	rte_trace_point_emit_u32(local_qpn);
	rte_trace_point_emit_u32(remote_qpn);
	rte_trace_point_emit_string(from);
	rte_trace_point_emit_string(to);
)

#endif /* UROCE_BASE_TRACE_POINTS_H */
