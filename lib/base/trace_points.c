/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Registers the names and fields of the trace points with EAL, so that --trace=lib.uroce.* finds them.
 */

#define ALLOW_EXPERIMENTAL_API

#include <rte_trace_point_register.h>

#include "base/trace_points.h"

RTE_TRACE_POINT_REGISTER(qp_state, lib.uroce.qp.state)
RTE_TRACE_POINT_REGISTER(qp_error, lib.uroce.qp.error)
RTE_TRACE_POINT_REGISTER(retransmit, lib.uroce.retransmit)
RTE_TRACE_POINT_REGISTER(go_back, lib.uroce.go_back)
RTE_TRACE_POINT_REGISTER(probe, lib.uroce.probe)
RTE_TRACE_POINT_REGISTER(nak_sent, lib.uroce.nak.sent)
RTE_TRACE_POINT_REGISTER(nak_received, lib.uroce.nak.received)
RTE_TRACE_POINT_REGISTER(rnr_sent, lib.uroce.rnr.sent)
RTE_TRACE_POINT_REGISTER(rnr_received, lib.uroce.rnr.received)
RTE_TRACE_POINT_REGISTER(sack_sent, lib.uroce.sack.sent)
RTE_TRACE_POINT_REGISTER(sack_received, lib.uroce.sack.received)
RTE_TRACE_POINT_REGISTER(cnp_sent, lib.uroce.cnp.sent)
RTE_TRACE_POINT_REGISTER(cnp_received, lib.uroce.cnp.received)
RTE_TRACE_POINT_REGISTER(cm_state, lib.uroce.cm.state)
