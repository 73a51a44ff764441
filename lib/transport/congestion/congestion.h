/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Congestion control: limits the rate at which a QP sends. On the engine's thread.
 *
 *	marks.c		sends a CNP for a received packet that has an ECN mark
 *	dcqcn.c		DCQCN: computes a QP's rate, which CNPs reduce, and time and sent bytes increase
 *	pacer.c		assigns rates to QPs, and delays the turns of a QP that has a rate
 */

#ifndef UROCE_TRANSPORT_CONGESTION_CONGESTION_H
#define UROCE_TRANSPORT_CONGESTION_CONGESTION_H

#include "transport/congestion/pacer.h"
#include "transport/engine.h"
#include "verbs/qp/qp.h"
#include "wire/packet.h"

/* marks.c */
/** A packet with an ECN mark was received: send a CNP if one is due. @param verdict	the packet's verdict */
void uroce_congestion_marked(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_packet *p,
			     enum uroce_verdict verdict);

#endif /* UROCE_TRANSPORT_CONGESTION_CONGESTION_H */
